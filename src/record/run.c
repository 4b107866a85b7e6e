/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/run.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/sessions.h"
#include "ledger/reader/attach.h"
#include "record/allocations.h"
#include "record/asleep.h"
#include "record/budget.h"
#include "record/collect.h"
#include "record/cost.h"
#include "record/counts.h"
#include "record/fiber_ledger.h"
#include "record/intake.h"
#include "record/kernel_counts.h"
#include "record/languages.h"
#include "record/meta.h"
#include "record/quality.h"
#include "record/samples.h"
#include "stacks/mapper.h"

#define SECOND_NS UINT64_C(1000000000)
/* At the start, wait at most this long for the unwind tables of the target's processes. */
#define TABLES_WAIT_NS (SECOND_NS / 2)
/* Write threads that never change this often too: if we are killed, no more is lost. */
#define FULL_EVERY_NS (5 * SECOND_NS)
/* Empty the rings of signals at least this often, even if snapshots are rarer. */
#define POLL_EVERY_NS (SECOND_NS / 10)

struct run {
	struct recording *recording;
	struct ledger *ledger;
	struct collect *collect;
	struct counts *counts;
	struct languages *languages;     /* NULL: no stacks */
	struct mapper *mapper;           /* of `languages` */
	struct samples *samples;         /* NULL: no stacks */
	struct fiber_ledger *fibers;     /* likewise */
	struct allocations *allocations; /* likewise */
	struct part parts[SIGNAL_COUNT + 1];
	struct sessions *sessions;
	struct cost cost;
	struct budget budget;
	struct kernel_counts kernel_counts; /* at the start */
	bool has_kernel_counts;  /* all threads are recorded, and nothing was forgotten */
	int64_t signals_written; /* the last slice that the signals' rows cover */
	bool (*is_interrupted)(void);
	bool all; /* the target is all threads */
	struct intake intake;
	uint64_t interval_ns, least_interval_ns;
	uint64_t start_ns;
	uint64_t next_ns;    /* when the next snapshot is due */
	uint64_t looked_ns;  /* just before the last snapshot */
	uint64_t counted_ns; /* the last time that counters and waits were written */
	uint64_t whole_ns;   /* the last snapshot of all threads */
};

DEFINE_CLEANUP(struct run *, run__free)

static int write_cost(const struct run *run)
{
	const struct timing_work work = collect__work(run->collect);

	return cost__write(&run->cost, &work, run->recording, run->samples, run->mapper);
}

/* Stacks can arrive as soon as the hooks are attached, before run->samples exists. */
static int take_stack(void *context, const struct wire_head *head)
{
	struct run *run = context;

	return run->samples ? samples__take(run->samples, head) : 0;
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
	err = ledger__open(&ledger_options, features, &takers, &run->ledger);
	if (!err)
		err = counts__new(run->ledger, recording, options->full, &run->counts);
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
	samples__free(run->samples);
	languages__free(run->languages);
	collect__free(run->collect);
	ledger__free(run->ledger);
	free(run);
}

size_t run__threads(const struct run *run)
{
	return collect__threads(run->collect);
}

int run__open_state(const struct run *run, int64_t thread)
{
	return (int)collect__open_slot(run->collect, thread);
}

void run__set_interval(struct run *run, uint64_t interval_ns)
{
	run->interval_ns = run->least_interval_ns = interval_ns;
	if (run->next_ns > clock__now_ns() + interval_ns)
		run->next_ns = clock__now_ns() + interval_ns;
}

int run__name(struct run *run, uint64_t until_ns)
{
	return run->samples ? samples__name_until(run->samples, until_ns) : 0;
}

static int write_quality(struct run *run)
{
	int err = quality__write_ledger(run->recording, run->ledger, run->collect);

	if (!err && run->samples)
		err = quality__write_stacks(run->recording, run->ledger, run->samples,
					    run->languages, run->fibers, run->allocations);
	return err;
}

