/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a thread is to be recorded, and its id. Both come from the ledger: before the load, user
 * space replaces this map `threads` by the ledger's map. The ledger applies the filter of the
 * command line, so that all signals record the same threads.
 */
#pragma once

#include "bpf/identity.h"
#include "bpf/series.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct identity);
} threads SEC(".maps");

/*
 * False: the thread does not belong to the target, or recording is off. `task` must be a pointer
 * that the verifier trusts. Call this before reading the clock, which costs more.
 */
static __always_inline bool is_wanted(struct task_struct *task, struct identity *ret)
{
	struct identity *identity;

	*ret = (struct identity) {};
	if (!series.enabled)
		return false;
	identity = bpf_task_storage_get(&threads, task, NULL, 0);
	if (identity && identity->flags & IDENTITY_OUTSIDE)
		return false;
	if (identity)
		*ret = *identity;
	return identity || series.every_thread;
}

/*
 * The time at the end of a syscall. The ledger's hook on the end of a syscall runs after the hooks
 * of the signals. Their work must not count as the program's, so a hook that takes long stores here
 * when the call ended.
 */
static __always_inline __u64 end_of_call(struct task_struct *task)
{
	struct identity *identity = bpf_task_storage_get(&threads, task, NULL, 0);
	__u64 now = bpf_ktime_get_ns();

	if (identity)
		identity->ended_ns = now;
	return now;
}

static __always_inline bool is_wanted_now(struct identity *ret)
{
	return is_wanted(bpf_get_current_task_btf(), ret);
}
