/* Included first by every kernel half: types, helpers, and the counters of what was lost. */
#pragma once

#include "bpf/kernel.h"

/* After the types that they use. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * A function that the verifier looks at once for each program, not on every path that leads to it:
 * one that is not static. It knows nothing of the arguments then: numbers may be any, pointers
 * NULL.
 */
#define VERIFIED_ONCE __noinline

/*
 * Law 3: every drop path bumps one of these, and they reach the report. A section of its own, so
 * that the user half finds the counters of any object without knowing its other variables.
 */
__u64 lost[LOST_COUNT] SEC(".data.lost");

static __always_inline void count_lost(enum lost why)
{
	__sync_fetch_and_add(&lost[why], 1);
}

static __always_inline void wire_head_at(struct wire_head *head, __u32 size, __u16 kind,
					 __u16 version, __u64 time_ns)
{
	*head = (struct wire_head) {
		.size = size,
		.kind = kind,
		.version = version,
		.time_ns = time_ns,
		.cpu = bpf_get_smp_processor_id(),
	};
}

static __always_inline void wire_head_init(struct wire_head *head, __u32 size, __u16 kind,
					   __u16 version)
{
	wire_head_at(head, size, kind, version, bpf_ktime_get_ns());
}
