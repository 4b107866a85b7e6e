/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the CPU and of the kernel that counters.c opens and counters.bpf.h reads. */
#pragma once

#include <linux/types.h>

/* The measures, in their order. */
enum counters_measure {
	COUNTERS_CYCLES,
	COUNTERS_INSTRUCTIONS,
	COUNTERS_CACHE_MISSES,
	COUNTERS_PAGE_FAULTS,
	COUNTERS_MIGRATIONS,
	COUNTERS_MEASURES,
};

/* The operations: what the CPU was doing. Each has its own counters. */
enum counters_mode { COUNTERS_USER, COUNTERS_KERNEL, COUNTERS_MODES };

/* Of each CPU. The counter of a measure in a mode has the index measure * COUNTERS_MODES + mode. */
#define COUNTERS_SLOTS (COUNTERS_MEASURES * COUNTERS_MODES)

/* Events by which stacks are taken (--sample-on). Their operations follow those of the modes. */
#define COUNTERS_SAMPLED 4

/* The only variable of the section .rodata.counters, set before the load. */
struct counters_knobs {
	__u32 opened; /* a bit for each slot: it has a counter */
	__u32 pad;
	__u64 periods[COUNTERS_SAMPLED]; /* events for each stack */
};

/* What a CPU's counters were when the thread that runs there got it. */
struct counters_period {
	__u64 task;     /* the address of its task_struct; 0: not known */
	__u64 since_ns; /* when counting was enabled, by which old periods are recognised */
	__u64 then[COUNTERS_SLOTS];
	__u64 now[COUNTERS_SLOTS];
};
