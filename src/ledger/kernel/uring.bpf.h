/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a thread in io_uring_enter() waits for. A ring has many requests in flight, and the
 * thread waits for any of them; the one that it submitted last stands for all. A thread remembers
 * its last few requests, so that an older one is found when the last one is finished. A request
 * that another thread submitted (SQPOLL) is not found.
 *
 * The file of a request is read when the wait begins, because the kernel assigns it after the
 * tracepoint of the submission. Until the request is finished it holds a reference to the file.
 */
#pragma once

#include "bpf/kernel_uring.h"
#include "ledger/kernel/thread.bpf.h"

#define REQ_F_FIXED_FILE 1 /* its number is one of a registered file, not of a descriptor */

#define NR_IO_URING_ENTER 426 /* on every architecture */

/* include/uapi/linux/io_uring.h */
#define OP_READV   1
#define OP_RECVMSG 10
#define OP_CONNECT 16
#define OP_READ    22
#define OP_RECV    27

/*
 * When a request was finished by a thread that did not submit it. Workers of io_uring do that up to
 * 6.9. Least recently used entries make room: a request is small, and its memory is reused soon.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} finished_requests SEC(".maps");

/* A request that the thread submitted. */
struct submitted_request {
	__u64 address; /* 0: finished */
	__u64 submit_ns;
};
#define MOST_REQUESTS 4

struct submitted {
	struct submitted_request latest[MOST_REQUESTS];
};

/* Only threads that submit requests have it. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct submitted);
} submitted_requests SEC(".maps");

static __always_inline int note_request(struct io_kiocb *request)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct submitted *submitted;
	__u32 at;

	if (!thread)
		return 0;
	submitted = bpf_task_storage_get(&submitted_requests, current, NULL,
					 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!submitted) {
		count_lost(LOST_NO_STORAGE);
		return 0;
	}
	at = thread->requests++ % MOST_REQUESTS;
	submitted->latest[at].address = (__u64)request;
	submitted->latest[at].submit_ns = bpf_ktime_get_ns();
	return 0;
}

/* NULL: it has submitted none. */
static __always_inline struct submitted *submitted_by(const struct thread *thread,
						      struct task_struct *task)
{
	return thread->requests ? bpf_task_storage_get(&submitted_requests, task, NULL, 0) : NULL;
}

/* `address` is 0 for a completion that is not the last one of its request. */
static __always_inline int forget_request(__u64 address)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct submitted *submitted;
	__u64 now;

	if (!address || !thread)
		return 0;
	submitted = submitted_by(thread, current);
	for (__u32 i = 0; submitted && i < MOST_REQUESTS; i++)
		if (submitted->latest[i].address == address) {
			submitted->latest[i].address = 0;
			return 0;
		}
	if (!(current->flags & PF_IO_WORKER))
		return 0; /* submitted by the thread itself, but too long ago to be remembered */
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&finished_requests, &address, &now, BPF_ANY);
	return 0;
}

/* The last request of the thread that is in flight and has a file; NULL if there is none. */
static __always_inline struct io_kiocb *request_in_flight(const struct thread *thread,
							  struct task_struct *task,
							  struct file **ret_file)
{
	struct submitted *submitted = submitted_by(thread, task);

	for (__u32 i = 1; submitted && i <= MOST_REQUESTS; i++) {
		__u32 at = (thread->requests - i) % MOST_REQUESTS;
		__u64 address = submitted->latest[at].address, *finished_ns;
		struct io_kiocb *request = (void *)address;

		if (!address)
			continue;
		finished_ns = bpf_map_lookup_elem(&finished_requests, &address);
		if (finished_ns && *finished_ns > submitted->latest[at].submit_ns)
			continue;
		*ret_file = BPF_CORE_READ(request, file);
		if (*ret_file)
			return request;
	}
	return NULL;
}

/* The descriptor in the request; -1 for a registered file. */
static __always_inline __s32 descriptor_of(struct io_kiocb *request)
{
	return BPF_CORE_READ(request, flags) & REQ_F_FIXED_FILE ? -1
								: BPF_CORE_READ(request, cqe.fd);
}

/* What the request does to a socket. */
static __always_inline __u32 talk_of_request(struct io_kiocb *request)
{
	switch (BPF_CORE_READ(request, opcode)) {
	case OP_READV:
	case OP_READ:
	case OP_RECVMSG:
	case OP_RECV:
		return TALK_RECEIVE;
	case OP_CONNECT:
		return TALK_CONNECT;
	default:
		return TALK_NONE;
	}
}

/* Whether io_uring works for the current thread: then no call says what is done to a socket. */
static __always_inline bool is_in_ring(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs;

	if (current->flags & PF_IO_WORKER)
		return true;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	return regs->ARCH_CALL == NR_IO_URING_ENTER && ARCH_IS_64BIT(regs);
}
