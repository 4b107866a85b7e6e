/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens accounts for threads that start to match the target while they run. */
#pragma once

#include "ledger/kernel/seed.bpf.h"

const volatile __s32 nr_setuid, nr_setreuid, nr_setresuid;

/* The thread now matches the target, by its new name or user, or by its exec. */
static __always_inline void adopt_as(struct task_struct *task, __u32 flags)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = find(task);

	if (thread)
		no_longer_outside(thread, flags);
	if (thread || !start_ns || is_over(now))
		return;
	thread = new_thread(task, flags);
	if (!thread)
		return;
	thread->account.first_ns = now;
	thread->account.since_ns = now;
	if (task == bpf_get_current_task_btf()) {
		thread->nr = NR_KERNEL;
		thread->cpu = bpf_get_smp_processor_id();
		interrupts_forget(task);
		thread->account.slot = full ? SLOT_RUN_KERNEL : SLOT_RUN_ANY;
	} else {
		thread->account.slot = seed_slot(thread, task);
	}
	count_found(&thread->account, thread->account.slot, 1);
}

static __always_inline void adopt(struct task_struct *task)
{
	__u32 flags;

	if (is_wanted(task, &flags))
		adopt_as(task, flags);
}

/* No other hook sees a change of user. Returns NULL if the thread still has no account. */
static __noinline struct thread *adopt_for_user(struct task_struct *current, struct pt_regs *regs)
{
	__s64 nr = syscall_of(regs);

	if (nr == nr_setuid || nr == nr_setreuid || nr == nr_setresuid)
		adopt(current);
	return find(current);
}
