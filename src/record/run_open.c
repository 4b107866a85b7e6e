/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a recording are made, and begin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "ledger/reader/attach.h"
#include "ledger/windows/reader.h"
#include "record/meta.h"
#include "record/run_internal.h"
#include "stacks/mapper.h"

/* At the start, wait at most this long for the unwind tables of the target's processes. */
#define TABLES_WAIT_NS UINT64_C(500000000)

DEFINE_CLEANUP(struct run *, run__free)

/* Stacks can arrive as soon as the hooks are attached, before run->samples exists. */
static int take_stack(void *context, const struct wire_head *head)
{
	struct run *run = context;

	return run->samples ? samples__take(run->samples, head) : 0;
}

/* Likewise. */
static int take_window(void *context, const struct wire_head *head)
{
	struct run *run = context;

	return run->windows ? windows__take(run->windows, head) : 0;
}

static void watch(void *context, pid_t pid)
{
	mapper__watch(context, pid);
}

/* Prepares the unwind tables of the target's processes. */
static void learn(struct run *run, const struct run_options *options)
{
	target__processes(&options->target, watch, run->mapper);
	languages__wait(run->languages, TABLES_WAIT_NS);
}

static int start_allocations(struct run *run)
{
	return allocations__new(
		&(struct allocations_options) {
			.recording = run->recording,
			.ledger = run->ledger,
			.collect = run->collect,
			.runtimes = languages__runtimes(run->languages),
		},
		&run->allocations);
}

static void tell_fibers(void *context, const struct signal_fibers *fibers)
{
	const struct run *run = context;

	for (const struct part *part = run->parts; part->signal; part++)
		if (part->is_on && part->signal->take_fibers)
			part->signal->take_fibers(fibers);
}

static bool follows_fibers(const struct run *run)
{
	for (const struct part *part = run->parts; part->signal; part++)
		if (part->is_on && part->signal->take_fibers)
			return true;
	return false;
}

static int start_fibers(struct run *run, const struct run_options *options,
			const struct ledger_tables *tables)
{
	const struct fiber_ledger_options fibers_options = {
		.recording = run->recording,
		.names = collect__names(run->collect),
		.samples = run->samples,
		.runtimes = languages__runtimes(run->languages),
		.stacks = { .mapper = run->mapper,
			    .samples = run->samples,
			    .processes_fd = tables->processes_fd,
			    .pages_fd = tables->pages_fd },
		.seed = options->seed,
		.tell = follows_fibers(run) ? tell_fibers : NULL,
		.context = run,
	};

	return fiber_ledger__new(&fibers_options, &run->fibers);
}

/* Signals may have probes for the runtime of a process. */
static void tell_signals(void *context, const struct runtime_found *found)
{
	const struct signal_runtime runtime = { found->pid, found->kind, found->path };
	const struct run *run = context;

	for (const struct part *part = run->parts; part->signal; part++)
		if (part->is_on && part->signal->take_runtime)
			part->signal->take_runtime(&runtime);
}

static int start_stacks(struct run *run, const struct run_options *options)
{
	struct ledger_tables tables = ledger__tables(run->ledger);
	const struct mapper_options mapper_options = {
		.processes_fd = tables.processes_fd,
		.pages_fd = tables.pages_fd,
		.asked_fd = tables.asked_fd,
		.requests_fd = tables.requests_fd,
		.budget_bytes = options->table_bytes,
		.eager = !options->target.all,
	};
	const struct languages_watcher watcher = { tell_signals, run };
	int err;

	if (!options->tick_ns)
		return 0;
	err = languages__new(mapper_options, &watcher, &run->languages);
	if (err) {
		log_error("stacks cannot be walked: %s [--no-stacks]", strerror(-err));
		return err;
	}
	run->mapper = languages__mapper(run->languages);
	names__set_runtimes(collect__names(run->collect), languages__runtimes(run->languages));
	learn(run, options);
	err = samples__new(run->recording, collect__names(run->collect), run->mapper,
			   languages__runtimes(run->languages), tables.stacks_fd, run->parts,
			   &run->samples);
	err = err ?: start_fibers(run, options, &tables);
	return err ?: start_allocations(run);
}

static int open_signals(struct run *run, const struct run_options *options)
{
	const struct session_options session_options = {
		.recording = run->recording,
		.object = ledger__object(run->ledger),
		.every_thread = options->target.all,
		.slow_ns = options->slow_ns,
		.find_stack = intake__find_stack,
		.stack_context = &run->intake,
		.take_fiber = run->fibers ? fiber_ledger__take : NULL,
		.fiber_context = run->fibers,
		.finder = { names__object_of_signal, collect__names(run->collect) },
	};

	return sessions__open(run->parts, session_options, &run->sessions);
}

