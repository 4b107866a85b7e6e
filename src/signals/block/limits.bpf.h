/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that a limit of a cgroup holds back (io.max, blkio.throttle). The kernel keeps the bio
 * and submits it later, from a worker of the workqueue "kthrotld"; the first tracepoint of the bio
 * comes only then. The submitter is not known there, but the cgroup is. If only one recorded thread
 * has made requests in that cgroup to that device, it is that thread; if several have, the request
 * belongs to no thread. If none has, because all of them were held back, the request is not
 * recorded, except with all threads, as the worker's.
 */
#pragma once

#include "signals/block/flights.bpf.h"

#define PF_WQ_WORKER  0x00000020
#define MANY_THREADS  0
#define MOST_CGROUPS  1024
#define KTHROTLD_NAME 0x646c746f7268746bULL /* "kthrotld" */

/* The recorded thread that makes requests in a cgroup, by the kernel's struct blkcg_gq. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MOST_CGROUPS);
	__type(key, __u64);
	__type(value, __u64);
} block_submitters SEC(".maps");

/* 0: the root cgroup, which has no limits. */
static __always_inline __u64 block_cgroup_of(struct bio *bio)
{
	struct blkcg_gq *cgroup;

	if (!bpf_core_field_exists(bio->bi_blkg))
		return 0;
	cgroup = bio->bi_blkg;
	return cgroup && cgroup->parent ? (__u64)cgroup : 0;
}

static __always_inline void block_note_cgroup(struct bio *bio, __u64 thread)
{
	__u64 cgroup = block_cgroup_of(bio), *submitter;

	if (!cgroup)
		return;
	submitter = bpf_map_lookup_elem(&block_submitters, &cgroup);
	if (!submitter)
		bpf_map_update_elem(&block_submitters, &cgroup, &thread, BPF_ANY);
	else if (*submitter != thread && *submitter != MANY_THREADS)
		*submitter = MANY_THREADS;
}

/* Whether the current thread is a worker that releases bios. */
static __always_inline bool is_releasing(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct workqueue_struct *queue;
	struct kthread *kthread;
	struct worker *worker;
	__u64 name = 0;

	if (!(current->flags & PF_WQ_WORKER))
		return false;
	kthread = current->worker_private;
	worker = BPF_CORE_READ(kthread, data);
	queue = BPF_CORE_READ(worker, current_pwq, wq);
	bpf_core_read(&name, sizeof(name), &queue->name);
	return name == KTHROTLD_NAME;
}

/*
 * Whether a limit held the bio back. Then *wanted and *thread become those of its submitter. If the
 * submitter is not known, they stay those of the worker.
 */
static __always_inline bool is_held_back(struct bio *bio, bool *wanted, __u64 *thread)
{
	__u64 cgroup, *submitter;

	if (!is_releasing())
		return false;
	cgroup = block_cgroup_of(bio);
	submitter = bpf_map_lookup_elem(&block_submitters, &cgroup);
	if (submitter) {
		*wanted = true;
		*thread = *submitter;
	}
	return true;
}
