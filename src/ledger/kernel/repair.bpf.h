/*
 * A hook that did not run. It happens: up to 6.1, task storage is out of reach when an interrupt
 * lands inside another look-up (0.7–2.4 % of wakeups under load; mended in 6.2), and a kernel may
 * hide some of its threads from programs like ours. Then a thread gets the CPU without having been
 * woken, or leaves one that it never got.
 *
 * The scheduler keeps sums of its own per thread: how long it ran, and how long it was queued
 * (CONFIG_SCHED_INFO). Their growth since the thread left the CPU says how the interval divides.
 * Where that evidence is missing or does not fit, the interval is unexplained.
 */
#pragma once

#include "ledger/kernel/waits.bpf.h"

/* The scheduler stamps its clock elsewhere than we do: about a microsecond per switch. */
#define CLOCKS_DIFFER_NS 100000

const volatile bool no_repair; /* test switch */

/* At switch-out: what the sums were. */
static __always_inline void note_sums(struct thread *thread, struct task_struct *task)
{
	thread->flags |= THREAD_SUMS;
	thread->exec_ns = task->se.sum_exec_runtime;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		thread->delay_ns = task->sched_info.run_delay;
}

static __always_inline bool has_sums(const struct thread *thread, struct task_struct *task)
{
	return !no_repair && thread->flags & THREAD_SUMS &&
	       bpf_core_field_exists(task->sched_info.run_delay);
}

/* wait → ready at `now`. */
static __always_inline void wakes(struct thread *thread, struct task_struct *task, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 slot = account->slot;
	bool from_seed = is_as_seeded(account) || account->since_ns < base_ns;
	__u64 ns;

	write_begin(account);
	ns = move(thread, SLOT_READY_WOKEN, now);
	write_end(account);
	if (!from_seed)
		count_interval(slot, ns);
	draw_wait(thread, task, slot, ns, now);
}

/* The scheduler's clock, as of this switch; 0 where it is out of reach. */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	struct cfs_rq *queue;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return 0; /* without CONFIG_FAIR_GROUP_SCHED */
	queue = BPF_CORE_READ(task, se.cfs_rq);
	return BPF_CORE_READ(queue, rq, clock);
}

/* A part of an interval, by another clock: it may be a little too long. */
static __always_inline bool fits(__u64 *part, __u64 whole)
{
	if ((__s64)whole < 0 || *part > whole + CLOCKS_DIFFER_NS)
		return false;
	if (*part > whole)
		*part = whole;
	return true;
}

/* It gets the CPU in the state of waiting. The time since it was queued was ready time. */
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
	wakes(thread, task, now - ready);
	count_quality(QUALITY_REPAIRED_WAKEUPS);
	return true;
}

/* It leaves a CPU that we did not see it get. */
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
		wakes(thread, task, now - ran - ready);
	}
	slot = account->slot;
	write_begin(account);
	ready = move(thread, run_slot(thread), now - ran);
	write_end(account);
	lose_weight(slot, ready); /* its stack is gone */
	thread->on_ns = now - ran;
	if (thread->on_ns > thread->left_ns)
		thread->off_ns += thread->on_ns - thread->left_ns;
	count_quality(QUALITY_REPAIRED_SWITCHES);
	return true;
}
