/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collections of garbage for which a thread waits that has asked for them. The signal runtime notes
 * that a thread asks, and that the collection has ended; the ledger asks here when a thread is
 * about to wait (ledger/kernel/runtimes.bpf.h).
 *
 * Processes share the entries of a table, and the last one that asks has the entry: a wait of
 * another one is then not known to be for its collection.
 *
 * Rejected: a mark in the account of the thread that asks, because the collection ends in another
 * thread, which cannot reach it; a hash map, because a program may refer to 64 maps at most.
 */
#pragma once

#include "bpf/collections.h"
#include "bpf/series.bpf.h"

#define COLLECTIONS 256

struct collection_asked collections_asked[COLLECTIONS];

/* The entry of a process, by the kernel's tgid. */
static __always_inline struct collection_asked *collection_of(__u32 pid)
{
	return &collections_asked[pid % COLLECTIONS];
}

/* The current thread, with the id `asker`, asks for it and will wait until it has ended. */
static __always_inline void collection_begins(__u64 asker, __u64 operation)
{
	struct collection_asked *asked = collection_of(bpf_get_current_pid_tgid() >> 32);

	asked->operation = operation;
	asked->since_ns = bpf_ktime_get_ns();
	arch_order_stores();
	*(volatile __u64 *)&asked->asker = asker;
}

/* An operation of the process of the current thread has ended; 0: it is not known which. */
static __always_inline void collection_ends(__u64 operation)
{
	struct collection_asked *asked = collection_of(bpf_get_current_pid_tgid() >> 32);

	if (!operation || asked->operation == operation)
		*(volatile __u64 *)&asked->asker = 0;
}

/* One begins, so that any other one is over, even if its end was not seen. */
static __always_inline void collection_follows(__u64 operation)
{
	struct collection_asked *asked = collection_of(bpf_get_current_pid_tgid() >> 32);

	if (asked->operation != operation)
		*(volatile __u64 *)&asked->asker = 0;
}

/*
 * Whether a thread of the process `pid`, with the id `asker`, has asked for a collection that has
 * not ended. What was asked for before the signal was stopped may have ended unseen.
 */
static __always_inline bool waits_for_collection(__u32 pid, __u64 asker)
{
	const struct series_control *control = &series[SIGNAL_runtime];
	const struct collection_asked *asked = collection_of(pid);

	return is_on(SIGNAL_runtime) && *(volatile __u64 *)&asked->asker == asker &&
	       control->enabled && asked->since_ns >= control->since_ns;
}
