/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger accounts for every nanosecond of every accounted thread, by state and cause.
 *
 * Each transition closes one state and opens the next with the same timestamp, in the thread's
 * task storage, so the account closes by construction (law 1). Nothing is sent per event: an
 * iterator reads the accounts, and the final account of a thread goes through the ring when the
 * thread ends.
 *
 *   sched_waking   who wakes the thread (in the waker's context; may precede the wait)
 *   netif_rx       who sends to a socket on this machine (waker.bpf.h)
 *   sched_wakeup   wait → ready; sched_wakeup_new and sched_migrate_task: on which CPU
 *   sched_switch   ready → run, run → wait or ready; a thread's last switch ends its account
 *   sys_enter/exit run.user ↔ run.kernel, at level full
 *   sock_*_length  sends and receives, at level sched (turns.bpf.h)
 *   signal_deliver whether a call that a signal interrupted is restarted, at level full; where a
 *                  thread was that a signal kills, with stacks
 *
 * Rejected: a map keyed by tid (reuse, eviction, false sharing), one event per switch (36 MB/s).
 */
#include "bpf/common.h"

#include <bpf/bpf_endian.h>

#include "ledger/kernel/adopt.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/cause.bpf.h"
#include "ledger/kernel/cpus.bpf.h"
#include "ledger/kernel/crossings.bpf.h"
#include "ledger/kernel/drawn.bpf.h"
#include "ledger/kernel/here.bpf.h"
#include "ledger/kernel/iterators.bpf.h"
#include "ledger/kernel/outcome.bpf.h"
#include "ledger/kernel/paths.bpf.h"
#include "ledger/kernel/queue.bpf.h"
#include "ledger/kernel/repair.bpf.h"
#include "ledger/kernel/slow.bpf.h"
#include "ledger/kernel/targets.bpf.h"
#include "ledger/kernel/ticks.bpf.h"
#include "ledger/kernel/waker.bpf.h"
#include "ledger/windows/windows.bpf.h"

/* The parts of signals, and who of them is called at which hook; from src/signals/list. */
#include "parts_list.h"

/* These call the parts. */
#include "ledger/kernel/births.bpf.h"
#include "ledger/kernel/call_hooks.bpf.h"
#include "ledger/kernel/part_waits.bpf.h"
#include "ledger/kernel/softirqs.bpf.h"
#include "ledger/kernel/uring_hooks.bpf.h"

const volatile bool track_cpus;  /* CPU time adds up too: all threads are accounted */
const volatile __u32 drop_every; /* test switch: ignore every Nth wakeup; 0: none */

__u64 wakeups;

/* --- wakeups ------------------------------------------------------------------------------ */

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct thread *thread = find(task);

	if (!thread) {
		if (with_outside)
			note_woken(task);
		return 0;
	}
	if (is_over_now())
		return 0;
	woken_by(thread, task);
	if (with_requests)
		note_handing(thread);
	draw_early(thread);
	return 0;
}

static __always_inline bool is_dropped(void)
{
	if (!drop_every || __sync_fetch_and_add(&wakeups, 1) % drop_every)
		return false;
	count_quality(QUALITY_DROPPED);
	return true;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct thread *thread = find(task);
	__u32 slot;
	__u64 now;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	if (thread->account.slot == SLOT_NONE && !task->on_cpu)
		open_account(thread, SLOT_READY_WOKEN, now);
	/* The thread is still on its CPU or already runnable, so its state does not change. */
	if (!SLOT_IS_WAIT(thread->account.slot) || is_dropped())
		return 0;
	if (thread->by_rcu)
		waited_for_rcu(thread);
	if (thread->turn_watch)
		settle_turn(thread, now);
	slot = is_throttled(task) ? SLOT_READY_THROTTLED : SLOT_READY_WOKEN;
	wakes(thread, task, slot, now);
	is_queued(thread, task, slot, now);
	return 0;
}

/* The thread is not on its new CPU yet. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int cpu)
{
	struct thread *thread = find(task);
	__u64 now;

	if (!thread)
		return 0;
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_migrates((struct identity *)thread, task->prio, cpu);
	AT_sched_migrate_task(PART);
#undef PART
	if (!thread->place)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_over(now))
		changes_queue(thread, cpu, now);
	return 0;
}

/* --- switches ----------------------------------------------------------------------------- */

/*
 * The thread was ready in `slot`, and the one before it in `from`, since `since_ns`. `spare_ns`:
 * see spare.bpf.h.
 */
