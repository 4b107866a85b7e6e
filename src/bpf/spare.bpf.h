/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a thread was ready while its CPU was busy and another one was idle, for the signal cpu.
 *
 * Two sums are enough: the time in which some CPU of the machine was idle, and the time in which
 * the CPU was idle that the thread is queued for. The growth of the first one less that of the
 * second one is the time in which only others were idle. That holds for threads that may use every
 * CPU. One that may use a single CPU has no use for others; of the rest it is not known.
 *
 * If the kernel hides a switch to the idle thread, that CPU does not count as idle. So the time can
 * be too short, but not too long.
 *
 * Rejected: to visit all queued threads whenever a CPU becomes idle. That would also tell for
 * threads that may use some CPUs, but a machine may have hundreds of CPUs.
 */
#pragma once

#include "bpf/parts.bpf.h"

/* Instead of a time: the thread may use one CPU only, or some CPUs, but not all. */
#define SPARE_PINNED   (~0ULL)
#define SPARE_CONFINED (~1ULL)

/*
 * Words of idle time: a sum while nothing is idle, else that sum less the moment at which it began,
 * which is negative. So another CPU reads it in one piece.
 */
__s64 some_idle;
__s32 idle_count; /* how many CPUs are idle */

const volatile __u32 online_cpus;

/* Of a queued thread. */
struct spare {
	__u64 from_ns; /* others_idle() when it was queued */
	__u64 ns;      /* on CPUs for which it was queued before */
};

static __always_inline __u64 idle_until(const __s64 *word, __u64 now)
{
	__s64 ns = *(volatile const __s64 *)word;

	return ns < 0 ? ns + now : ns;
}

/* The CPU with the word `own` becomes idle, or stops being idle. */
static __always_inline void note_idle(__s64 *own, bool is_idle, __u64 now)
{
	__s64 change = is_idle ? -now : now;
	__s32 before;

	if (is_idle == (*own < 0))
		return; /* a switch in between was hidden */
	__sync_fetch_and_add(own, change);
	before = __sync_fetch_and_add(&idle_count, is_idle ? 1 : -1);
	if (before == (is_idle ? 0 : 1))
		__sync_fetch_and_add(&some_idle, change);
}

static __always_inline __u64 others_idle(const __s64 *own, __u64 now)
{
	return idle_until(&some_idle, now) - idle_until(own, now);
}

static __always_inline void spare_begins(struct spare *spare, const __s64 *own, __u64 ns, __u64 now)
{
	spare->from_ns = others_idle(own, now);
	spare->ns = ns;
}

static __always_inline __u64 spare_until(const struct spare *spare, const __s64 *own, __u64 now)
{
	__s64 ns = others_idle(own, now) - spare->from_ns;

	/* Words of several CPUs are not read at the same moment. */
	return spare->ns + (ns > 0 ? ns : 0);
}
