/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drawn intervals that wait for a user stack, see samples.bpf.h. Few threads have any at a moment,
 * so these are in a map, and an element is there only from the draw to the stack. The scheduler's
 * hooks make elements, which is why this is no task storage: up to 6.3, the kernel allocates one in
 * a way that may wake a thread.
 *
 * An element has one user at a time, as the account has. A tick that comes while the thread settles
 * its intervals finds pending_count 0.
 */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/* Intervals with the same key. count 0: a free entry. */
struct pending {
	__u64 kernel, waker; /* stacks */
	__u64 ip, sp;        /* top of the user stack that they wait for */
	__u64 weight_ns, wait_ns, period_ns, end_ns;
	__u64 by, first;
	__u64 object[2];
	__u16 count;
	__u8 slot, flags;
	__u8 by_kind, object_kind, evidence;
	__u8 ended, turn, in_request; /* as in ledger_key */
	__u8 pad[6];
};
#define MOST_PENDING 4

/* Most drawn intervals in one sample. */
#define MOST_COUNT 0xffff

struct pendings {
	struct pending entries[MOST_PENDING];
};

/* With its header and its key, an element has 512 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, __u64); /* the thread's id */
	__type(value, struct pendings);
} pendings SEC(".maps");

/* All 0. The skeleton does not know the type. */
const volatile __u64 no_pendings[sizeof(struct pendings) / sizeof(__u64)];

static __always_inline struct pendings *pendings_of(const struct thread *thread)
{
	__u64 id = thread->id;

	return thread->has_pending ? bpf_map_lookup_elem(&pendings, &id) : NULL;
}

/* NULL: there is no room. */
static __always_inline struct pendings *open_pendings(struct thread *thread)
{
	__u64 id = thread->id;

	if (!thread->has_pending) {
		if (bpf_map_update_elem(&pendings, &id, (const void *)no_pendings, BPF_ANY))
			return NULL;
		thread->has_pending = 1;
	}
	return bpf_map_lookup_elem(&pendings, &id);
}

/* In 6.1 this fails in an interrupt that comes during another change of the map: then later. */
static __always_inline void close_pendings(struct thread *thread)
{
	__u64 id = thread->id;

	if (!bpf_map_delete_elem(&pendings, &id))
		thread->has_pending = 0;
}

/* A pending sample with the same key, or a free entry; NULL if there is neither. */
static __always_inline struct pending *find_pending(struct pendings *pendings,
						    const struct pending *new)
{
	struct pending *free = NULL;

	for (__u32 i = 0; i < MOST_PENDING; i++) {
		struct pending *pending = &pendings->entries[i];

		if (!pending->count)
			free = pending;
		else if (pending->slot == new->slot && pending->kernel == new->kernel &&
			 pending->ip == new->ip && pending->sp == new->sp &&
			 pending->by == new->by && pending->by_kind == new->by_kind &&
			 pending->evidence == new->evidence && pending->ended == new->ended &&
			 pending->turn == new->turn && pending->in_request == new->in_request &&
			 pending->object[0] == new->object[0] &&
			 pending->object[1] == new->object[1] && pending->count < MOST_COUNT)
			return pending;
	}
	return free;
}
