/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every kernel half includes this first: types, helpers, and the counters of lost data. */
#pragma once

#include "bpf/kernel.h"

/* These need the types above. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * A global (not static) function: the verifier checks it once per program, and not again on every
 * path that calls it. The verifier therefore assumes nothing about the arguments: numbers may have
 * any value, and pointers may be NULL.
 */
#define VERIFIED_ONCE __noinline

/* Law 3: every path that drops data increments one of these counters, and the report shows them. */
__u64 lost[LOST_COUNT];

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
