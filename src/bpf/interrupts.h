/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a CPU has lost to interrupts (interrupts.bpf.h). The user half reads the totals. */
#pragma once

#include "bpf/wire.h"

/* Hard interrupts interrupt softirqs. Anything deeper is the rest of an end that was not seen. */
#define INTERRUPTS_DEEP 4

/* An interrupt that runs, or that another one has interrupted. */
struct interruption {
	__u64 since_ns;
	__u64 before_ns; /* of a softirq: since the end of the interrupt that it belongs to */
	__u64 inner_ns;  /* time of others that interrupted it */
	__u32 place;     /* which one it is, numbered by the signal */
	__u32 pad;
};

struct interrupts {
	__s64 taken_ns;
	__u64 task;     /* address of the task that lost it */
	__u64 ended_ns; /* when the last hard interrupt and its softirqs ended; 0: see irq.bpf.h */
	__u64 total_ns; /* of all that were seen here, without their edges */
	__u64 hard_count; /* those that interrupted no other one and are no softirqs */
	__u32 depth;      /* how many are in open[] */
	__u32 pad;
	struct interruption open[INTERRUPTS_DEEP];
};