/* If no slice was completed since the last call, the rows go to the last written slice. */
static int write_signals(struct run *run)
{
	int64_t to = collect__slice(run->collect) - 1, from = run->signals_written + 1;

	run->signals_written = to;
	counts__share(run->counts);
	return sessions__write(run->sessions, from < to ? from : to, to);
}

/* Writes what is too expensive to read at every snapshot. */
static int write_counters(struct run *run, uint64_t now_ns)
{
	int err;

	run->counted_ns = now_ns;
	err = counts__write_threads(run->counts, false);
	if (!err)
		err = collect__drain(run->collect, run->ledger, false);
	if (!err)
		err = collect__waits_drained(run->collect);
	if (!err)
		err = collect__write_step(run->collect, now_ns);
	if (!err)
		err = counts__write(run->counts, collect__slice(run->collect) - 1);
	if (!err)
		err = recording__set_number(run->recording, "end_ns", (int64_t)now_ns);
	if (!err)
		err = write_quality(run);
	return err ? err : write_cost(run);
}

/* Once a second, times the hooks and holds their cost. A snapshot has just been taken. */
static int hold_cost(struct run *run, uint64_t now_ns)
{
	int err;

	if (!cost__is_due(&run->cost, now_ns))
		return 0;
	err = cost__time(&run->cost, &run->intake, &run->looked_ns);
	return err ? err : budget__hold(&run->budget, &run->cost, clock__now_ns());
}

static int take_snapshot(struct run *run)
{
	uint64_t began_ns = clock__now_ns(), now_ns;
	bool whole = began_ns - run->whole_ns >= FULL_EVERY_NS;
	int err;

	if (whole) {
		run->whole_ns = began_ns;
		collect__full_snapshot_begins(run->collect);
	}
	err = intake__snapshot(&run->intake, whole ? 0 : run->looked_ns);
	if (!err && whole)
		err = collect__whole_done(run->collect);
	if (err)
		return err;
	run->looked_ns = began_ns;
	now_ns = clock__now_ns();
	ledger__hold_rate(run->ledger);
	run->interval_ns = collect__next_interval(run->collect, run->interval_ns,
						  run->least_interval_ns, now_ns - began_ns);
	run->next_ns = began_ns + run->interval_ns;
	err = hold_cost(run, now_ns);
	return err ? err : collect__snapshot_done(run->collect, clock__now_ns());
}

/* Takes a snapshot and, once a second, everything else. */
static int take_all(struct run *run)
{
	int err = take_snapshot(run);
	uint64_t now_ns = clock__now_ns();

	/* 5 % tolerance: snapshots at intervals of a second may come a little early. */
	if (err || now_ns - run->counted_ns < SECOND_NS - SECOND_NS / 20)
		return err;
	err = run->languages ? languages__write(run->languages, collect__names(run->collect),
						run->recording)
			     : 0;
	if (!err)
		err = write_signals(run);
	return err ? err : write_counters(run, now_ns);
}

int run__step(struct run *run, uint64_t until_ns)
{
	uint64_t now_ns = clock__now_ns();
	uint64_t next_ns = until_ns && until_ns < run->next_ns ? until_ns : run->next_ns;
	int err;

	if (sessions__count(run->sessions) && next_ns > now_ns + POLL_EVERY_NS)
		next_ns = now_ns + POLL_EVERY_NS;
	if (run->fibers && fiber_ledger__next_ns(run->fibers) < next_ns)
		next_ns = fiber_ledger__next_ns(run->fibers);
	if (now_ns < next_ns) {
		err = ledger__poll(run->ledger, (int)((next_ns - now_ns) / 1000000) + 1);
		if (err < 0 && err != -EINTR)
			return err;
	}
	/* Take the last records of ended threads before the snapshot, which lacks them. */
	err = ledger__poll(run->ledger, 0);
	if (err < 0)
		return err;
	err = run->samples ? samples__name_objects(run->samples) : 0;
	if (err)
		return err;
	err = sessions__poll(run->sessions);
	if (!err && run->fibers)
		err = fiber_ledger__step(run->fibers);
	if (!err && run->allocations)
		err = allocations__step(run->allocations);
	if (err)
		return err;
	return clock__now_ns() >= run->next_ns ? take_all(run) : 0;
}

