/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/goroutines/goroutines.h"

#include <errno.h>
#include <stdio.h>

#include "core/runtime_probes.h"
#include "signals/goroutines/goroutines_ledger.h"

/* Probes are tried for so long: a busy program changes states more than 100,000 times a second. */
#define TRIAL_US 50000

/* The probes are in programs, where core/runtime_probes.h attaches them. */
static const struct hook hooks[] = {
	{ "runtime.casgstatus", { "goroutines_on_change" }, .flags = HOOK_BY_SIGNAL },
	{ "sched_process_exit", { "on_exit" } },
	{ "sched_process_exec", { "on_exec" } },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, {} };

static const struct column columns[] = { {} };

struct searching {
	struct runtime_places *places;
	size_t found;
};

static int take_place(void *context, const struct finder_place *place)
{
	struct searching *searching = context;

	searching->found++;
	return runtime_places__add(searching->places, place, false, NULL, 0);
}

static int find_function(struct finder *finder, const struct uprobe_file *file, const char *name,
			 struct searching *searching)
{
	const struct finder_question question = { .kind = FINDER_FUNCTIONS,
						  .root = file->root,
						  .path = file->path,
						  .pattern = name,
						  .for_go = true,
						  .most = 1 };
	bool more = false;

	return finder__ask(finder, &question, take_place, searching, &more);
}

/* A goroutine that is preempted for the collector changes its state in a function of its own. */
static int find_places(struct finder *finder, enum runtime_kind kind,
		       const struct uprobe_file *file, struct runtime_places *ret)
{
	struct searching searching = { .places = ret };
	int err = find_function(finder, file, "runtime.casgstatus", &searching);

	if (!err && !searching.found)
		runtime_places__miss(ret, "changes of goroutines");
	if (err || !searching.found)
		return err;
	return find_function(finder, file, "runtime.casGToPreemptScan", &searching);
}

static const struct runtime_probes_options probes_options = {
	.program = "goroutines_on_change",
	.hits = "goroutines_hits",
	.what = "changes",
	.trial_us = TRIAL_US,
	.only = RUNTIME_GO,
	.find = find_places,
};
static struct runtime_probes probes = RUNTIME_PROBES(&probes_options);

static void goroutines_take_runtime(const struct signal_runtime *runtime)
{
	runtime_probes__take(&probes, runtime);
}

static void goroutines_take_fibers(const struct signal_fibers *fibers)
{
	goroutines_ledger__take(fibers, runtime_probes__are_in(&probes, fibers->pid));
}

static bool are_seen(uint32_t pid)
{
	return runtime_probes__are_in(&probes, pid);
}

static int goroutines_hand_over(signal_sum_fn take, void *context)
{
	return goroutines_ledger__hand_over(are_seen, take, context);
}

static int goroutines_attach(struct bpf_object *object)
{
	goroutines_ledger__begin(object);
	return runtime_probes__attach(&probes, object);
}

static void goroutines_detach(void)
{
	goroutines_ledger__end();
	runtime_probes__detach(&probes);
}

static uint64_t goroutines_left_out(void)
{
	return runtime_probes__left_out(&probes);
}

static int goroutines_refresh(struct bpf_object *object, struct bpf_link *const *links,
			      bool is_last)
{
	return runtime_probes__hold(&probes);
}

static int goroutines_decode(const void *bytes, size_t size, struct event *ret)
{
	return -EBADMSG; /* it sends none */
}

static void goroutines_place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "%s",
		 place && place <= FIBER_STATES
			 ? runtime__fiber_state((enum fiber_state)(place - 1))
			 : "");
}

const struct signal goroutines_signal = {
	.name = "goroutines",
	.number = SIGNAL_goroutines,
	.about = "goroutines of Go: every change of state, so exact time by state and reason",
	.events = "changes",
	.role = ROLE_NONE,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.take_runtime = goroutines_take_runtime,
	.take_fibers = goroutines_take_fibers,
	.fiber = goroutines_ledger__fiber,
	.hand_over_sums = goroutines_hand_over,
	.attach = goroutines_attach,
	.detach = goroutines_detach,
	.left_out = goroutines_left_out,
	.refresh = goroutines_refresh,
	.decode = goroutines_decode,
	.operation = goroutines_ledger__reason,
	.place = goroutines_place,
};
