/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wakes a thread: another thread, or an interrupt. Determined at sched_waking, in the waker's
 * context.
 *
 * An interrupt runs in the context of an unrelated thread, which is not the waker. There is one
 * exception. A packet to a socket on the same machine goes through netif_rx, and the next NET_RX
 * softirq delivers it, within the sender's own call. So netif_rx saves the sender for its CPU. A
 * thread that is woken inside that softirq is woken by the sender, unless a timer interrupt, which
 * can interrupt the softirq, wakes it.
 */
#pragma once

#include "ledger/kernel/outside.bpf.h"

#define PF_EXITING 0x00000004

#define TASK_INTERRUPTIBLE 0x00000001

/* JOBCTL_PENDING_MASK: a stop or a trap of a debugger is pending. */
#define SIGNAL_KILL    9
#define JOBCTL_PENDING (1UL << 17 | 1UL << 19 | 1UL << 20)
#define TIMER_SOFTIRQ  1
#define NET_RX_SOFTIRQ 3
#define RCU_SOFTIRQ    9

const volatile __u64 thread_stack_bytes;

struct delivery {
	__u64 sender; /* its task; 0: nothing was sent */
	__u64 stack_mark;
	__u32 softirq; /* the vector being run; 0: none */
	__u16 in_timer;
	__u16 seen; /* SEEN_…: these hooks work on this CPU */
};

#define SEEN_SOFTIRQ 1
#define SEEN_TIMER   2
#define SEEN_BOTH    (SEEN_SOFTIRQ | SEEN_TIMER)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct delivery);
} deliveries SEC(".maps");

static __always_inline struct delivery *delivery_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&deliveries, &zero);
}

static __always_inline bool is_timer_here(void)
{
	struct delivery *delivery = delivery_here();

	return delivery && delivery->in_timer;
}

/* ksoftirqd runs softirqs under load. Treat its wakings as wakings by an interrupt. */
static __always_inline bool is_ksoftirqd(const struct task_struct *current)
{
	const __u64 *name = (const __u64 *)current->comm;

	return current->flags & PF_KTHREAD && *name == *(const __u64 *)"ksoftirq";
}

static __always_inline const struct pt_regs *regs_of(struct task_struct *task)
{
	return (const struct pt_regs *)bpf_task_pt_regs(task);
}

/*
 * Is this an interrupt? preempt_count would tell, but BPF can read it only with
 * CONFIG_KALLSYMS_ALL. Instead: an interrupt runs on a stack of its own. On some architectures, an
 * interrupt from user space runs on the thread's stack, and then the thread is in no syscall. The
 * address of a local variable goes through memory (*mark), so that the verifier takes it for a
 * number.
 */
static __always_inline bool in_interrupt(__u64 *mark, struct task_struct *current,
					 const struct pt_regs *regs, const struct thread *woken)
{
	__u64 here;

	*(volatile __u64 *)mark = (__u64)&here;
	if (*(volatile __u64 *)mark - (__u64)current->stack >= thread_stack_bytes ||
	    is_ksoftirqd(current))
		return true;
	if (!ARCH_INTERRUPTS_BORROW_STACK)
		return false;
	/*
	 * Two other kinds of threads are in no syscall and wake others: one that was killed in user
	 * space and releases its resources, and one in a page fault that notifies a userfaultfd
	 * server and is about to sleep. A thread that an interrupt finds in user space is neither:
	 * its state is running.
	 */
	if (current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING) || current->__state)
		return false;
	/* A third kind finishes a page fault and releases mmap_lock; no interrupt does that. */
	if (woken && woken->kernel_lock && !is_timer_here())
		return false;
	return syscall_of(regs) < 0;
}

/* Whether a packet can end the wait: it is for data or for a connection. */
static __always_inline bool receives(const struct thread *thread)
{
	return thread->wait.object_kind == OBJECT_SOCKET || thread->account.slot == SLOT_WAIT_POLL;
}

static __always_inline bool delivers_for(const struct task_struct *current)
{
	struct delivery *delivery = delivery_here();

	return delivery && delivery->sender == (__u64)current &&
	       delivery->softirq == NET_RX_SOFTIRQ && !delivery->in_timer;
}

/* The end of an RCU grace period wakes from the RCU softirq or from a kernel thread "rcu…". */
static __always_inline bool wakes_for_rcu(const struct task_struct *current, bool in_interrupt)
{
	struct delivery *delivery;

	if (!in_interrupt)
		return current->flags & PF_KTHREAD &&
		       (*(const __u32 *)current->comm & 0xffffff) == (*(const __u32 *)"rcu");
	delivery = delivery_here();
	return delivery && delivery->softirq == RCU_SOFTIRQ && !delivery->in_timer;
}

/*
 * Only the waking shows that a wait was for an RCU grace period, not for a disk or anything else.
 * Moves the open wait with its count to SLOT_WAIT_KERNEL.
 */
static __always_inline void waited_for_rcu(struct thread *thread)
{
	struct ledger_account *account = &thread->account;

	thread->by_rcu = 0;
	if (account->slot != SLOT_WAIT_DISK && account->slot != SLOT_WAIT_OTHER)
		return;
	write_begin(account);
	if (account->slot == SLOT_WAIT_DISK)
		account->count[SLOT_WAIT_DISK]--;
	else
		account->count[SLOT_WAIT_OTHER]--;
	account->count[SLOT_WAIT_KERNEL]++;
	account->slot = SLOT_WAIT_KERNEL;
	write_end(account);
}

