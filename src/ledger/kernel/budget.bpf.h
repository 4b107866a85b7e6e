/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which calls of a thread are timed. Two reads of the clock are most of what a call costs. If a
 * thread makes so many calls that their hooks would take more than `call_budget` of its running
 * time, one call in 2^shift is timed, and the others are only counted. Of each 2^shift calls, one
 * is drawn at random, and it stands for all of them: sums of times stay unbiased, because each call
 * has the same chance. What a thread waits is measured in any case: it needs no hook of calls.
 *
 * A call that leaves the CPU before its end is timed from there on, whether it was drawn or not.
 * Only the part before that moment is an estimate.
 */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/* The rate is chosen anew after this much running time of the thread. */
#define WINDOW_NS 10000000ULL
/* More time than this is not carried over. */
#define MOST_OWED_NS 10000000000ULL

__u32 call_budget;   /* in parts of LEDGER_WHOLE of the running time; 0: time every call */
__u32 timed_call_ns; /* cost of the hooks of a call that is timed, measured at the start */
__u32 untimed_call_ns;
__u32 switch_cost_ns; /* cost of the other hooks, for each time that a thread gets the CPU */
__u32 least_shift;    /* to measure untimed_call_ns, and for tests */

static __always_inline __u32 weight_of(const struct timed_calls *timed)
{
	return 1U << (timed->shift & 31);
}

/* Draws the next call that is timed: one of each block of 2^shift calls. */
static __always_inline void draw_call(struct timed_calls *timed)
{
	__u32 last = weight_of(timed) - 1, at = bpf_get_prandom_u32() & last;

	timed->skip = timed->rest + at;
	timed->rest = last - at;
}

/* Whether the call that begins is to be timed. */
static __always_inline bool is_turn(struct timed_calls *timed)
{
	if (timed->skip) {
		timed->skip--;
		return false;
	}
	draw_call(timed);
	return true;
}

/*
 * What one call that was `ns` in the kernel stands for. The calls that are not timed lack the time
 * of the hooks that timing takes.
 */
static __always_inline __u64 stands_for(struct timed_calls *timed, __u64 ns)
{
	__u64 others = weight_of(timed) - 1;
	__u64 saved = timed_call_ns - untimed_call_ns, other_ns = ns > saved ? ns - saved : 0;

	timed->spread += spread_of(others + 1, other_ns);
	return ns + others * other_ns;
}

/*
 * How much of the `ns` of running time is booked as time in the kernel, of which the estimate has
 * grown by kernel_ns. What is too much for now is owed.
 */
static __always_inline __u64 part_in_kernel(struct timed_calls *timed, __u64 kernel_ns, __u64 ns)
{
	__u64 owed_ns = timed->owed_ns + kernel_ns;

	if (ns > owed_ns)
		ns = owed_ns;
	owed_ns -= ns;
	timed->owed_ns = owed_ns < MOST_OWED_NS ? owed_ns : MOST_OWED_NS;
	return ns;
}

/* The smallest shift with which `calls` calls cost at most `most_ns`. */
static __always_inline __u32 shift_for(__u64 calls, __u64 most_ns)
{
	__u64 fixed_ns = calls * untimed_call_ns;
	__u64 timing_ns = calls * (timed_call_ns - untimed_call_ns);
	__u32 shift = 0;

	for (; shift < LEDGER_MOST_SHIFT; shift++)
		if (fixed_ns + (timing_ns >> shift) <= most_ns)
			break;
	return shift;
}

static __always_inline void set_shift(struct thread *thread, __u32 shift)
{
	if (shift < least_shift)
		shift = least_shift;
	if (shift == thread->timed.shift)
		return;
	thread->timed.shift = shift;
	thread->timed.rest = 0;
	draw_call(&thread->timed);
	thread->account.shift = shift;
}

#define WINDOW_BITS 10 /* window_run is in 2^10 ns */

/* Chooses the shift of a thread by what it did since the last time. */
static __always_inline void keep_budget(struct thread *thread)
{
	const struct ledger_account *account = &thread->account;
	__u64 run_ns = account->ns[SLOT_RUN_USER] + account->ns[SLOT_RUN_KERNEL];
	struct timed_calls *timed = &thread->timed;
	__u64 ns = ((__u64)((__u32)(run_ns >> WINDOW_BITS) - timed->window_run)) << WINDOW_BITS;
	__u64 most_ns, switches_ns;
	__u32 in_user = account->count[SLOT_RUN_USER] - timed->window_user;
	__u32 in_kernel = account->count[SLOT_RUN_KERNEL] - timed->window_kernel;
	__u32 calls = in_user < in_kernel ? in_user : in_kernel, shift;

	if (ns < WINDOW_NS && thread->timed.shift >= least_shift)
		return;
	/* A call begins an interval of each kind, and a switch one of them. */
	switches_ns = (__u64)(in_user + in_kernel - 2 * calls) * switch_cost_ns;
	most_ns = ns / LEDGER_WHOLE * call_budget;
	most_ns = most_ns > switches_ns ? most_ns - switches_ns : 0;
	shift = shift_for(calls, most_ns);
	/* The way back needs some room, or the rate would change all the time. */
	if (shift < thread->timed.shift) {
		shift = shift_for(calls, most_ns - most_ns / 4);
		if (shift > thread->timed.shift)
			shift = thread->timed.shift;
	}
	set_shift(thread, shift);
	timed->window_run = run_ns >> WINDOW_BITS;
	timed->window_user = account->count[SLOT_RUN_USER];
	timed->window_kernel = account->count[SLOT_RUN_KERNEL];
}
