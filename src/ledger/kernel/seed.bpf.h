/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seeding: an iterator opens the accounts of threads that already exist. */
#pragma once

#include "ledger/kernel/outside.bpf.h"
#include "ledger/kernel/quota.bpf.h"
#include "ledger/kernel/repair.bpf.h"

/* The current state of an existing thread. If a hook moves the thread meanwhile, the hook wins. */
static __always_inline __u32 seed_slot(struct thread *thread, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 state = BPF_CORE_READ(task, __state);
	__u32 slot;

	if (BPF_CORE_READ(task, on_cpu)) {
		thread->cpu = cpu_of(task);
		return full && thread->flags & THREAD_KERNEL ? SLOT_RUN_KERNEL : SLOT_RUN_ANY;
	}
	note_sums(thread, task);
	thread->left_ns = bpf_ktime_get_ns();
	if (thread->nr == NR_NONE)
		thread->nr = syscall_in_flight(thread, task, regs);
	if (!state)
		return is_throttled(task) ? SLOT_READY_THROTTLED : SLOT_READY_PREEMPTED;
	if (state & TASK_NEW)
		return SLOT_READY_WOKEN; /* created, but not yet woken for the first time */
	slot = cause_of_wait(thread, task, state, false);
	thread->wait.slot = slot;
	return slot;
}

/*
 * SLOT_SEEDING keeps hooks off while the account is being opened, because this can run on another
 * CPU than the thread. The second pass finds what the hooks miss meanwhile.
 */
static __always_inline void seed(struct task_struct *task, __u32 flags)
{
	struct ledger_account *account;
	struct thread *thread;
	__u32 slot;
	__u64 now;

	thread = new_thread(task, flags);
	if (!thread)
		return;
	account = &thread->account;
	if (__sync_val_compare_and_swap(&account->slot, SLOT_NONE, SLOT_SEEDING) != SLOT_NONE)
		return; /* a hook was faster */
	slot = seed_slot(thread, task);
	now = bpf_ktime_get_ns();
	account->first_ns = now;
	account->since_ns = now;
	count_found(account, slot, 1);
	arch_order_stores();
	account->slot = slot;
}

static __always_inline __u32 kind_of(__u32 slot)
{
	return SLOT_IS_RUN(slot) ? 1 : SLOT_IS_READY(slot) ? 2 : 3;
}

static __always_inline __u32 kind_now(struct task_struct *task)
{
	__u32 state = BPF_CORE_READ(task, __state);

	if (BPF_CORE_READ(task, on_cpu))
		return 1;
	return !state || state & TASK_NEW ? 2 : 3;
}

/*
 * A thread that was seeded in the middle of a switch or a wakeup got the state from before that
 * transition. If no hook has moved it since and the kernel now shows another state, correct it.
 */
static __always_inline void check_seed(struct thread *thread, struct task_struct *task)
{
	__u32 slot = thread->account.slot, now_in;

	if (slot == SLOT_NONE || slot == SLOT_SEEDING || !is_as_seeded(&thread->account) ||
	    kind_now(task) == kind_of(slot))
		return;
	now_in = seed_slot(thread, task);
	if (kind_of(now_in) == kind_of(slot) ||
	    __sync_val_compare_and_swap(&thread->account.slot, slot, now_in) != slot)
		return;
	count_found(&thread->account, slot, -1);
	count_found(&thread->account, now_in, 1);
}
