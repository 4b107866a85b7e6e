/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: the programs that they start, and their ends.
 *
 * A start is sched_process_exec. It fires once per successful execve, in the context of the new
 * image. A syscall hook would also see failed attempts, and the old name. The arguments are in
 * memory that execve has just written, so reading them does not fault.
 *
 * An end is the sched_process_exit that finds no other thread of the process alive. Two threads
 * that exit at the same time can both find that, so the first one sets a mark in the storage of the
 * main thread. The only thread of a process needs no mark. Since 6.16 the tracepoint says which
 * thread is the last; the mark works on all kernels.
 *
 * A lifetime is that of the program: it begins with the last execve. If the process existed before
 * the recording, or never executed a program, its lifetime begins with the fork.
 *
 * Lifetimes are summed up by the thread that started the process: a shell that starts 5,000
 * programs is one row, which points to the cause.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "signals/exec/exec.h"

#define PF_FORKNOEXEC     0x00000040
#define SIGNAL_GROUP_EXIT 0x00000004

SERIES_MAPS(exec, 1, 0, 8192);

/* Room for some 3,000 processes; user space reads every 100 ms. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 * 1024 * 1024);
} exec_ring SEC(".maps");

/* On main threads: the end of the process was reported. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} exec_ended SEC(".maps");

/* On main threads: when the process executed its current program. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} exec_began SEC(".maps");

/* The ledger's entry of a thread of the target; false if there is none. */
static __always_inline bool exec_identify(struct task_struct *task, struct identity *ret)
{
	struct identity *identity = identity_of(task);

	*ret = (struct identity) {};
	if (!identity || identity->flags & IDENTITY_OUTSIDE)
		return false;
	*ret = *identity;
	return true;
}

/*
 * If the ledger does not know the parent, use the kernel's pid, provided that it is valid in our
 * pid namespace.
 */
static __always_inline void exec_describe(struct exec_process *process, struct task_struct *leader,
					  const struct identity *who, struct task_struct *parent,
					  const struct identity *starter)
{
	__u32 pid = leader->tgid;

	process->thread = who->id;
	process->pid = who->id ? who->pid : pid;
	process->parent_pid = starter->id ? starter->pid : 0;
	if (!starter->id && process->pid == pid)
		process->parent_pid = parent->tgid;
	BPF_CORE_READ_STR_INTO(&process->comm, leader, comm);
	BPF_CORE_READ_STR_INTO(&process->parent_comm, parent, comm);
}

static __always_inline void exec_take_args(struct exec_started *record, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	unsigned long start = mm->arg_start, all = mm->arg_end - start;
	__u32 size = all < EXEC_ARGS_BYTES ? all : EXEC_ARGS_BYTES;

	record->args_bytes = all;
	/* The verifier of 6.1 loses the bound checked above. */
	if (size > EXEC_ARGS_BYTES)
		size = EXEC_ARGS_BYTES;
	record->args_kept = bpf_probe_read_user(record->args, size, (void *)start) ? 0 : size;
}

/* The current thread has executed the program `file`, a pointer into kernel memory. */
VERIFIED_ONCE int exec_starts(__u64 file)
{
	struct task_struct *task = bpf_get_current_task_btf(), *parent;
	__u64 now = bpf_ktime_get_ns(), *since;
	struct identity who, starter;
	struct exec_started *record;

	if (!is_on(SIGNAL_exec) || !is_wanted_by(SIGNAL_exec, task, &who))
		return 0;
	/* After execve, the calling thread is the main thread. */
	since = bpf_task_storage_get(&exec_began, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (since)
		*since = now;
	else
		COUNT_LOST(exec, LOST_NO_STORAGE);
	record = bpf_ringbuf_reserve(&exec_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(exec, LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), EXEC_STARTED, 2, now);
	parent = task->real_parent;
	exec_identify(parent, &starter);
	exec_describe(&record->process, task, &who, parent, &starter);
	if (bpf_probe_read_kernel_str(record->file, sizeof(record->file), (void *)file) < 0)
		record->file[0] = '\0';
	exec_take_args(record, task);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Creating the mark costs more than the rest of this program. The only thread left does not create
 * one; it looks for the mark of another thread, which was created before that thread was gone. If
 * there is no memory for the mark, the end may be reported twice, but never lost.
 */
static __always_inline bool exec_is_first(struct task_struct *leader)
{
	bool is_alone = leader->signal->nr_threads == 1;
	__u32 *mark = bpf_task_storage_get(&exec_ended, leader, NULL,
					   is_alone ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE);

	/* Creating it fails if another thread creates it at the same time. */
	if (!mark && !is_alone)
		mark = bpf_task_storage_get(&exec_ended, leader, NULL, 0);
	return !mark || !__sync_lock_test_and_set(mark, 1);
}

/* The same rule as in wait_task_zombie(). */
static __always_inline __u32 exec_exit_code(struct task_struct *leader)
{
	struct signal_struct *signal = leader->signal;

	return signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : leader->exit_code;
}

/* The current thread exits. */
VERIFIED_ONCE int exec_exits(void)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader, *parent;
	struct identity who, main, starter;
	struct series_key key = {};
	struct exec_ended *record;
	__u64 now, *since, lifetime_ns;

	if (!is_on(SIGNAL_exec) || !is_wanted_by(SIGNAL_exec, task, &who) ||
	    task->signal->live.counter || task->flags & PF_KTHREAD)
		return 0;
	leader = task->group_leader;
	if (!exec_is_first(leader))
		return 0;
	now = bpf_ktime_get_ns();
	lifetime_ns = now - leader->start_time;
	since = bpf_task_storage_get(&exec_began, leader, NULL, 0);
	if (since)
		lifetime_ns = now - *since;
	parent = leader->real_parent;
	exec_identify(parent, &starter);
	key.thread = starter.id;
	series_add(SERIES(exec), &key, &lifetime_ns);
	record = bpf_ringbuf_reserve(&exec_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(exec, LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), EXEC_ENDED, 2, now);
	if (!exec_identify(leader, &main))
		main = who;
	exec_describe(&record->process, leader, &main, parent, &starter);
	record->lifetime_ns = lifetime_ns;
	record->code = exec_exit_code(leader);
	record->forked = !!(leader->flags & PF_FORKNOEXEC);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
