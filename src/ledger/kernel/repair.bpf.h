/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reconstructs transitions whose hook did not run. There are two reasons for that. Up to 6.1, a
 * lookup in task storage fails if its interrupt came inside another lookup (0.7–2.4 % of wakeups
 * under load; fixed in 6.2). And a kernel may hide some of its threads from BPF programs. Then a
 * thread gets the CPU without a wakeup, or leaves a CPU that it never got.
 *
 * The scheduler keeps its own sums per thread: how long it ran, and how long it was queued
 * (CONFIG_SCHED_INFO). Their growth since the thread left the CPU shows how to divide the interval.
 * If the sums are missing or do not fit, the interval is unexplained.
 */
#pragma once

#include "ledger/kernel/waits.bpf.h"

/* The scheduler reads its clock at another point than we do: about 1 µs apart per switch. */
#define CLOCKS_DIFFER_NS 100000

const volatile bool no_repair; /* test switch */

/* Called at switch-out: saves the scheduler's sums. */
static __always_inline void note_sums(struct thread *thread, struct task_struct *task)
{
	/* Another CPU may change a flag at the same time: do not write without need. */
	if (!(thread->flags & THREAD_SUMS))
		__sync_fetch_and_or(&thread->flags, THREAD_SUMS);
	thread->exec_ns = task->se.sum_exec_runtime;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		thread->delay_ns = task->sched_info.run_delay;
}

static __always_inline bool has_sums(const struct thread *thread, struct task_struct *task)
{
	return !no_repair && thread->flags & THREAD_SUMS &&
	       bpf_core_field_exists(task->sched_info.run_delay);
}

/* wait → `to`, a ready slot, at `now`. */
static __always_inline void wakes(struct thread *thread, struct task_struct *task, __u32 to,
				  __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 slot = account->slot;
	bool from_seed = is_as_seeded(account) || account->since_ns < base_ns;
	__u64 ns;

	write_begin(account);
	ns = move(thread, to, now);
	write_end(account);
	if (!from_seed)
		count_interval(thread, slot, ns);
	draw_wait(thread, task, slot, ns, now);
}

/* The scheduler's clock at this switch; 0 if it cannot be read. */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	struct cfs_rq *queue;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return 0; /* without CONFIG_FAIR_GROUP_SCHED */
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return BPF_CORE_READ(queue, rq, clock);
}

/* Checks and clips a part of an interval. It may exceed `whole` a little: the clocks differ. */
static __always_inline bool fits(__u64 *part, __u64 whole)
{
	if ((__s64)whole < 0 || *part > whole + CLOCKS_DIFFER_NS)
		return false;
	if (*part > whole)
		*part = whole;
	return true;
}

/* A thread gets the CPU while its account is in a wait. The time since it was queued is ready. */
static __noinline bool repair_wakeup(struct thread *thread, struct task_struct *task, __u64 now)
{
	__u64 open = now - thread->account.since_ns, ready, queued, clock;

	if (!has_sums(thread, task))
		return false;
	queued = BPF_CORE_READ(task, sched_info.last_queued);
	clock = queue_clock(task);
	ready = BPF_CORE_READ(task, sched_info.run_delay) - thread->delay_ns;
	if (queued && clock > queued)
		ready += clock - queued;
	if (!fits(&ready, open))
		return false;
	thread->waker_kind = BY_NOBODY;
	wakes(thread, task, SLOT_READY_WOKEN, now - ready);
	count_quality(QUALITY_REPAIRED_WAKEUPS);
	return true;
}

/* A thread leaves a CPU that we did not see it get. */
static __noinline bool repair_switch(struct thread *thread, struct task_struct *task, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u64 open = now - account->since_ns, ran, ready;
	__u32 slot;

	if (!has_sums(thread, task))
		return false;
	ran = BPF_CORE_READ(task, se.sum_exec_runtime) - thread->exec_ns;
	ready = BPF_CORE_READ(task, sched_info.run_delay) - thread->delay_ns;
	if (!fits(&ran, open))
		return false;
	if (SLOT_IS_WAIT(account->slot)) {
		if (!fits(&ready, open - ran))
			return false;
		thread->waker_kind = BY_NOBODY;
		wakes(thread, task, SLOT_READY_WOKEN, now - ran - ready);
	}
	slot = account->slot;
	write_begin(account);
	ready = move(thread, run_slot(thread), now - ran);
	write_end(account);
	count_lost_sample_time(slot, ready); /* too late to take the stack */
	thread->on_ns = now - ran;
	if (thread->on_ns > thread->left_ns)
		thread->off_ns += thread->on_ns - thread->left_ns;
	count_quality(QUALITY_REPAIRED_SWITCHES);
	return true;
}
