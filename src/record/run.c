/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/run.h"

#include <errno.h>
#include <malloc.h>

#include "base/clock.h"
#include "ledger/reader/attach.h"
#include "record/asleep.h"
#include "record/meta.h"
#include "record/quality.h"
#include "record/run_internal.h"
#include "stacks/mapper.h"

#define SECOND_NS UINT64_C(1000000000)
/* Write threads that never change this often too: if we are killed, no more is lost. */
#define FULL_EVERY_NS (5 * SECOND_NS)
/* Empty the rings of signals at least this often, even if snapshots are rarer. */
#define POLL_EVERY_NS (SECOND_NS / 10)

static int write_cost(const struct run *run)
{
	const struct timing_work work = collect__work(run->collect);

	return cost__write(&run->cost, &work, run->recording, run->samples, run->mapper);
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

	if (!err && run->windows)
		err = quality__write_windows(run->recording, run->ledger);
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

static int write_windows(struct run *run)
{
	int64_t to = collect__slice(run->collect) - 1, from = run->windows_written + 1;

	if (!run->windows)
		return 0;
	run->windows_written = to;
	return windows__write(run->windows, from < to ? from : to, to);
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
	if (!err && run->windows)
		err = windows__sweep(run->windows, false);
	if (!err)
		err = write_windows(run);
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

	if (!err && run->windows)
		err = windows__sweep(run->windows, false);
	if (!err)
		err = write_windows(run);
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

bool run__has_windows(const struct run *run)
{
	return run->windows;
}

/* The last account of every thread: from the iterator, or from the ring if it ends meanwhile. */
static int take_last(struct run *run, uint64_t end_ns)
{
	int err;

	ledger__settle(run->ledger);
	err = run->windows ? windows__sweep(run->windows, true) : 0;
	if (err)
		return err;
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
	if (!err)
		err = write_windows(run);
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
