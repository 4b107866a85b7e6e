/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time of the kernel's threads that work for a submitter: workers ("iou-wrk-TID") and those
 * that submit for it ("iou-sqp-TID"). The scheduler keeps the sum. An iterator reads it once a
 * second, and the thread's own end a last time. The kernel updates its sum at a tick and at a
 * switch, so that up to a tick before the end is missing.
 */
#pragma once

#include "signals/uring/flights.bpf.h"

/* How much of a worker's time is in the sums. */
struct uring_worker {
	__u64 told_ns;
	__u64 count; /* 1: it is not in the sums yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct uring_worker);
} uring_workers SEC(".maps");

/* In which second the iterator last looked for completions that found no room. */
__u64 uring_looked;

static __always_inline bool uring_is_poller(const char *comm)
{
	return comm[4] == 's';
}

/* Each worker counts once, however often its time is read. */
static __always_inline void uring_add_cpu(struct series_key *key, __u64 count, __u64 ns)
{
	struct series_sum *sum;

	series_reduce(key);
	sum = series_sum_of(SERIES(uring), series_turn(SERIES(uring)), key);
	if (!sum)
		sum = &series[SIGNAL_uring].overflow;
	__sync_fetch_and_add(&sum->count, count);
	__sync_fetch_and_add(&sum->sum[URING_CPU], ns);
}

/* `task` is a thread of io_uring. */
static __always_inline void uring_tell_worker(struct task_struct *task)
{
	__u64 now_ns = task->se.sum_exec_runtime, old_ns;
	struct uring_worker new = { .count = 1 }, *worker;
	char comm[URING_COMM_BYTES] = {};
	struct series_key key = {};
	struct identity who;

	if (!is_wanted_by(SIGNAL_uring, task, &who))
		return;
	if (task->start_time < series[SIGNAL_uring].since_ns)
		new.told_ns = now_ns; /* of before the recording */
	worker = bpf_task_storage_get(&uring_workers, task, &new, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!worker) {
		COUNT_LOST(uring, LOST_NO_STORAGE);
		return;
	}
	old_ns = __sync_lock_test_and_set(&worker->told_ns, now_ns);
	if (now_ns <= old_ns)
		return;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	key.operation = uring_is_poller(comm) ? URING_POLLER : URING_WORKER;
	key.thread = uring_master_of(task);
	if (!key.thread)
		key.thread = who.id;
	uring_add_cpu(&key, __sync_lock_test_and_set(&worker->count, 0), now_ns - old_ns);
}

/* Notes for whom a thread works, so that its own workers are found to work for the same. */
static __always_inline void uring_note(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct identity who;
	__u64 owner;

	if (!is_wanted_by(SIGNAL_uring, task, &who))
		return;
	owner = task->flags & PF_IO_WORKER ? uring_master_of(task) : 0;
	if (!owner)
		owner = who.id;
	bpf_map_update_elem(&uring_owners, &tid, &owner, BPF_ANY);
}

struct bpf_map;

static long uring_look_at(struct bpf_map *map, const __u64 *key, struct uring_flight *found,
			  void *context)
{
	struct uring_flight flight = *found;
	__u64 address = *key;

	if (uring_end_overflown(&flight))
		bpf_map_delete_elem(&uring_flights, &address);
	return 0;
}

/* All threads, once a second. The last call has no thread. */
SEC("iter/task")
int uring_on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!is_on(SIGNAL_uring))
		return 0;
	if (!task) {
		if (uring_looked != uring_overflown) {
			uring_looked = uring_overflown;
			bpf_for_each_map_elem(&uring_flights, uring_look_at, NULL, 0);
		}
		return 0;
	}
	if (!task->io_uring && !(task->flags & PF_IO_WORKER))
		return 0;
	uring_note(task);
	if (task->flags & PF_IO_WORKER)
		uring_tell_worker(task);
	return 0;
}

/* Linux 6.1 clears PF_IO_WORKER before a worker exits. Then its name tells. */
static __always_inline bool uring_was_worker(struct task_struct *task)
{
	static const char prefix[] = "iou-wrk-";
	char comm[URING_COMM_BYTES] = {};

	if (task->flags & PF_IO_WORKER)
		return true;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (int i = 0; i < URING_COMM_PREFIX; i++)
		if (comm[i] != prefix[i])
			return false;
	return true;
}

/* The current thread exits. */
VERIFIED_ONCE int uring_exits(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_on(SIGNAL_uring) && uring_was_worker(task))
		uring_tell_worker(task);
	return 0;
}
