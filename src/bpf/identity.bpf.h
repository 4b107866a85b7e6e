/*
 * Whether a thread is wanted, and its id: both from the ledger, whose map `threads` user space puts
 * in the place of this one before the load. The filter of the command line is the ledger's, so that
 * all signals mean the same threads.
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
 * False: not one of the target's, or not now. `task` must be one that the verifier trusts. Ask this
 * first: the clock costs more.
 */
static __always_inline bool is_wanted(struct task_struct *task, struct identity *ret)
{
	struct identity *identity;

	*ret = (struct identity) {};
	if (!series.enabled)
		return false;
	identity = bpf_task_storage_get(&threads, task, NULL, 0);
	if (identity)
		*ret = *identity;
	return identity || series.every_thread;
}

/*
 * The clock at the end of a syscall. The ledger's hook comes last, so that the work of the others
 * is not taken for the program's; a long one tells it when the call was over.
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