int run__open(const struct run_options *options, struct recording *recording,
	      struct features *features, struct run **ret)
{
	struct ledger_options ledger_options = {
		.target = &options->target,
		.full = options->full,
		.requests = options->full && !options->no_requests,
		.calls = options->calls,
		.no_window_text = options->no_window_text,
		.refused_signal = options->refused_signal,
		.no_events = options->no_slow_calls,
		.early = options->early,
		.gated_pid = options->gated_pid,
		.outside = options->outside,
		.drop_every = options->drop_every,
		.budget = options->budget_ppm / 1e6,
		.tick_ns = options->tick_ns,
		.seed = options->seed,
		.table_bytes = options->table_bytes,
	};
	struct ledger_takers takers = { .take = collect__take };
	cleanup(run__free_p) struct run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	run->recording = recording;
	for (size_t i = 0; options->signals && options->signals[i] && i < SIGNAL_COUNT; i++)
		run->parts[i].signal = options->signals[i];
	ledger_options.parts = run->parts;
	cost__open(&run->cost);
	run->all = options->target.all;
	run->is_interrupted = options->is_interrupted;
	run->interval_ns = run->least_interval_ns = options->interval_ns;
	err = collect__new(recording, options->full, &run->collect);
	if (err)
		return err;
	if (options->no_peers)
		names__skip_peers(collect__names(run->collect));
	takers.context = run->collect;
	takers.take_stack = take_stack;
	takers.stack_context = run;
	takers.take_window = take_window;
	takers.window_context = run;
	err = ledger__open(&ledger_options, features, &takers, &run->ledger);
	if (!err)
		err = counts__new(run->ledger, recording, options->full, &run->counts);
	if (!err && ledger_windows__are_on(run->ledger))
		err = windows__new(recording, run->ledger, run->collect, run->parts, &run->windows);
	if (!err)
		err = start_stacks(run, options);
	if (!err)
		err = open_signals(run, options);
	if (err)
		return err;
	sessions__attach(run->sessions);
	ledger__calibrate(run->ledger);
	cost__attached(&run->cost, run->ledger);
	*ret = TAKE(run);
	return 0;
}

int run__begin(struct run *run, const struct run_options *options)
{
	int err;

	/* The processes may have executed other programs since run__open(). */
	if (run->mapper && options->early)
		learn(run, options);
	run->intake = (struct intake) { .ledger = run->ledger,
					.collect = run->collect,
					.mapper = run->all ? NULL : run->mapper,
					.samples = run->samples,
					.outside = options->outside && !run->all };
	err = ledger__start(run->ledger, &run->start_ns);
	if (!err)
		err = collect__begin(run->collect, run->start_ns);
	if (!err)
		err = intake__snapshot(&run->intake, 0);
	if (!err)
		err = names__write_memory(collect__names(run->collect), 1, run->start_ns);
	if (err)
		return err;
	sessions__start(run->sessions);
	/* Read after signals start and before they stop, so that they count at least as much. */
	run->has_kernel_counts = run->all;
	if (run->has_kernel_counts)
		kernel_counts__read(&run->kernel_counts);
	err = meta__write(run->recording, run->ledger, run->sessions, options, run->start_ns);
	if (err)
		return err;
	cost__begin(&run->cost, run->start_ns);
	run->budget = (struct budget) { .share = options->full ? options->budget_ppm / 1e6 : 0,
					.call_share = options->budget_ppm / 1e6,
					.collect = run->collect,
					.ledger = run->ledger,
					.sessions = options->keep_signals ? NULL : run->sessions,
					.recording = run->recording };
	run->looked_ns = run->counted_ns = run->whole_ns = run->start_ns;
	run->next_ns = clock__now_ns() + run->interval_ns;
	if (run->fibers)
		fiber_ledger__begin(run->fibers, run->start_ns);
	return run->allocations ? allocations__begin(run->allocations, run->start_ns) : 0;
}

int run__start(const struct run_options *options, struct recording *recording,
	       struct features *features, struct run **ret)
{
	cleanup(run__free_p) struct run *run = NULL;
	int err = run__open(options, recording, features, &run);

	if (!err)
		err = run__begin(run, options);
	if (!err)
		*ret = TAKE(run);
	return err;
}

void run__free(struct run *run)
{
	if (!run)
		return;
	sessions__free(run->sessions);
	counts__free(run->counts);
	languages__stop(run->languages);
	fiber_ledger__free(run->fibers);
	allocations__free(run->allocations);
	windows__free(run->windows);
	samples__free(run->samples);
	languages__free(run->languages);
	collect__free(run->collect);
	ledger__free(run->ledger);
	free(run);
}
