/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the rows of the table of accounts.
 *
 * A record can claim too much time for the open state, for two reasons. Its timestamp is taken
 * after the account was read, so a concurrent transition may give part of that time to the next
 * state. And a repaired transition lies in the past. Then a later record has less time in that
 * state than was booked. The excess is taken back: first from what is not written yet, then from
 * the newest rows of that state, which are remembered for this purpose. No row becomes negative. If
 * that is not enough, the rest stays where it is, and the other states get as much less. So the sum
 * is exact at all times, and the next records correct the states.
 */
#include <string.h>

#include "base/helper.h"
#include "record/collect_internal.h"

static int write_thread(struct collect *collect, const struct tracked *thread)
{
	int flags = 0;

	if (thread->flags & THREAD_ENDED)
		flags |= RECORDING_THREAD_EXITED;
	if (thread->flags & THREAD_KERNEL)
		flags |= RECORDING_THREAD_KERNEL;
	if (thread->flags & THREAD_OUTSIDE)
		flags |= RECORDING_THREAD_OUTSIDE;
	if (thread->pid == collect->own_pid || helper__is_own((pid_t)thread->pid))
		flags |= RECORDING_THREAD_OWN;
	return recording__put_thread(
		collect->recording,
		&(struct recording_thread) { .id = thread->id,
					     .process = thread->process,
					     .tid = (int)thread->tid,
					     .comm = thread->comm,
					     .first_ns = (int64_t)thread->first_ns,
					     .last_ns = (int64_t)thread->last_ns,
					     .unexplained_ns = (int64_t)thread->unexplained_ns,
					     .flags = flags });
}

static void remember_row(struct tracked *thread, int64_t to, uint64_t ns)
{
	if (thread->recent_count == RECENT_ROWS) {
		memmove(thread->recent, thread->recent + 1,
			(RECENT_ROWS - 1) * sizeof(*thread->recent));
		thread->recent_count--;
	}
	thread->recent[thread->recent_count].to = to;
	thread->recent[thread->recent_count++].ns = ns;
}

static int write_row(struct collect *collect, struct tracked *thread, int64_t to, int slot,
		     uint64_t ns, uint32_t count)
{
	collect->rows++;
	if ((uint32_t)slot == thread->slot && ns)
		remember_row(thread, to, ns);
	return recording__add_account(collect->recording,
				      &(struct recording_account) { .thread = thread->id,
								    .from = thread->covered + 1,
								    .to = to,
								    .state = slot,
								    .ns = (int64_t)ns,
								    .count = (int32_t)count });
}

static int write_faults(struct collect *collect, struct tracked *thread)
{
	const struct tracked_faults added = thread->faults_added;

	thread->faults_added = (struct tracked_faults) {};
	if (!added.minor && !added.major)
		return 0;
	return recording__add_faults(collect->recording,
				     &(struct recording_faults) { .thread = thread->id,
								  .from = thread->covered + 1,
								  .to = collect->slice,
								  .minor = (int64_t)added.minor,
								  .major = (int64_t)added.major });
}

/* A count is negative if more waits moved from this state to another than began in it. */
int accounts__write(struct collect *collect, struct tracked *thread)
{
	int err = 0;

	for (int slot = SLOT_FIRST; slot < SLOT_COUNT && !err; slot++)
		if (thread->added_ns[slot] || thread->added[slot])
			err = write_row(collect, thread, collect->slice, slot,
					thread->added_ns[slot], thread->added[slot]);
	if (!err)
		err = write_faults(collect, thread);
	if (!err)
		err = estimates__write(collect, thread);
	memset(thread->added_ns, 0, sizeof(thread->added_ns));
	memset(thread->added, 0, sizeof(thread->added));
	thread->covered = collect->slice;
	return err ? err : write_thread(collect, thread);
}

