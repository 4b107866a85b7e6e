/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a thread's account to user space. A copy is consistent or it is not sent. */
#pragma once

#include "ledger/kernel/cgroups.bpf.h"
#include "ledger/kernel/here.bpf.h"
#include "ledger/kernel/holder.bpf.h"
#include "ledger/kernel/targets.bpf.h"
#include "ledger/kernel/waits.bpf.h"

#define SNAPSHOT_TRIES 64

/* The reader is woken if so much of the ring is in use. */
const volatile __u32 wakeup_bytes = 1024 * 1024;

/* A record does not fit on the BPF stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ledger_record);
} scratch SEC(".maps");

static __noinline bool copy_account(struct ledger_record *record, struct thread *thread,
				    const struct task_struct *task, __s64 *ret_interrupts)
{
	volatile __u32 *sequence = &thread->account.sequence;

	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		__u32 before = *sequence;

		if (before & 1)
			continue;
		arch_order_loads();
		/* A helper call, not a copy by the compiler: the verifier unrolls this loop. */
		if (bpf_probe_read_kernel(&record->account, sizeof(record->account),
					  &thread->account))
			return false;
		record->wait = thread->wait;
		record->cell = thread->cell;
		record->cell_sum = thread->cell_sum;
		record->cell_number = thread->cell_number;
		if (!add_here(&record->account, thread, task, ret_interrupts))
			continue;
		arch_order_loads();
		if (*sequence == before)
			return true;
	}
	return false;
}

/*
 * Divides the open interval of a thread that runs: what interrupts have taken so far counts as its
 * first part. `word`: see interrupts.bpf.h.
 */
static __always_inline void divide_open(struct ledger_account *copy, __s64 word, __u64 now)
{
	if (!word || !SLOT_IS_RUN(copy->slot))
		return;
	if (is_over(now))
		now = end_ns;
	if (word < 0)
		word += now;
	if (word <= 0 || (__s64)(now - copy->since_ns) <= 0)
		return;
	if ((__u64)word > now - copy->since_ns)
		word = now - copy->since_ns;
	copy->ns[SLOT_RUN_IRQ] += word;
	copy->count[SLOT_RUN_IRQ]++;
	copy->since_ns += word;
}

static __always_inline bool fill_record(struct ledger_record *record, struct thread *thread,
					struct task_struct *task, __u16 kind)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__s64 interrupts = 0;

	if (!copy_account(record, thread, task, &interrupts)) {
		count_quality(QUALITY_TORN);
		return false;
	}
	/* The thread has had no event since the recording began. */
	if (record->account.since_ns < base_ns)
		record->account.first_ns = record->account.since_ns = base_ns;
	if (is_handed_on(thread)) {
		record->wait.first = first_holder(&record->wait);
		record->wait.by = 0;
		record->wait.by_kind = BY_NOBODY;
		record->wait.evidence = EVIDENCE_HANDED;
	}
	if (by_class)
		classify(thread, &record->wait);
	/* Read the clock after the copy, so that no state in the copy begins after it. */
	wire_head_init(&record->head, sizeof(*record), kind, 1);
	if (with_interrupts)
		divide_open(&record->account, interrupts, record->head.time_ns);
	record->id = thread->id;
	record->process_start_ns = BPF_CORE_READ(leader, start_boottime);
	record->pid = thread->here_pid;
	record->tid = thread->here_tid;
	record->parent_pid =
		number_here(BPF_CORE_READ(leader, real_parent, group_leader, thread_pid));
	record->flags = thread->flags;
	record->cpu = thread->cpu;
	record->cgroup_id = cgroup_of(task);
	record->minor_faults = BPF_CORE_READ(task, min_flt) - thread->minor_faults;
	record->major_faults = (__u32)BPF_CORE_READ(task, maj_flt) - thread->major_faults;
	BPF_CORE_READ_STR_INTO(&record->comm, task, comm);
	return true;
}

/* The thread ends at `now`. Its open state is running; after the freeze, it can be any. */
static __noinline int send_last_record(struct thread *thread, struct task_struct *task, __u64 now)
{
	struct ledger_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	bool half_full;

	if (!record) {
		count_lost(LOST_RING_FULL);
		/* Save its waits at least. After the freeze, the last snapshot may have them. */
		if (!is_over(now))
			flush_cell(thread);
		return 0;
	}
	if (!fill_record(record, thread, task, LEDGER_EXIT)) {
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
		return 0;
	}
	if (now < record->account.since_ns) {
		count_quality(QUALITY_NEGATIVE);
		now = record->account.since_ns;
	}
	record->head.time_ns = now;
	/* The reader polls several times a second. Wake it only if the ring fills up faster. */
	half_full = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > wakeup_bytes;
	bpf_ringbuf_submit(record, half_full ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}
