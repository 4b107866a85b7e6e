/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part work: what the kernel's workqueues run, how long each work item was queued and how long it
 * ran. Work items of the whole machine count; they have a thread if the thread that runs them is
 * recorded.
 *
 * An item is identified by its address. The kernel never runs one item twice at the same time, but
 * an item that runs can be queued again, so there is one map for each of the two.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "signals/work/work.h"

/* Time and delay. */
SERIES_MAPS(work, 2, 0, 4096);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} work_ring SEC(".maps");

/* When an item was queued. An item that is cancelled has no end, so old ones have to go. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} work_queued SEC(".maps");

struct work_run {
	__u64 since_ns;
	__u64 delay_ns;
	__u64 function; /* the item itself may be gone when it has run */
	__u32 operation;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct work_run);
} work_runs SEC(".maps");

VERIFIED_ONCE int work_send(const struct work_run *run, const struct series_key *key, __u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct work_record *record;

	if (!is_on(SIGNAL_work) || !run || !key || by_class)
		return 0;
	record = bpf_ringbuf_reserve(&work_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(work, LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), 0, 1, now);
	record->thread = key->thread;
	record->function = key->object[0];
	record->time_ns = now - run->since_ns;
	record->delay_ns = run->delay_ns;
	record->operation = run->operation;
	record->tid = current->pid;
	BPF_CORE_READ_STR_INTO(&record->comm, current, comm);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(work_on_queue, int req_cpu, void *pwq, struct work_struct *work)
{
	__u64 key = (__u64)work, now;

	if (!is_on(SIGNAL_work) || !series[SIGNAL_work].enabled)
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&work_queued, &key, &now, BPF_ANY))
		COUNT_LOST(work, LOST_MAP_FULL);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(work_on_start, struct work_struct *work)
{
	struct work_run run = { .operation = WORK_QUEUED_UNSEEN };
	__u64 key = (__u64)work, *queued;

	if (!is_on(SIGNAL_work) || !series[SIGNAL_work].enabled)
		return 0;
	run.function = (__u64)work->func;
	run.since_ns = bpf_ktime_get_ns();
	queued = bpf_map_lookup_elem(&work_queued, &key);
	/* Older than the last stop of this signal: it may have run meanwhile. */
	if (queued && *queued >= series[SIGNAL_work].since_ns) {
		run.delay_ns = run.since_ns - *queued;
		run.operation = WORK_DONE;
	}
	bpf_map_delete_elem(&work_queued, &key);
	if (bpf_map_update_elem(&work_runs, &key, &run, BPF_ANY))
		COUNT_LOST(work, LOST_NO_STORAGE);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(work_on_end, struct work_struct *work)
{
	struct series_key key = {};
	__u64 at = (__u64)work, now, values[2];
	struct work_run *run, copy;
	struct identity who;

	if (!is_on(SIGNAL_work))
		return 0;
	run = bpf_map_lookup_elem(&work_runs, &at);
	if (!run)
		return 0; /* it began before anything was counted */
	copy = *run;
	bpf_map_delete_elem(&work_runs, &at);
	if (!series[SIGNAL_work].enabled || copy.since_ns < series[SIGNAL_work].since_ns)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_wanted_now(SIGNAL_work, &who))
		key.thread = who.id;
	key.object[0] = copy.function;
	key.operation = copy.operation;
	values[0] = now - copy.since_ns;
	values[1] = copy.delay_ns;
	series_reduce(&key);
	series_add(SERIES(work), &key, values);
	if (series_is_slow(SERIES(work), values[0] + values[1]))
		work_send(&copy, &key, now);
	return 0;
}