/* A thread that waits for a lock of Java does so at a futex of its own. */
static __always_inline __u64 lock_of_futex(const struct thread *thread, __u64 futex)
{
	__u32 slot = thread->account.slot;

	return OBJECT_IS_OF_JAVA(thread->wait.object_kind) &&
			       (slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_LOCK_OWNED)
		       ? thread->wait.object[0]
		       : futex;
}

/* If the waker wakes the thread by releasing a lock, saves which one. */
static __always_inline void look_for_release(struct thread *thread, struct task_struct *current,
					     const struct pt_regs *regs)
{
	__s64 nr;

	thread->released = 0;
	thread->released_many = 0;
	if (thread->kernel_lock) {
		note_release(thread, thread->kernel_lock, 0);
		return;
	}
	if (current->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	nr = syscall_of(regs);
	if (nr < 0 || class_of[nr & (LEDGER_SYSCALLS - 1)] != CLASS_FUTEX)
		return;
	note_release(thread, lock_of_futex(thread, regs->ARCH_ARG1), current->tgid);
	/* FUTEX_WAKE and its variants: how many to wake at most. Unlocking a PI futex has none. */
	thread->released_many = (__s32)regs->ARCH_ARG3 > 1 &&
				((__u32)regs->ARCH_ARG2 & FUTEX_CMD_MASK) != FUTEX_UNLOCK_PI;
}

/* The same as recalc_sigpending() of the kernel. */
static __always_inline bool has_signal(const struct task_struct *task)
{
	return (task->pending.signal.sig[0] | task->signal->shared_pending.signal.sig[0]) &
		       ~task->blocked.sig[0] ||
	       task->jobctl & JOBCTL_PENDING;
}

/* A killable sleep ends by no other signal; a fatal one becomes a SIGKILL of every thread. */
static __always_inline bool is_killed(const struct task_struct *task)
{
	return task->__state & TASK_WAKEKILL &&
	       task->pending.signal.sig[0] & 1UL << (SIGNAL_KILL - 1);
}

/*
 * How the wait ends, as far as the waking shows it. A timer may be a timeout or anything else; all
 * other interrupts, and all threads, bring the event or a signal.
 */
static __always_inline __u8 ends_by(const struct thread *thread, const struct task_struct *task)
{
	struct delivery *delivery;

	if (task->__state & TASK_INTERRUPTIBLE ? has_signal(task) : is_killed(task))
		return ENDED_SIGNAL;
	if (!thread->by_interrupt)
		return ENDED_EVENT;
	delivery = delivery_here();
	return delivery && delivery->seen == SEEN_BOTH && !delivery->in_timer &&
			       delivery->softirq != TIMER_SOFTIRQ
		       ? ENDED_EVENT
		       : ENDED_UNKNOWN;
}

static __always_inline void woken_by(struct thread *thread, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	const struct pt_regs *regs = regs_of(current);
	struct thread *waker;

	thread->by_interrupt = in_interrupt(&thread->stack_mark, current, regs, thread);
	thread->by_rcu = wakes_for_rcu(current, thread->by_interrupt);
	thread->waker_ended = ends_by(thread, task);
	if (thread->by_interrupt && !(receives(thread) && delivers_for(current))) {
		thread->waker = 0;
		thread->waker_kind = BY_INTERRUPT;
		thread->released = 0;
		return;
	}
	/* The waker is usually the same as the last time. A stranger may have an account by now. */
	if (thread->last_waker != (__u64)current || thread->last_waker_pid != current->pid ||
	    thread->last_waker_kind == BY_UNACCOUNTED) {
		waker = find(current);
		thread->last_waker = (__u64)current;
		thread->last_waker_pid = current->pid;
		thread->last_waker_kind = waker ? BY_THREAD : BY_UNACCOUNTED;
		thread->last_waker_id = waker ? waker->id : (__u64)current->pid;
		if (!waker)
			note_waker(thread, current);
	}
	thread->waker = thread->last_waker_id;
	thread->waker_kind = thread->last_waker_kind;
	look_for_release(thread, current, regs);
}

/* Somebody wakes `task`, which has no account. If a wanted thread does, it may wait for it next. */
static __always_inline void note_woken(struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct delivery *delivery;
	struct thread *thread;

	if (!can_be_outside(task))
		return;
	thread = find(current);
	if (!thread || thread->flags & THREAD_OUTSIDE || (__s32)thread->suspect.pid == task->pid)
		return;
	delivery = delivery_here();
	if (!delivery || (in_interrupt(&delivery->stack_mark, current, regs_of(current), NULL) &&
			  !delivers_for(current)))
		return;
	thread->suspect = (struct outside_key) { task->start_boottime, task->pid };
}

/* A packet to a socket on this machine, in the context of the sender or of a reply to it. */
SEC("tp_btf/netif_rx")
int BPF_PROG(on_netif_rx, struct sk_buff *packet)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct delivery *delivery = delivery_here();

	if (!delivery || delivery->sender == (__u64)current || delivery->softirq)
		return 0;
	if (!in_interrupt(&delivery->stack_mark, current, regs_of(current), NULL))
		delivery->sender = (__u64)current;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer_entry)
{
	struct delivery *delivery = delivery_here();

	if (!delivery)
		return 0;
	delivery->in_timer = 1;
	delivery->seen |= SEEN_TIMER;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_timer_exit)
{
	struct delivery *delivery = delivery_here();

	if (delivery)
		delivery->in_timer = 0;
	return 0;
}
