/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a thread in io_uring_enter() waits for. A ring has many requests in flight, and the
 * thread waits for any of them; the one that it submitted last stands for all. A thread remembers
 * its last few requests, so that an older one is found when the last one is finished. If a thread
 * of the kernel submits for a ring (SQPOLL), the ring remembers its last few requests; a wait that
 * begins before the first of them is submitted has no file.
 *
 * The file of a request is read when the wait begins, because the kernel assigns it after the
 * tracepoint of the submission. Until the request is finished it holds a reference to the file.
 */
#pragma once

#include "bpf/kernel_uring.h"
#include "ledger/kernel/thread.bpf.h"

#define REQ_F_FIXED_FILE 1 /* its number is one of a registered file, not of a descriptor */

#define NR_IO_URING_ENTER 426 /* on every architecture */

/* include/uapi/linux/io_uring.h, and IO_RINGFD_REG_MAX */
#define ENTER_REGISTERED_RING 16
#define MOST_REGISTERED       16
#define OP_READV              1
#define OP_RECVMSG            10
#define OP_CONNECT            16
#define OP_READ               22
#define OP_RECV               27

/* A request that the thread submitted. */
struct submitted_request {
	__u64 address; /* 0: finished */
	__u64 submit_ns;
};
#define MOST_REQUESTS 4

struct submitted {
	struct submitted_request latest[MOST_REQUESTS];
};

/*
 * What is known of an address. Of a request: when a thread finished it that did not submit it, as
 * workers of io_uring do up to 6.9. Of a ring for which a thread of the kernel submits: its last
 * requests. One map, because a program may refer to 64 at most. There is no event for the end of
 * either, so least recently used entries make room.
 */
struct ring_note {
	__u64 finished_ns;
	__u32 requests; /* submitted so far */
	__u32 pad;
	struct submitted submitted;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct ring_note);
} ring_notes SEC(".maps");

/* Only threads that submit requests have it. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct submitted);
} submitted_requests SEC(".maps");

static __always_inline void note_in_ring(struct io_kiocb *request, __u64 now)
{
	struct ring_note new = {}, *ring;
	__u64 address = (__u64)request->ctx;
	__u32 at;

	ring = bpf_map_lookup_elem(&ring_notes, &address);
	if (!ring) {
		bpf_map_update_elem(&ring_notes, &address, &new, BPF_NOEXIST);
		ring = bpf_map_lookup_elem(&ring_notes, &address);
	}
	if (!ring) {
		count_lost(LOST_NO_STORAGE);
		return;
	}
	at = ring->requests++ % MOST_REQUESTS;
	ring->submitted.latest[at].address = (__u64)request;
	ring->submitted.latest[at].submit_ns = now;
}

static __always_inline int note_request(struct io_kiocb *request)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct submitted *submitted;
	__u64 now;
	__u32 at;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (current->flags & PF_IO_WORKER) {
		note_in_ring(request, now);
		return 0;
	}
	submitted = bpf_task_storage_get(&submitted_requests, current, NULL,
					 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!submitted) {
		count_lost(LOST_NO_STORAGE);
		return 0;
	}
	at = thread->requests++ % MOST_REQUESTS;
	submitted->latest[at].address = (__u64)request;
	submitted->latest[at].submit_ns = now;
	return 0;
}

/* NULL: it has submitted none. */
static __always_inline struct submitted *submitted_by(const struct thread *thread,
						      struct task_struct *task)
{
	return thread->requests ? bpf_task_storage_get(&submitted_requests, task, NULL, 0) : NULL;
}

static __always_inline bool forget_in(struct submitted *submitted, __u64 address)
{
	for (__u32 i = 0; i < MOST_REQUESTS; i++)
		if (submitted->latest[i].address == address) {
			submitted->latest[i].address = 0;
			return true;
		}
	return false;
}

/*
 * `address` is 0 for a completion that is not the last one of its request. `ring` is the ring's.
 */
static __always_inline int forget_request(__u64 address, __u64 ring)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct ring_note note = {}, *polled;
	struct submitted *submitted;

	if (!address || !thread)
		return 0;
	submitted = submitted_by(thread, current);
	if (submitted && forget_in(submitted, address))
		return 0;
	if (!(current->flags & PF_IO_WORKER))
		return 0; /* submitted by the thread itself, but too long ago to be remembered */
	polled = bpf_map_lookup_elem(&ring_notes, &ring);
	if (polled && forget_in(&polled->submitted, address))
		return 0;
	note.finished_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&ring_notes, &address, &note, BPF_ANY);
	return 0;
}

/* The last of them that is in flight and has a file; NULL if there is none. */
static __always_inline struct io_kiocb *last_in_flight(struct submitted *submitted, __u32 requests,
						       struct file **ret_file)
{
	for (__u32 i = 1; i <= MOST_REQUESTS; i++) {
		__u32 at = (requests - i) % MOST_REQUESTS;
		__u64 address = submitted->latest[at].address;
		struct ring_note *note;
		struct io_kiocb *request = (void *)address;

		if (!address)
			continue;
		note = bpf_map_lookup_elem(&ring_notes, &address);
		if (note && note->finished_ns > submitted->latest[at].submit_ns)
			continue;
		*ret_file = BPF_CORE_READ(request, file);
		if (*ret_file)
			return request;
	}
	return NULL;
}

/* The ring behind the first argument of io_uring_enter(); 0: none. */
static __always_inline __u64 ring_at(struct task_struct *task, struct pt_regs *regs)
{
	struct io_uring_task *own = task->io_uring;
	struct file *file = NULL;
	__u32 number = regs->ARCH_ARG1;

	if (!(regs->ARCH_ARG4 & ENTER_REGISTERED_RING))
		file = file_of(task, number);
	else if (own)
		bpf_probe_read_kernel(
			&file, sizeof(file),
			(void *)own +
				bpf_core_field_offset(struct io_uring_task, registered_rings) +
				(number & (MOST_REGISTERED - 1)) * sizeof(file));
	return file ? (__u64)BPF_CORE_READ(file, private_data) : 0;
}

/* What a thread in io_uring_enter() waits for. */
static __always_inline struct io_kiocb *request_in_flight(const struct thread *thread,
							  struct task_struct *task,
							  struct pt_regs *regs,
							  struct file **ret_file)
{
	struct submitted *submitted = submitted_by(thread, task);
	struct io_kiocb *request = NULL;
	struct ring_note *polled;
	__u64 ring;

	if (submitted)
		request = last_in_flight(submitted, thread->requests, ret_file);
	if (request)
		return request;
	ring = ring_at(task, regs);
	polled = ring ? bpf_map_lookup_elem(&ring_notes, &ring) : NULL;
	return polled ? last_in_flight(&polled->submitted, polled->requests, ret_file) : NULL;
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
