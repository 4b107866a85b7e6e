/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests in flight, the rings that they belong to, and who submitted them. */
#pragma once

#include "bpf/files.bpf.h"
#include "bpf/identity.bpf.h"
#include "bpf/kernel_uring.h"
#include "bpf/path.bpf.h"
#include "signals/uring/uring.h"

#define URING_MOST_FLIGHTS 32768
#define URING_MOST_RINGS   4096
#define URING_MOST_NAMED   8192
#define URING_COMM_PREFIX  8 /* "iou-wrk-", "iou-sqp-" */
#define URING_COMM_BYTES   16

/* include/uapi/linux/io_uring.h */
#define OP_POLL_ADD 6
#define OP_TIMEOUT  11
#define CQE_MORE    2
#define CQE_NOTIF   8

/* Async is 0 or 1, and CPU time is not that of one request: the sums are enough. */
SERIES_MAPS(uring, URING_MEASURES, 1 << URING_ASYNC | 1 << URING_CPU, 8192);

const volatile struct uring_knobs uring_knobs SEC(".rodata.uring");

enum {
	URING_WAS_ASYNC = 1,  /* a worker got it */
	URING_MAY_REPEAT = 2, /* it is in uring_repeating */
};

struct uring_flight {
	__u64 begin_ns; /* of a multishot request: since its last completion */
	__u64 thread;   /* the submitter */
	__u64 address;  /* of the request; the verifier does not take the key for a number */
	__u64 ring;
	__u64 user_data;
	__u32 in_flight;
	__u32 flags;
};

/* By the address of the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, URING_MOST_FLIGHTS);
	__type(key, __u64);
	__type(value, struct uring_flight);
} uring_flights SEC(".maps");

/* What a completion without a request has to identify it. */
struct uring_tag {
	__u64 ring;
	__u64 user_data;
};

/* The requests that may have several completions. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, URING_MOST_RINGS);
	__type(key, struct uring_tag);
	__type(value, __u64);
} uring_repeating SEC(".maps");

struct uring_ring {
	__u64 in_flight;
	__u64 owner;  /* the thread that made it; 0: unknown */
	__u32 poller; /* the kernel's tid of the thread that submits for it; 0: none so far */
	__u32 pad;
};

/* There is no event for the end of a ring, so the least recently used one makes room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, URING_MOST_RINGS);
	__type(key, __u64);
	__type(value, struct uring_ring);
} uring_rings SEC(".maps");

/* Threads that use io_uring, by the kernel's tid. The value is the ledger's id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, URING_MOST_RINGS);
	__type(key, __u32);
	__type(value, __u64);
} uring_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} uring_ring SEC(".maps");

/* --- whose ---------------------------------------------------------------------------------- */

/*
 * The kernel names its threads after the thread that they work for: "iou-wrk-123". 0: it has no
 * such name.
 */
static __always_inline __u32 uring_tid_in(const char comm[URING_COMM_BYTES])
{
	__u32 tid = 0;

	for (int i = URING_COMM_PREFIX; i < URING_COMM_BYTES; i++) {
		if (comm[i] < '0' || comm[i] > '9')
			break;
		tid = tid * 10 + (comm[i] - '0');
	}
	return tid;
}

/* The thread that a thread of the kernel works for; 0: unknown. */
static __always_inline __u64 uring_master_of(struct task_struct *worker)
{
	char comm[URING_COMM_BYTES] = {};
	__u64 *owner;
	__u32 tid;

	BPF_CORE_READ_STR_INTO(&comm, worker, comm);
	tid = uring_tid_in(comm);
	owner = bpf_map_lookup_elem(&uring_owners, &tid);
	return owner ? *owner : 0;
}

/* NULL: no room. */
static __always_inline struct uring_ring *uring_find_ring(__u64 address)
{
	struct uring_ring *ring = bpf_map_lookup_elem(&uring_rings, &address), new = {};

	if (ring)
		return ring;
	bpf_map_update_elem(&uring_rings, &address, &new, BPF_NOEXIST);
	ring = bpf_map_lookup_elem(&uring_rings, &address);
	if (!ring)
		COUNT_LOST(uring, LOST_MAP_FULL);
	return ring;
}

/* With IORING_SETUP_SQPOLL, a thread of the kernel submits for the one that made the ring. */
static __always_inline __u64 uring_submitter(const struct identity *who, struct uring_ring *ring)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u64 owner = ring ? ring->owner : 0;
	__u32 tid;

	if (!(current->flags & PF_IO_WORKER))
		return who->id;
	tid = current->pid;
	if (ring && ring->poller == tid && owner)
		return owner;
	if (!owner)
		owner = uring_master_of(current);
	if (!owner)
		owner = who->id;
	if (ring) {
		ring->owner = owner;
		ring->poller = tid;
	}
	bpf_map_update_elem(&uring_owners, &tid, &owner, BPF_ANY); /* it may have workers, too */
	return owner;
}

static __always_inline void uring_leaves_ring(const struct uring_flight *flight)
{
	struct uring_ring *ring = bpf_map_lookup_elem(&uring_rings, &flight->ring);

	if (ring && ring->in_flight)
		__sync_fetch_and_add(&ring->in_flight, -1);
}

/* A request is unpaired from its submission to its end. */
static __always_inline void uring_leaves(const struct uring_flight *flight)
{
	uring_leaves_ring(flight);
	__sync_fetch_and_add(&series[SIGNAL_uring].unpaired, -1);
}
