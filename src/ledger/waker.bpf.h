/* Who wakes a thread: another thread, or an interrupt. Asked at sched_waking, in the waker's
 * context. */
#pragma once

#include "ledger/cause.bpf.h"

#define THREAD_STACK_BYTES 16384
#define PF_EXITING         0x00000004

/*
 * Is this an interrupt that only borrows the current thread? preempt_count would tell, but BPF can
 * read it only where the kernel keeps names of its variables (CONFIG_KALLSYMS_ALL). Instead: x86
 * runs interrupts and softirqs on a stack of their own, unless they came from user space, and then
 * the thread is in no syscall. The address of a local goes through memory to become a number.
 */
static __always_inline bool in_interrupt(struct thread *thread, struct task_struct *current)
{
	__u64 here;

	thread->stack_mark = (__u64)&here;
	barrier();
	return thread->stack_mark - (__u64)current->stack >= THREAD_STACK_BYTES;
}

static __always_inline bool sends(__s64 nr)
{
	return class_of[nr & (LEDGER_SYSCALLS - 1)] & CLASS_SENDS;
}

/* For data, or for a connection: the waits that a sender can end. */
static __always_inline bool receives(const struct thread *thread)
{
	return thread->wait.object_kind == OBJECT_SOCKET || thread->account.slot == SLOT_WAIT_POLL;
}

/*
 * Data sent over loopback arrives in a softirq on top of the sender's syscall: then the current
 * thread is the sender after all.
 */
static __always_inline bool is_woken_by(struct thread *thread, struct task_struct *current)
{
	struct pt_regs *regs;
	__s64 nr;

	if (current->flags & (PF_KTHREAD | PF_IO_WORKER))
		return !in_interrupt(thread, current);
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	nr = (__s64)regs->orig_ax;
	/* Killed in user space: it is in no syscall, but what it lets go of, it lets go itself. */
	if (nr < 0)
		return current->flags & PF_EXITING && !in_interrupt(thread, current);
	return !in_interrupt(thread, current) || (receives(thread) && sends(nr));
}

static __always_inline void woken_by(struct thread *thread)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *waker;

	if (!is_woken_by(thread, current)) {
		thread->waker = 0;
		thread->waker_kind = BY_INTERRUPT;
		return;
	}
	/* Mostly it is the same as the last time. */
	if (thread->last_waker != (__u64)current || thread->last_waker_pid != current->pid) {
		waker = find(current);
		thread->last_waker = (__u64)current;
		thread->last_waker_pid = current->pid;
		thread->last_waker_kind = waker ? BY_THREAD : BY_STRANGER;
		thread->last_waker_id = waker ? waker->id : (__u64)current->pid;
	}
	thread->waker = thread->last_waker_id;
	thread->waker_kind = thread->last_waker_kind;
}
