/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part cpu: the slices of time that recorded threads had on a CPU, how long they were ready before
 * each, and moves to another CPU. The ledger sees all of that, so there is no hook of its own: the
 * ledger's programs call this part.
 *
 * A thread keeps its CPU for the whole slice, so what is known at its begin is kept with the CPU.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "bpf/spare.bpf.h"
#include "signals/cpu/cpu.h"
#include "vocabulary/slots.h"

/* Only times have histograms. */
SERIES_MAPS(cpu, CPU_VALUES,
	    1 << CPU_MIGRATIONS | 1 << CPU_STEAL_NS | 1 << CPU_IDLE_NS | 1 << CPU_SPARE_NS, 32768);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} cpu_ring SEC(".maps");

/* The slice that lasts. */
struct cpu_slice {
	__u64 thread; /* the ledger's id; 0: none that is to be counted */
	__u64 since_ns;
	__u64 ready_ns;
	__u64 spare_ns; /* or SPARE_…, see bpf/spare.bpf.h */
	__u32 operation;
	__s32 priority;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_slice);
} cpu_slices SEC(".maps");

static __always_inline struct cpu_slice *cpu_slice_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_slices, &zero);
}

VERIFIED_ONCE int cpu_send(const struct cpu_slice *slice)
{
	struct cpu_record *record;

	if (!is_on(SIGNAL_cpu) || !slice || by_class)
		return 0;
	record = bpf_ringbuf_reserve(&cpu_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(cpu, LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), 0, 1, slice->since_ns);
	record->thread = slice->thread;
	record->ready_ns = slice->ready_ns;
	record->cpu = bpf_get_smp_processor_id();
	record->priority = slice->priority;
	record->operation = slice->operation;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline __u32 cpu_operation_of(__u32 slot)
{
	return slot == SLOT_READY_THROTTLED   ? CPU_THROTTLED
	       : slot == SLOT_READY_PREEMPTED ? CPU_PREEMPTED
					      : CPU_WOKEN;
}

/*
 * The thread gets this CPU at `now`. It has been ready since `ready_since_ns`, in the slot `slot`.
 * If that is later than now, it is unknown, and the slice is not counted.
 */
VERIFIED_ONCE int cpu_gets_cpu(const struct identity *who, __s32 priority, __u32 slot,
			       __u64 ready_since_ns, __u64 now)
{
	struct cpu_slice *slice;

	if (!is_on(SIGNAL_cpu) || !who)
		return 0;
	slice = cpu_slice_here();
	if (!slice)
		return 0;
	slice->thread = 0;
	if (!is_recorded(SIGNAL_cpu, who) || ready_since_ns < series[SIGNAL_cpu].since_ns ||
	    ready_since_ns > now)
		return 0;
	slice->since_ns = now;
	slice->ready_ns = now - ready_since_ns;
	slice->spare_ns = 0;
	slice->operation = cpu_operation_of(slot);
	slice->priority = priority;
	slice->thread = who->id;
	if (series_is_slow(SERIES(cpu), slice->ready_ns))
		cpu_send(slice);
	return 0;
}

/* The thread that got this CPU was ready for so long while only other CPUs were idle. */
VERIFIED_ONCE int cpu_had_spare(__u64 ns)
{
	struct cpu_slice *slice = is_on(SIGNAL_cpu) ? cpu_slice_here() : NULL;

	if (slice && slice->thread)
		slice->spare_ns =
			ns < slice->ready_ns || ns >= SPARE_CONFINED ? ns : slice->ready_ns;
	return 0;
}

static __always_inline void cpu_set_priority(struct series_key *key, __s32 priority)
{
	key->object[0] = (__u64)(__s64)priority;
	key->object[1] = CPU_PRIORITY_OBJECT;
}

/* Ready time of a thread that has no use for other CPUs, or may not have. */
VERIFIED_ONCE int cpu_add_bound(const struct series_key *slice, __u64 spare_ns, __u64 ready_ns)
{
	struct series_sum *sum;
	struct series_key key;

	if (!is_on(SIGNAL_cpu) || !slice)
		return 0;
	key = *slice;
	key.operation = spare_ns == SPARE_PINNED ? CPU_PINNED : CPU_CONFINED;
	sum = series_sum_of(SERIES(cpu), series_turn(SERIES(cpu)), &key);
	/* The slice is counted already. */
	if (sum)
		__sync_fetch_and_add(&sum->sum[CPU_SPARE_NS], ready_ns);
	return 0;
}

/* The thread leaves this CPU at `now`. */
VERIFIED_ONCE int cpu_leaves_cpu(const struct identity *who, __u64 now)
{
	__u64 values[CPU_VALUES] = {};
	struct series_key key = {};
	struct cpu_slice *slice;

	if (!is_on(SIGNAL_cpu) || !who)
		return 0;
	slice = cpu_slice_here();
	if (!slice || !slice->thread || slice->thread != who->id)
		return 0;
	slice->thread = 0;
	if (!series[SIGNAL_cpu].enabled || slice->since_ns < series[SIGNAL_cpu].since_ns)
		return 0;
	key.thread = who->id;
	key.place = CPU_PLACE(bpf_get_smp_processor_id());
	key.operation = slice->operation;
	cpu_set_priority(&key, slice->priority);
	values[CPU_READY_NS] = slice->ready_ns;
	values[CPU_SLICE_NS] = now - slice->since_ns;
	if (slice->spare_ns < SPARE_CONFINED)
		values[CPU_SPARE_NS] = slice->spare_ns;
	series_reduce(&key);
	series_add_own(SERIES(cpu), &key, values);
	if (slice->spare_ns >= SPARE_CONFINED)
		cpu_add_bound(&key, slice->spare_ns, slice->ready_ns);
	return 0;
}

/* The thread moves to the CPU `to`. It is not there yet, and it may not be the current one. */
VERIFIED_ONCE int cpu_migrates(const struct identity *who, __s32 priority, __u32 to)
{
	__u64 values[CPU_VALUES] = { [CPU_MIGRATIONS] = 1 };
	struct series_key key = { .operation = CPU_MIGRATION };

	if (!is_on(SIGNAL_cpu) || !who || !is_recorded(SIGNAL_cpu, who))
		return 0;
	key.thread = who->id;
	key.place = CPU_PLACE(to);
	cpu_set_priority(&key, priority);
	series_reduce(&key);
	series_sum_up(SERIES(cpu), series_turn(SERIES(cpu)), &key, values);
	return 0;
}
