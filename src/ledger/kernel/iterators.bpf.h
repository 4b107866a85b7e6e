/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Task iterators: one opens accounts, one reads them, one reads open intervals at the end. */
#pragma once

#include "ledger/kernel/queue.bpf.h"
#include "ledger/kernel/record.bpf.h"
#include "ledger/kernel/samples.bpf.h"
#include "ledger/kernel/seed.bpf.h"
#include "ledger/kernel/thread_calls.bpf.h"

__u64 changed_after_ns; /* the snapshot skips threads that have not changed since then */

SEC("iter/task")
int on_snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ledger_record *record;
	struct thread *thread;
	__u32 zero = 0;

	if (!task)
		return 0;
	thread = find(task);
	if (with_outside && thread && thread->suspect.pid && !is_over_now())
		look_for_outside(thread);
	if (!thread || thread->flags & THREAD_ENDED || thread->account.slot == SLOT_NONE ||
	    thread->account.slot == SLOT_SEEDING ||
	    (thread->account.since_ns < changed_after_ns && !here_of(thread, task) &&
	     !(with_interrupts && SLOT_IS_RUN(thread->account.slot))))
		return 0;
	if (is_over_now()) {
		release_at_end(thread, task);
		flush_occupant(thread);
		if (full)
			flush_calls(thread, cells_of(thread, task));
	}
	record = bpf_map_lookup_elem(&scratch, &zero);
	if (record && fill_record(record, thread, task, LEDGER_THREAD))
		bpf_seq_write(ctx->meta->seq, record, sizeof(*record));
	return 0;
}

/* Run twice: the first pass opens accounts, the second checks them. */
SEC("iter/task")
int on_seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread;
	bool wanted = false;
	__u32 flags = 0;

	if (!own_ns)
		note_own();
	if (!task || BPF_CORE_READ(task, exit_state))
		return 0;
	thread = find(task);
	if (!thread || thread->flags & THREAD_OUTSIDE)
		wanted = !is_gated(task) && is_wanted(task, &flags);
	if (!thread && (wanted || (with_outside && is_due_outside(task))))
		seed(task, wanted ? flags : THREAD_OUTSIDE);
	if (thread && wanted)
		no_longer_outside(thread, flags);
	if (thread)
		check_seed(thread, task);
	return 0;
}

/* True if the thread has run since the last switch-out that we saw. */
static __always_inline bool has_run(const struct thread *thread, struct task_struct *task)
{
	return BPF_CORE_READ(task, on_cpu) ||
	       BPF_CORE_READ(task, se.sum_exec_runtime) != thread->exec_ns;
}

/* BPF cannot walk the user stack of another thread. Sends what user space needs to do it. */
static __always_inline void write_asleep(struct bpf_iter__task *ctx, struct task_struct *task,
					 struct thread *thread, const struct pending *pending,
					 __u64 user, __u32 none)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct asleep_record record = { .in_call = (__s64)BPF_CORE_READ(regs, ARCH_CALL) >= 0 };

	fill_sample(&record.sample, thread, pending, user, none);
	record.sample.head.size = sizeof(record);
	record.sample.head.kind = STACK_ASLEEP;
	/* If the thread has run since, its stack has changed, and pc stays 0. */
	if (!has_run(thread, task)) {
		record.pc = BPF_CORE_READ(regs, ARCH_PC);
		record.sp = BPF_CORE_READ(regs, ARCH_SP);
		record.bp = BPF_CORE_READ(regs, ARCH_FP);
		record.thread_pointer = arch_thread_pointer(task);
#if ARCH_LINK_REGISTER
		record.link = BPF_CORE_READ(regs, ARCH_LINK);
#endif
	}
	if (pending->ip && (pending->ip != record.pc || pending->sp != record.sp))
		record.sample.none = STACK_NONE_LATE;
	if (!ARCH_IS_64BIT(regs))
		record.sample.none = STACK_NONE_32BIT;
	if (thread->flags & THREAD_KERNEL)
		record.sample.none = STACK_NONE_KERNEL;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
}

/* Runs once, after the freeze. Open intervals are sampled as if they ended now. */
SEC("iter/task")
int on_asleep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 none = STACK_NONE_ASLEEP;
	struct pendings *pendings;
	struct pending new = {};
	struct thread *thread;
	__u64 user;

	if (!task)
		return 0;
	thread = find(task);
	if (!thread || thread->flags & THREAD_ENDED ||
	    __sync_fetch_and_or(&thread->flags, THREAD_HANDED_OVER) & THREAD_ENDED)
		return 0;
	pendings = pendings_of(thread);
	for (__u32 i = 0; pendings && i < MOST_PENDING; i++)
		if (pendings->entries[i].count)
			write_asleep(ctx, task, thread, &pendings->entries[i], 0, none);
	if (!draw_open(thread, &new))
		return 0;
	if (!has_run(thread, task))
		new.kernel = kernel_stack_of(task, WALK_SCHEDULER);
	user = stack_left_with(thread, &none);
	write_asleep(ctx, task, thread, &new, user, none);
	return 0;
}
