/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks by an event instead of by the clock: a counter that overflows, or a tracepoint. Each stack
 * stands for as many events as the period has. If there are too many, some are drawn, which stand
 * for more.
 *
 * They are no samples of the ledger, whose weights are times.
 */
#pragma once

#include "bpf/drawn.bpf.h"
#include "bpf/identity.bpf.h"
#include "signals/counters/counters.h"

struct draw counters_draws[COUNTERS_SAMPLED];

/* Events of the target at each tracepoint since the last stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS_SAMPLED);
	__type(key, __u32);
	__type(value, __u64);
} counters_passed SEC(".maps");

static __always_inline bool counters_samples(void)
{
	struct identity who;

	return is_on(SIGNAL_counters) && is_wanted_now(SIGNAL_counters, &who);
}

static __always_inline __u64 counters_period(__u64 number)
{
	barrier_var(number);
	return counters_knobs.periods[number & (COUNTERS_SAMPLED - 1)];
}

static __always_inline void counters_take(__u64 number)
{
	struct drawn drawn = { .signal = SIGNAL_counters };

	barrier_var(number);
	number &= COUNTERS_SAMPLED - 1;
	drawn.operation = COUNTERS_MODES + number;
	drawn.count = draw_stack(&counters_draws[number]) * counters_period(number);
	if (drawn.count)
		send_drawn_anywhere(&drawn);
}

SEC("perf_event")
int counters_on_overflow(void *context)
{
	if (counters_samples())
		counters_take(bpf_get_attach_cookie(context));
	return 0;
}

SEC("tp/counters")
int counters_on_tracepoint(void *context)
{
	__u32 number = bpf_get_attach_cookie(context);
	__u64 *passed;

	if (!counters_samples())
		return 0;
	passed = bpf_map_lookup_elem(&counters_passed, &number);
	if (!passed || ++*passed < counters_period(number))
		return 0;
	*passed = 0;
	counters_take(number);
	return 0;
}
