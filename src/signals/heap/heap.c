/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/signal.h"
#include "signals/heap/heap_links.h"
#include "signals/heap/heap_windows.h"

enum {
	COLUMN_BYTES_,
	COLUMN_WEIGHT,
	COLUMN_CALLS,
	COLUMN_FREES,
	COLUMN_WINDOW,
	COLUMN_CPU,
	COLUMN_COST,
	COLUMN_SLOT,
	COLUMN_SLOT_CPU,
	COLUMN_SLOT_COST,
	COLUMNS,
};

static const struct hook hooks[] = {
	{ "allocation", { "heap_on_call" }, .flags = HOOK_BY_SIGNAL },
	{ "process list", { "heap_on_task" }, .flags = HOOK_BY_SIGNAL },
	{ "sched_process_exit", { "on_exit" } },
	{},
};

static const struct measure measures[] = { { "size", "bytes" }, {} };

/* An event is an allocation that was drawn, or the account of a slot (heap_windows.h). */
static const struct column columns[] = {
	[COLUMN_BYTES_] = { "bytes", COLUMN_BYTES, 10 },
	[COLUMN_WEIGHT] = { "weight", COLUMN_BYTES, 10 },
	[COLUMN_CALLS] = { "calls", COLUMN_NUMBER, -1 },
	[COLUMN_FREES] = { "frees", COLUMN_NUMBER, -1 },
	[COLUMN_WINDOW] = { "window", COLUMN_NS, -1 },
	[COLUMN_CPU] = { "cpu", COLUMN_NS, -1 },
	[COLUMN_COST] = { "cost", COLUMN_NS, -1 },
	[COLUMN_SLOT] = { "slot", COLUMN_NS, -1 },
	[COLUMN_SLOT_CPU] = { "slot_cpu", COLUMN_NS, -1 },
	[COLUMN_SLOT_COST] = { "slot_cost", COLUMN_NS, -1 },
	{},
};

static int heap_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	heap_links__prepare(object);
	return 0;
}

static int heap_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	return heap_windows__refresh(is_last);
}

static int heap_hand_over(int (*take)(void *context, const struct event *event), void *context)
{
	cleanup(free_p) struct heap_slot *slots = NULL;
	size_t count = heap_windows__take(&slots);
	struct event event = { .operation = HEAP_WINDOW };
	int err = 0;

	event.values[COLUMN_WEIGHT].none = true;
	for (size_t i = 0; i < count && !err; i++) {
		event.time_ns = slots[i].time_ns;
		event.values[COLUMN_BYTES_].number = slots[i].bytes;
		event.values[COLUMN_CALLS].number = slots[i].calls;
		event.values[COLUMN_FREES].number = slots[i].frees;
		event.values[COLUMN_WINDOW].number = slots[i].window_ns;
		event.values[COLUMN_CPU].number = slots[i].cpu_ns;
		event.values[COLUMN_COST].number = slots[i].cost_ns;
		event.values[COLUMN_SLOT].number = slots[i].slot_ns;
		event.values[COLUMN_SLOT_CPU].number = slots[i].slot_cpu_ns;
		event.values[COLUMN_SLOT_COST].number = slots[i].slot_cost_ns;
		err = take(context, &event);
	}
	return err;
}

static int heap_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct heap_sample *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    !rec->operation || rec->operation >= HEAP_WINDOW || !rec->bytes)
		return -EBADMSG;
	ret->operation = (uint16_t)rec->operation;
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	for (int i = 0; i < COLUMNS; i++)
		ret->values[i].none = true;
	ret->values[COLUMN_BYTES_] = (struct value) { .number = rec->bytes };
	ret->values[COLUMN_WEIGHT] = (struct value) { .number = rec->weight_bytes };
	return 0;
}

static const char *operation(uint32_t operation)
{
	static const char *const names[HEAP_OPERATIONS] = {
		[HEAP_MALLOC] = "malloc",   [HEAP_CALLOC] = "calloc", [HEAP_REALLOC] = "realloc",
		[HEAP_ALIGNED] = "aligned", [HEAP_NEW] = "new",       [HEAP_FREE] = "free",
		[HEAP_DELETE] = "delete",   [HEAP_WINDOW] = "window",
	};

	return operation < HEAP_OPERATIONS ? names[operation] : NULL;
}

const struct signal heap_signal = {
	.name = "heap",
	.number = SIGNAL_heap,
	.about = "the heap: calls and bytes of malloc() and its family, by stack, estimated",
	.events = "calls",
	.role = ROLE_HEAP,
	.on_request = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = heap_prepare,
	.attach = heap_windows__attach,
	.detach = heap_windows__detach,
	.refresh = heap_refresh,
	.hand_over = heap_hand_over,
	.decode = heap_decode,
	.operation = operation,
};
