/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The birth and the death of a thread, and what makes it belong to the target in between. */
#pragma once

#include "ledger/kernel/adopt.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/here.bpf.h"
#include "ledger/kernel/repair.bpf.h"

#define CLONE_VM     0x00000100
#define CLONE_THREAD 0x00010000

/* Whether a new thread of an outside process gets an account, too. */
static __always_inline bool is_new_outside(const struct thread *parent, struct task_struct *task,
					   __u64 clone_flags)
{
	return parent->flags & THREAD_OUTSIDE && clone_flags & CLONE_THREAD &&
	       is_outside_process(task) && take_outside_place();
}

/* A new thread is ready from its creation on. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task, unsigned long clone_flags)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *parent = find(current), *thread;
	__u32 flags = THREAD_FOLLOW;
	__u64 now = bpf_ktime_get_ns();

	if (is_over(now) || is_born_early(task, current))
		return 0; /* too late, or early enough for the seeding to find it */
	/* A parent without an account may be a target that the seeding has not reached yet. */
	if (!all_threads && !(parent && parent->flags & THREAD_FOLLOW) &&
	    !is_wanted(task, &flags) &&
	    (parent || !is_wanted(current, &flags) || !(flags & THREAD_FOLLOW))) {
		if (!parent || !is_new_outside(parent, task, clone_flags))
			return 0;
		flags = THREAD_OUTSIDE;
	}
	thread = new_thread(task, flags);
	if (!thread)
		return 0;
	thread->nr = NR_KERNEL;
	/* With shared memory, the new thread starts on a stack of its own, which is empty. */
	if (clone_flags & CLONE_VM && takes_stacks())
		thread->flags |= THREAD_STARTING;
	note_sums(thread, task);
	thread->left_ns = now;
	thread->account.first_ns = now;
	thread->account.since_ns = now;
	thread->account.count[SLOT_READY_WOKEN] = 1;
	thread->account.slot = SLOT_READY_WOKEN;
	return 0;
}

/*
 * From here on the thread only cleans up. The time until its last switch is booked under the
 * syscall exit.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread *thread = find(task);
	__u64 now;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_exits();
	AT_sched_process_exit(PART);
#undef PART
	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	release_here(thread, task, now);
	thread->flags |= THREAD_EXITING;
	if (!full || thread->nr == nr_exit || thread->flags & THREAD_KERNEL)
		return 0;
	resolve(thread, run_slot(thread));
	if (thread->account.slot == SLOT_RUN_USER) {
		write_begin(&thread->account);
		move(thread, SLOT_RUN_KERNEL, now);
		write_end(&thread->account);
	}
	thread->nr = nr_exit;
	thread->call_ns = now;
	thread->call_off_ns = thread->off_ns;
	thread->call_weight = 1;
	thread->call_begin_ns = 0;
	return 0;
}

static __always_inline void executes(struct task_struct *task)
{
	struct thread *thread = find(task);
	__u64 now = bpf_ktime_get_ns();

	/* exec() in a thread that is not the group leader gives it the leader's tid. */
	if (thread) {
		if (!is_over(now))
			release_here(thread, task, now);
		give_up_pending(thread, STACK_NONE_EXEC);
		if (with_stacks)
			forget_process(thread->here_pid);
		/* The hook that clears it is attached only then. */
		if (takes_stacks())
			thread->flags |= THREAD_NEW_IMAGE;
		forget_tid(thread);
		note_numbers(thread, task);
		remember_tid(thread);
	}
	if (thread && !(thread->flags & THREAD_OUTSIDE))
		return;
	if (is_gated(task)) {
		adopt_as(task, THREAD_FOLLOW);
		gated_pid = 0;
	} else if (name_count || exe_count || user_count) {
		adopt(task);
	}
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	executes(task);
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_starts((__u64)BPF_CORE_READ(bprm, filename));
	AT_sched_process_exec(PART);
#undef PART
	return 0;
}

/* The tracepoint fires before the name changes, so check the new name, not task->comm. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	char name[WIRE_COMM_BYTES] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	if (!is_wanted_name(name))
		return 0;
	if (task == bpf_get_current_task_btf())
		adopt_as(task, THREAD_FOLLOW);
	if (task->pid == task->tgid)
		__sync_fetch_and_add(&reseed, 1); /* its other threads match by the leader's name */
	return 0;
}

/* The kernel may send one event for all threads of a process, so seed again to find them. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *to)
{
	if (is_wanted_cgroup(to))
		__sync_fetch_and_add(&reseed, 1);
	return 0;
}