static __always_inline void parts_at_slice(struct thread *thread, struct task_struct *task,
					   __u32 from, __u32 slot, __u64 since_ns, __u64 spare_ns,
					   __u64 now)
{
	/* A wait whose end was not seen, or the start of the recording. */
	if (!SLOT_IS_READY(slot) || since_ns < base_ns)
		since_ns = ~0ULL;
	if (from == SLOT_READY_THROTTLED)
		slot = from;
	if (slot == SLOT_READY_THROTTLED)
		spare_ns = 0; /* without quota, no CPU was of use */
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name)) {                                                                \
		name##_gets_cpu((struct identity *)thread, task->prio, slot, since_ns, now);       \
		name##_had_spare(spare_ns);                                                        \
	}
	AT_sched_switch(PART);
#undef PART
}

static __always_inline void gets_cpu(struct thread *thread, struct task_struct *task, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 slot = account->slot, from, edge = 0;
	__u64 ns, since_ns, spare_ns;

	interrupts_forget(task);
	thread->on_ns = now;
	if (full)
		thread->off_ns += now - thread->left_ns;
	thread->cpu = bpf_get_smp_processor_id();
	if (slot == SLOT_SEEDING)
		return;
	if (slot == SLOT_NONE) {
		open_account(thread, run_slot(thread), now);
		return;
	}
	if (SLOT_IS_WAIT(slot) && !repair_wakeup(thread, task, now)) {
		count_quality(QUALITY_MISSED_WAKEUPS);
		unexplained(thread, now);
	} else if (SLOT_IS_RUN(slot)) {
		unexplained(thread, now);
	}
	since_ns = account->since_ns;
	from = account->slot;
	if (with_requests && thread->handing & IS_HANDING)
		edge = gets_cpu_for(thread, task);
	spare_ns = spare_of(thread, task, now);
	if (thread->place || slot == SLOT_READY_THROTTLED)
		leaves_queue(thread, task, now);
	slot = account->slot;
	if (with_windows)
		thread->woken_ns = since_ns;
	parts_at_slice(thread, task, from, slot, since_ns, spare_ns, now);
	if (SLOT_IS_READY(slot)) {
		ready_ends(thread, task, run_slot(thread), now);
	} else {
		write_begin(account);
		ns = move(thread, run_slot(thread), now);
		write_end(account);
		/* No wakeup was seen, so the wait was never sampled. */
		if (SLOT_IS_WAIT(slot))
			count_lost_sample_time(slot, ns);
	}
	if (edge)
		end_of_ready(thread, task, edge);
	thread->left = LEFT_UNSEEN;
	thread->waker_kind = BY_NOBODY; /* a waking while it ran ended no wait */
}

/* The last switch of the current thread. The reader closes the state that is still open. */
VERIFIED_ONCE int ends(struct thread *thread, __u64 now)
{
	__u32 flags;

	if (!thread)
		return 0;
	flags = __sync_fetch_and_or(&thread->flags, THREAD_ENDED);
	forget_tid(thread);
	if (now < base_ns)
		return 0;
	if (full && !is_over(now))
		last_call_ends(thread, now);
	flush_occupant(thread);
	if (full)
		flush_calls(thread, cells_of(thread, bpf_get_current_task_btf()));
	if (!(flags & THREAD_HANDED_OVER)) {
		if (is_over(now))
			give_up_open(thread);
		give_up_pending(thread, STACK_NONE_EXIT);
	}
	send_last_record(thread, bpf_get_current_task_btf(), now);
	return 0;
}

static __always_inline void leaves_cpu(struct thread *thread, struct task_struct *task,
				       bool preempt, __u32 state, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 slot = SLOT_READY_PREEMPTED, from;
	__u64 ns;

	if (thread->place)
		leave_queue(thread, now); /* it got the CPU unseen, see repair.bpf.h */
	if (account->slot == SLOT_SEEDING) {
		/* It ended before its account was open. Before the recording that is no loss. */
		if (state & TASK_DEAD && now >= base_ns)
			count_lost(LOST_NO_STORAGE);
		return;
	}
	if (account->slot == SLOT_NONE)
		open_account(thread, run_slot(thread), now);
	else if (!SLOT_IS_RUN(account->slot) && !repair_switch(thread, task, now))
		unexplained(thread, now);
	note_sums(thread, task);
	thread->left_ns = now;
	if (full && account->slot == SLOT_RUN_ANY) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

		if (thread->nr == NR_NONE)
			thread->nr = syscall_in_flight(thread, task, regs);
		resolve(thread, run_slot(thread));
	}
	if (!preempt && state) {
		if (state & TASK_DEAD) {
			ends(thread, now);
			return;
		}
		slot = cause_of_own_wait(thread, state);
	} else if (is_throttled(task)) {
		slot = SLOT_READY_THROTTLED;
	}
	from = account->slot;
	write_begin(account);
	ns = move(thread, slot, now);
	write_end(account);
	if (SLOT_IS_WAIT(slot))
		parts_wait_begins(thread, slot, now);
	if (!SLOT_IS_RUN(from))
		count_lost_sample_time(from, ns);
	note_left(thread, task, slot);
	if (SLOT_IS_READY(slot))
		is_queued(thread, task, slot, now);
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_leaves_cpu((struct identity *)thread, now);
	AT_sched_switch(PART);
