/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow syscalls. Each is sent as a record with its decoded arguments: the paths, and the file
 * behind the descriptor. The registers still hold the arguments when a call ends, so nothing needs
 * to be saved when it begins. A record costs about 3 µs with its user stack, but slow calls
 * are rare.
 */
#pragma once

#include "bpf/path.bpf.h"
#include "ledger/kernel/cause.bpf.h"

/* A separate ring: a burst of slow calls must not fill the ring of the last records of threads. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} syscalls_ring SEC(".maps");

/* In a call that waits by design (shape_of[].idle), only time on a CPU can be slow. */
static __always_inline __u64 time_compared_with_limit(const struct ended_call *call)
{
	bool idle = shape_of[call->nr & (LEDGER_SYSCALLS - 1)].idle;

	return idle ? call->ns - call->off_ns : call->ns;
}

/*
 * A futex call can wait for a lock, or by design for a condition. It is a lock if its owner was
 * known when the thread last waited for it.
 */
static __always_inline bool waited_for_owner(const struct thread *thread, struct pt_regs *regs)
{
	return thread->wait.slot == SLOT_WAIT_LOCK_OWNED &&
	       thread->wait.object[0] == regs->ARCH_ARG1;
}

/* Returns NULL if the ring is full, and counts that as a loss. */
static __always_inline struct slow_call_record *new_record(const struct thread *thread,
							   const struct ended_call *call)
{
	struct slow_call_record *record = bpf_ringbuf_reserve(&syscalls_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(syscalls, LOST_RING_FULL);
		return NULL;
	}
	__builtin_memset(record, 0, __builtin_offsetof(struct slow_call_record, name));
	record->name.bytes = record->name.flags = 0;
	record->path[0][0] = record->path[1][0] = '\0';
	wire_head_at(&record->head, sizeof(*record), 0, 1, call->end_ns);
	record->thread = thread->id;
	record->duration_ns = call->ns;
	record->running_ns = call->ns - call->off_ns;
	record->result = call->ret;
	record->number = call->nr;
	record->error = call->error;
	return record;
}

static __always_inline void add_socket(struct slow_call_record *record, struct file *file)
{
	struct ledger_object_record socket = {};

	describe_socket(&socket, file);
	record->family = socket.family;
	record->local_port = socket.local_port;
	record->peer_port = socket.peer_port;
	record->peer_pid = socket.peer_pid;
	__builtin_memcpy(record->local, socket.local, sizeof(record->local));
	__builtin_memcpy(record->peer, socket.peer, sizeof(record->peer));
}

static __noinline int add_target(struct slow_call_record *record, struct task_struct *task,
				 __s32 fd)
{
	struct file *file = fd < 0 ? NULL : file_of(task, fd);
	struct path path;
	__u32 mode;

	if (!file)
		return 0;
	look_at_inode(file, &record->object[0], &mode);
	record->object[1] = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		record->target = CALL_TARGET_SOCKET;
		add_socket(record, file);
		return 0;
	case S_IFIFO:
		record->target = CALL_TARGET_PIPE;
		break;
	case 0:
		record->target = CALL_TARGET_OTHER;
		break;
	default:
		record->target = CALL_TARGET_FILE;
	}
	BPF_CORE_READ_INTO(&path, file, f_path);
	walk_path(&path, &record->name);
	return 0;
}

static __always_inline void add_path(struct slow_call_record *record, __u32 which, __u64 address)
{
	if (bpf_probe_read_user_str(record->path[which], CALL_PATH_BYTES, (void *)address) > 0)
		record->paths_read |= 1 << which; /* fails if paged out or a bad pointer */
}

static __always_inline __u64 arg_of(const struct slow_call_record *record, __u32 which)
{
	for (__u32 i = 0; i < CALL_ARGS; i++)
		if (which == i + 1)
			return record->args[i];
	return 0;
}

static __always_inline void add_args(struct slow_call_record *record, struct task_struct *task,
				     struct pt_regs *regs)
{
	__u32 nr = record->number & (LEDGER_SYSCALLS - 1);
	__u32 fd = shape_of[nr].fd;

	record->has_args = 1;
	record->args[0] = regs->ARCH_ARG1;
	record->args[1] = regs->ARCH_ARG2;
	record->args[2] = regs->ARCH_ARG3;
	record->args[3] = regs->ARCH_ARG4;
	record->args[4] = regs->ARCH_ARG5;
	if (fd)
		add_target(record, task, (__s32)arg_of(record, fd));
	for (__u32 i = 0; i < CALL_PATHS; i++)
		if (shape_of[nr].path[i])
			add_path(record, i, arg_of(record, shape_of[nr].path[i]));
}

VERIFIED_ONCE int send_slow_call(struct thread *thread, const struct ended_call *call)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct slow_call_record *record;

	if (!is_on(SIGNAL_syscalls) || !thread || !call)
		return 0;
	if (!series_is_slow(SERIES(syscalls), waited_for_owner(thread, regs)
						      ? call->ns
						      : time_compared_with_limit(call)))
		return 0;
	record = new_record(thread, call);
	if (!record)
		return 0;
	if (call->nr != LEDGER_32BIT_CALL)
		add_args(record, current, regs);
	record->stack = event_stack();
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

VERIFIED_ONCE int send_slow_call_without_args(struct thread *thread, const struct ended_call *call)
{
	struct slow_call_record *record;

	if (!is_on(SIGNAL_syscalls) || !thread || !call ||
	    !series_is_slow(SERIES(syscalls), time_compared_with_limit(call)))
		return 0;
	record = new_record(thread, call);
	if (record)
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