/* Writes the sums of signals first, so that the snapshot has every thread in them. */
int run__flush(struct run *run)
{
	int err = write_signals(run);

	if (!err)
		err = ledger__poll(run->ledger, 0);
	if (err < 0)
		return err;
	err = take_snapshot(run);
	return err ? err : write_counters(run, clock__now_ns());
}

int run__flush_whole(struct run *run)
{
	run->whole_ns = 0;
	return run__flush(run);
}

int run__forget(struct run *run, uint64_t before_ns)
{
	int err = sessions__forget(run->sessions, before_ns);

	run->has_kernel_counts = false;
	if (!err)
		err = collect__forget(run->collect, before_ns,
				      ledger__tables(run->ledger).objects_fd);
	if (run->fibers)
		fiber_ledger__forget(run->fibers);
	if (!err && run->samples)
		err = samples__forget(run->samples, before_ns);
	return err;
}

size_t run__signals(const struct run *run)
{
	return sessions__count(run->sessions);
}

/* The last account of every thread: from the iterator, or from the ring if it ends meanwhile. */
static int take_last(struct run *run, uint64_t end_ns)
{
	int err;

	ledger__settle(run->ledger);
	do {
		err = ledger__poll(run->ledger, 0);
	} while (err > 0);
	if (err)
		return err;
	collect__ending(run->collect, end_ns);
	collect__find_holders(run->collect, run->ledger);
	err = ledger__snapshot(run->ledger, 0, collect__take, run->collect);
	if (err)
		return err;
	do {
		err = ledger__poll(run->ledger, 0);
	} while (err > 0);
	ledger__stop(run->ledger);
	ledger__close_rings(run->ledger);
	return err;
}

/* Looks up the names of all frames. */
static int finish_stacks(struct run *run)
{
	if (!run->samples)
		return 0;
	languages__stop(run->languages);
	/* The threads of the mapper leave memory behind, which the helper process would inherit. */
	malloc_trim(0);
	return samples__name(run->samples, run->is_interrupted);
}

int run__stop(struct run *run)
{
	struct kernel_counts kernel_counts = {};
	uint64_t end_ns;
	int err = 0;

	if (run->has_kernel_counts)
		kernel_counts__read(&kernel_counts);
	end_ns = ledger__freeze(run->ledger);
	sessions__stop(run->sessions);
	/* Do this at once, because the threads may move on. */
	if (run->samples)
		err = asleep__take(run->ledger, run->mapper, run->samples);
	if (!err && run->fibers)
		err = fiber_ledger__end(run->fibers, end_ns);
	if (!err && run->allocations)
		err = allocations__end(run->allocations, end_ns);
	if (!err && run->samples)
		err = samples__name_objects(run->samples);
	if (!err)
		err = take_last(run, end_ns);
	if (!err)
		err = counts__write_threads(run->counts, true);
	if (!err)
		err = collect__drain(run->collect, run->ledger, true);
	if (!err)
		err = collect__end(run->collect);
	if (!err)
		err = collect__write_step(run->collect, end_ns);
	if (!err && run->languages)
		err = languages__write(run->languages, collect__names(run->collect),
				       run->recording);
	/* Before names are looked up: there may be new stacks. */
	if (!err)
		err = write_signals(run);
	if (!err && run->fibers)
		err = fiber_ledger__finish(run->fibers, end_ns);
	if (!err)
		err = finish_stacks(run);
	if (!err)
		err = counts__write(run->counts, collect__slice(run->collect) - 1);
	if (!err)
		err = counts__write_errors(run->counts);
	if (!err && run->has_kernel_counts)
		err = kernel_counts__write(run->recording, &run->kernel_counts, &kernel_counts);
	if (!err)
		err = recording__set_number(run->recording, "end_ns", (int64_t)end_ns);
	if (!err)
		err = meta__write_calibration(run->recording, run->ledger);
	if (!err)
		err = write_quality(run);
	if (!err)
		err = write_cost(run);
	return err ? err : counts__write_idle(run->counts, end_ns);
}