#undef PART
	if (thread->on_ns > base_ns)
		count_interval(thread, SLOT_RUN_ANY, now - thread->on_ns);
}

/* A thread that ends after the recording, but before the last snapshot, still sends its account. */
static __always_inline void after_the_end(struct thread *thread, struct task_struct *task)
{
	if (!thread || thread->flags & THREAD_ENDED || !(task->__state & TASK_DEAD))
		return;
	release_at_end(thread, task);
	ends(thread, end_ns);
}

/*
 * What the thread waits in; 0 if it stays runnable. Its own __state may be TASK_WAKING already, if
 * another CPU wakes it at this moment; so take the state that the kernel had read before. If a
 * signal is pending, that one is not 0, but __state is: the thread does not wait.
 */
static __always_inline __u32 state_left_in(struct task_struct *task, __u32 state_before)
{
	return task->__state ? state_before : 0;
}

/* Ends the claim of the thread that leaves this CPU, or one whose end was missed. */
static __always_inline void leaves_here(struct thread *out, struct task_struct *prev, __u64 now)
{
	struct here *here = here_now();

	if (!here || !here->task)
		return;
	if (out && here->task == (__u64)prev) {
		release(out, here->used ? cells_of(out, prev) : NULL, here, now);
		time_the_rest(out, now);
	} else if (here->used) {
		count_quality(QUALITY_CALLS_DROPPED);
	}
	here->task = here->regs = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread *out = find(prev), *in = find(next);
	__u32 cpu = bpf_get_smp_processor_id();
	struct queue *queue = queue_of(cpu);
	__u64 now, by;

	if (is_on(SIGNAL_cpu) && queue && (!prev->pid || !next->pid))
		note_idle(&queue->idle, !next->pid, bpf_ktime_get_ns());
	if (!out && !track_cpus && !has_queued(queue)) {
		barrier(); /* else clang ORs the two pointers, which the verifier rejects */
		if (!in)
			return 0;
	}
	now = bpf_ktime_get_ns();
	if (is_over(now)) {
		after_the_end(out, prev);
		return 0;
	}
	if (has_queued(queue)) {
		by = occupant(out, prev);
		if (!in || !takes_over(in, queue, cpu, by, now))
			account_queue(cpu, by, now);
	}
	if (full)
		leaves_here(out, prev, now);
	if (out && !(out->flags & THREAD_ENDED))
		leaves_cpu(out, prev, preempt, state_left_in(prev, prev_state), now);
	if (in)
		gets_cpu(in, next, now);
	if (track_cpus)
		account_cpu(prev, next, out, in, now);
	return 0;
}

/* --- clock ticks, with stacks --------------------------------------------------------------- */

SEC("perf_event")
int on_tick(void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	__u64 now = bpf_ktime_get_ns();

	if (thread && start_ns && now >= base_ns && !is_over(now) &&
	    !(thread->flags & THREAD_ENDED))
		take_tick(context, thread, current);
	return 0;
}

/* --- kernel locks ------------------------------------------------------------------------- */

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct thread *thread;

	if (flags & LCB_F_SPIN)
		return 0;
	thread = find(bpf_get_current_task_btf());
	if (!thread)
		return 0;
	thread->kernel_lock = (__u64)lock;
	thread->kernel_lock_flags = flags;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct thread *thread = find(bpf_get_current_task_btf());

	/* contention_end also fires for spin locks taken on the way to sleep: ignore these. */
	if (thread && thread->kernel_lock == (__u64)lock)
		thread->kernel_lock = 0;
	return 0;
}
