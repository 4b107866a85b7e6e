/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/runtime/runtime.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/signal.h"
#include "signals/runtime/runtime_sites.h"

static const struct runtime_probes_options probes_options = {
	.program = "runtime_on_hit",
	.at_return = "runtime_on_return",
	.sites = "runtime_sites",
	.hits = "runtime_hits",
	.what = "pauses",
	.find = runtime_sites__find,
};
static struct runtime_probes probes = RUNTIME_PROBES(&probes_options);
_Static_assert(RUNTIME_SITES == RUNTIME_MOST_PROBES, "a site for each probe");

/* The probes are in processes, where core/runtime_probes.h attaches them. */
static const struct hook hooks[] = {
	{ "runtime", { "runtime_on_hit" }, .flags = HOOK_BY_SIGNAL },
	{ "runtime, at returns", { "runtime_on_return" }, .flags = HOOK_BY_SIGNAL },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, { "running", "ns" }, {} };

static const struct column columns[] = {
	{ "time_ns", COLUMN_NS, 8 },
	{ "running_ns", COLUMN_NS, 0 },
	{},
};

static const char *const causes[PAUSE_CAUSES] = {
	[PAUSE_PLAIN] = "",
	[PAUSE_GENERATION_0] = "generation 0",
	[PAUSE_GENERATION_1] = "generation 1",
	[PAUSE_GENERATION_2] = "generation 2",
	[PAUSE_FULL] = "full",
	[PAUSE_SCAVENGE] = "scavenge",
	[PAUSE_MARK_COMPACT] = "mark-compact",
	[PAUSE_MINOR_MARK] = "minor mark-sweep",
	[PAUSE_CYCLE_BEGINS] = "cycle begins",
	[PAUSE_CYCLE_ENDS] = "mark termination",
};

static int decode_pause(const struct runtime_pause *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || !rec->place ||
	    rec->place >= PAUSE_PLACES || rec->operation >= PAUSE_CAUSES)
		return -EBADMSG;
	ret->duration_ns = rec->pause_ns;
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->place = rec->place;
	ret->operation = rec->operation;
	ret->values[0].number = rec->pause_ns;
	ret->values[1].number = rec->run_ns;
	return 0;
}

static int decode_name(const struct runtime_name *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) ||
	    !memchr(rec->name, '\0', sizeof(rec->name)))
		return -EBADMSG;
	ret->kind = EVENT_NAMES;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->object_kind = "operation";
	snprintf(ret->scratch, sizeof(ret->scratch), "%s", rec->name);
	ret->object_name = ret->scratch;
	return 0;
}

static int runtime_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head) || head->version != 1)
		return -EBADMSG;
	switch (head->kind) {
	case RUNTIME_PAUSE:
		return decode_pause(bytes, size, ret);
	case RUNTIME_NAME:
		return decode_name(bytes, size, ret);
	default:
		return -EBADMSG;
	}
}

static const char *runtime_operation(uint32_t operation)
{
	return operation < PAUSE_CAUSES ? causes[operation] : NULL;
}

static void runtime_place(uint32_t place, char *ret, size_t size)
{
	static const char *const places[PAUSE_PLACES] = {
		[PAUSE_GC] = "gc",           [PAUSE_SAFEPOINT] = "safepoint",
		[PAUSE_COMPILE] = "compile", [PAUSE_MARKING] = "marking",
		[PAUSE_ASSIST] = "assist",
	};

	snprintf(ret, size, "%s", place && place < PAUSE_PLACES ? places[place] : "");
}

static bool runtime_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *names = bpf_object__find_map_by_name(object, "runtime_names");

	if (names)
		(void)bpf_map_delete_elem(bpf_map__fd(names), &numbers[0]);
	return true;
}

static void runtime_take(const struct signal_runtime *runtime)
{
	runtime_probes__take(&probes, runtime);
}

static int runtime_attach(struct bpf_object *object)
{
	return runtime_probes__attach(&probes, object);
}

static void runtime_detach(void)
{
	runtime_probes__detach(&probes);
}

static uint64_t runtime_left_out(void)
{
	return runtime_probes__left_out(&probes);
}

static int runtime_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	return runtime_probes__hold(&probes);
}

const struct signal runtime_signal = {
	.name = "runtime",
	.number = SIGNAL_runtime,
	.about = "language runtimes: collections, stops of all threads, compilation",
	.events = "activities",
	.role = ROLE_RUNTIMES,
	.is_default = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.take_runtime = runtime_take,
	.attach = runtime_attach,
	.detach = runtime_detach,
	.left_out = runtime_left_out,
	.refresh = runtime_refresh,
	.decode = runtime_decode,
	.operation = runtime_operation,
	.place = runtime_place,
	.object_kind = "operation",
	.forget_object = runtime_forget_object,
};
