/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU quotas of cgroups. A thread whose cgroup has used up its quota is runnable, but cannot get a
 * CPU: it is throttled.
 *
 * Since 6.18, a thread throttles itself on its way to user space: it leaves the CPU with
 * task.throttled set, and nothing else happens to it while it is queued. Before 6.18, the scheduler
 * takes the cgroup's whole run queue of a CPU away (cfs_rq.throttle_count), with the threads that
 * are queued there. It does so when a thread of the cgroup leaves the CPU, so the switch shows it.
 *
 * No tracepoint shows when a thread may run again. Since 6.6, the run queue has the sum of its
 * throttled time, so the end follows from the sum's growth. Before that, it is taken to be the last
 * time at which the quota was renewed; but a CPU that was idle until now would have run the thread.
 */
#pragma once

#include "bpf/common.h"

#define MAX_RT_PRIO 100

/* cgroups of a thread that can have quotas, from its own up to the root */
#define MOST_QUOTAS 16

/* A thread's time without quota, while it is queued. */
struct throttle {
	__u64 queue;    /* the thread's cfs_rq; 0: it cannot be throttled while it is queued */
	__u64 since_ns; /* 0: it is not throttled */
	__u64 sum_ns;   /* throttled_clock_self_time when that began */
	__u64 base_ns;  /* begin of the run queue's throttling, less sum_ns */
	__u64 ns;       /* throttled time that is over */
};

static __always_inline bool has_quotas(void)
{
	return bpf_core_field_exists(struct cfs_rq, throttle_count);
}

static __always_inline bool throttles_itself(void)
{
	return bpf_core_field_exists(struct task_struct, throttled);
}

/* Whether a thread that is about to be queued, or was just queued, is throttled. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (!has_quotas())
		return false;
	if (throttles_itself())
		return task->throttled;
	return task->prio >= MAX_RT_PRIO && task->se.cfs_rq->throttle_count > 0;
}

static __always_inline void throttle_begins(struct throttle *throttle, __u64 now)
{
	struct cfs_rq *queue = (void *)throttle->queue;
	__u64 since, clock;

	throttle->since_ns = now;
	throttle->sum_ns = 0;
	throttle->base_ns = now;
	if (!bpf_core_field_exists(queue->throttled_clock_self_time))
		return;
	since = BPF_CORE_READ(queue, throttled_clock_self);
	clock = BPF_CORE_READ(queue, rq, clock);
	throttle->sum_ns = BPF_CORE_READ(queue, throttled_clock_self_time);
	throttle->base_ns -= throttle->sum_ns;
	if (since && clock > since)
		throttle->base_ns -= clock - since;
}

/* When a quota that applies to the run queue was last renewed. */
static __always_inline __u64 last_renewal_ns(struct cfs_rq *queue)
{
	struct task_group *group = BPF_CORE_READ(queue, tg);
	__u64 last_ns = 0;

	for (int i = 0; i < MOST_QUOTAS && group; i++) {
		__u64 ns = BPF_CORE_READ(group, cfs_bandwidth.period_timer._softexpires) -
			   BPF_CORE_READ(group, cfs_bandwidth.period);

		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != ~0ULL && ns > last_ns)
			last_ns = ns;
		group = BPF_CORE_READ(group, parent);
	}
	return last_ns;
}

/* The thread may run again: books its throttled time. Returns when that ended. */
static __always_inline __u64 throttle_ends(struct throttle *throttle, bool was_idle, __u64 now)
{
	struct cfs_rq *queue = (void *)throttle->queue;
	__u64 end_ns;

	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		end_ns = throttle->base_ns + BPF_CORE_READ(queue, throttled_clock_self_time);
	else
		end_ns = was_idle ? now : last_renewal_ns(queue);
	/* The scheduler's clock differs a little from ours. */
	if (end_ns > now || end_ns < throttle->since_ns)
		end_ns = now;
	throttle->ns += end_ns - throttle->since_ns;
	throttle->since_ns = 0;
	return end_ns;
}

/*
 * Looks at the run queue at `now`, when a CPU switches. Returns from when on the thread could have
 * had a CPU since the last look, at `last`; `now` if it could not. `was_idle`: the CPU was, until
 * now.
 */
static __always_inline __u64 look_at_throttle(struct throttle *throttle, bool was_idle, __u64 last,
					      __u64 now)
{
	struct cfs_rq *queue = (void *)throttle->queue;
	bool is_on;

	if (!throttle->queue)
		return last;
	is_on = BPF_CORE_READ(queue, throttle_count) > 0;
	if (throttle->since_ns) {
		/* It may have ended and begun again. */
		if (is_on && (!bpf_core_field_exists(queue->throttled_clock_self_time) ||
			      BPF_CORE_READ(queue, throttled_clock_self_time) == throttle->sum_ns))
			return now;
		last = throttle_ends(throttle, was_idle, now);
	}
	if (throttles_itself())
		throttle->queue = 0;
	else if (is_on)
		throttle_begins(throttle, now);
	return last;
}