/* Books the slices without a record of the thread on the state that was open. */
static int write_silence(struct collect *collect, struct tracked *thread, int64_t *delta)
{
	int64_t silent = (int64_t)(collect->slice_ns - thread->last_ns);
	int err;

	if (thread->covered + 1 >= collect->slice || thread->last_ns >= collect->slice_ns ||
	    !thread->slot)
		return 0;
	if (silent > delta[thread->slot])
		silent = delta[thread->slot];
	delta[thread->slot] -= silent;
	if (!silent)
		return 0;
	err = write_row(collect, thread, collect->slice - 1, (int)thread->slot, (uint64_t)silent,
			0);
	thread->covered = collect->slice - 1;
	return err;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Takes *excess back from the slot's newest rows, as far as they are remembered. */
static int take_back(struct collect *collect, struct tracked *thread, int slot, uint64_t *excess)
{
	uint64_t ns = least(*excess, thread->added_ns[slot]);
	int err = 0;

	thread->added_ns[slot] -= ns;
	thread->ns[slot] -= ns;
	*excess -= ns;
	while (!err && *excess && (uint32_t)slot == thread->slot && thread->recent_count) {
		size_t last = thread->recent_count - 1;

		ns = least(*excess, thread->recent[last].ns);
		err = recording__add_account(
			collect->recording,
			&(struct recording_account) { .thread = thread->id,
						      .from = thread->recent[last].to,
						      .to = thread->recent[last].to,
						      .state = slot,
						      .ns = -(int64_t)ns });
		thread->ns[slot] -= ns;
		*excess -= ns;
		thread->recent[last].ns -= ns;
		if (!thread->recent[last].ns)
			thread->recent_count--;
	}
	return err;
}

/* Removes negative deltas. *ret_rest: excess that the other slots could not balance. */
static int settle(struct collect *collect, struct tracked *thread, int64_t *delta,
		  uint64_t *ret_rest)
{
	uint64_t rest = 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++) {
		uint64_t excess = delta[slot] < 0 ? (uint64_t)-delta[slot] : 0;
		int err = excess ? take_back(collect, thread, slot, &excess) : 0;

		if (err)
			return err;
		rest += excess;
		if (delta[slot] < 0)
			delta[slot] = 0;
	}
	for (int slot = 0; slot < SLOT_COUNT && rest; slot++) {
		uint64_t held = least(rest, (uint64_t)delta[slot]);

		delta[slot] -= (int64_t)held;
		rest -= held;
	}
	*ret_rest = rest;
	return 0;
}

int accounts__book(struct collect *collect, struct tracked *thread, const uint64_t *totals,
		   uint64_t time_ns, uint64_t *ret_ns)
{
	int64_t delta[SLOT_COUNT], booked[SLOT_COUNT];
	struct collect_work *work =
		thread->flags & THREAD_OUTSIDE ? &collect->outside_work : &collect->work;
	uint64_t rest;
	int err;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		delta[slot] = (int64_t)(totals[slot] - thread->ns[slot]);
	err = settle(collect, thread, delta, &rest);
	memcpy(booked, delta, sizeof(booked));
	if (!err)
		err = write_silence(collect, thread, delta);
	if (err)
		return err;
	for (int slot = 0; slot < SLOT_COUNT; slot++) {
		thread->ns[slot] += (uint64_t)booked[slot];
		if (SLOT_IS_RUN(slot))
			work->run_ns += (uint64_t)booked[slot];
		thread->added_ns[slot] += (uint64_t)delta[slot];
	}
	*ret_ns = time_ns + rest;
	return 0;
}

/* A syscall begins two running intervals: one in the kernel, and one after its return. */
static void count_work(const struct collect_work *work, uint64_t *ret_calls, uint64_t *ret_switches)
{
	const uint64_t *begun = work->begun;
	uint64_t switches =
		begun[SLOT_READY_WOKEN] + begun[SLOT_READY_PREEMPTED] + begun[SLOT_READY_THROTTLED];
	uint64_t runs = begun[SLOT_RUN_USER] + begun[SLOT_RUN_KERNEL];

	*ret_calls = runs > switches ? (runs - switches) / 2 : 0;
	*ret_switches = switches;
}

struct timing_work collect__work(const struct collect *collect)
{
	struct timing_work work = { .run_ns = collect->work.run_ns + collect->outside_work.run_ns,
				    .outside_run_ns = collect->outside_work.run_ns };

	count_work(&collect->work, &work.calls, &work.switches);
	count_work(&collect->outside_work, &work.outside_calls, &work.outside_switches);
	work.calls += work.outside_calls;
	work.switches += work.outside_switches;
	return work;
}

bool collect__has_process(const struct collect *collect, uint32_t pid, bool outside)
{
	const struct tracked *thread;
	size_t at = 0;

	while ((thread = map__next(&collect->threads, &at)))
		if (thread->pid == pid && (outside || !(thread->flags & THREAD_OUTSIDE)))
			return true;
	return false;
}
