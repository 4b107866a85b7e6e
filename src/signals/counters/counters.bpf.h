/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of the CPU and of the kernel, by thread: cycles, instructions, cache misses, page
 * faults, migrations.
 *
 * The counters belong to CPUs and never stop. At a switch, the difference since the last switch on
 * this CPU belongs to the thread that leaves. Counters of threads (perf's inherit) would be
 * simpler, but the kernel would have to program the PMU at each switch, there is one for each
 * thread, and threads that begin later need an inheritance that BPF programs cannot read.
 *
 * User and kernel mode have counters of their own, so no hook at syscalls is needed to tell them
 * apart.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "signals/counters/counters.h"

SERIES_MAPS(counters, COUNTERS_MEASURES, (1 << COUNTERS_MEASURES) - 1, 8192);

/* User space sets the size: COUNTERS_SLOTS for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} counters_opened SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters_period);
} counters_periods SEC(".maps");

const volatile struct counters_knobs counters_knobs SEC(".rodata.counters");

#include "signals/counters/counter_samples.bpf.h"

/* Reads all counters of this CPU into period->now. Not 0: one of them could not be read. */
VERIFIED_ONCE long counters_read(void)
{
	__u32 only = 0, first = bpf_get_smp_processor_id() * COUNTERS_SLOTS;
	struct counters_period *period;
	struct bpf_perf_event_value value;
	long err = 0;

	if (!is_on(SIGNAL_counters))
		return -1;
	period = bpf_map_lookup_elem(&counters_periods, &only);
	if (!period)
		return -1;
	for (__u32 i = 0; i < COUNTERS_SLOTS; i++) {
		if (!(counters_knobs.opened & 1 << i))
			continue;
		err |= bpf_perf_event_read_value(&counters_opened, first + i, &value,
						 sizeof(value));
		period->now[i] = value.counter;
	}
	return err;
}

/* Adds the difference of one mode. The sum of kernel mode counts each time on a CPU. */
static __always_inline void counters_add(const struct counters_period *period, __u64 thread,
					 enum counters_mode mode)
{
	struct series_key key = { .thread = thread, .operation = mode };
	struct series_maps maps = SERIES(counters);
	__u64 values[COUNTERS_MEASURES], any = mode == COUNTERS_KERNEL;

	for (__u32 i = 0; i < COUNTERS_MEASURES; i++) {
		__u32 slot = i * COUNTERS_MODES + mode;

		values[i] = period->now[slot] - period->then[slot];
		any |= values[i];
	}
	if (!any)
		return;
	series_reduce(&key);
	series_sum_up_own(maps, series_turn(maps), &key, values);
}

VERIFIED_ONCE int counters_charge(__u64 thread)
{
	struct counters_period *period;
	__u32 only = 0;

	if (!is_on(SIGNAL_counters))
		return 0;
	period = bpf_map_lookup_elem(&counters_periods, &only);
	if (!period)
		return 0;
	counters_add(period, thread, COUNTERS_USER);
	counters_add(period, thread, COUNTERS_KERNEL);
	return 0;
}

/* The idle threads are nobody's. */
static __always_inline bool counters_wants(struct task_struct *task, struct identity *ret)
{
	*ret = (struct identity) {};
	return task->pid && is_wanted_by(SIGNAL_counters, task, ret);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(counters_on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 since_ns = series[SIGNAL_counters].since_ns, began;
	struct counters_period *period;
	struct identity who, other;
	bool was_wanted, is_wanted;
	__u32 only = 0;

	if (!is_on(SIGNAL_counters))
		return 0;
	was_wanted = counters_wants(prev, &who);
	is_wanted = counters_wants(next, &other);
	period = bpf_map_lookup_elem(&counters_periods, &only);
	if (!period)
		return 0;
	began = period->task;
	period->task = 0;
	if (!was_wanted && !is_wanted)
		return 0;
	if (counters_read()) {
		__sync_fetch_and_add(&series[SIGNAL_counters].unpaired, was_wanted);
		return 0;
	}
	/* Until the first switch on this CPU, nothing is known of the thread that runs there. */
	if (was_wanted && period->since_ns == since_ns) {
		if (began == (__u64)prev)
			counters_charge(who.id);
		else
			__sync_fetch_and_add(&series[SIGNAL_counters].unpaired, 1);
	}
	period->since_ns = since_ns;
	if (is_wanted)
		period->task = (__u64)next;
	__builtin_memcpy(period->then, period->now, sizeof(period->then));
	return 0;
}
