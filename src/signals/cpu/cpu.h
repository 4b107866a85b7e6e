/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of the signal cpu. Sent by cpu.bpf.h, decoded by cpu.c. */
#pragma once

#include "bpf/wire.h"

enum cpu_operation {
	CPU_WOKEN,     /* a slice; the thread was ready because it was woken */
	CPU_PREEMPTED, /* … because it had been preempted, or had yielded */
	CPU_THROTTLED, /* … and had no quota for a part of the time */
	CPU_MIGRATION, /* a thread moves to the CPU */
	CPU_STEAL,     /* read in /proc/stat */
	CPU_IDLE,      /* likewise */
	CPU_PINNED,    /* a slice of a thread that may use one CPU only */
	CPU_CONFINED,  /* … that may use some CPUs, but not all */
	CPU_OPERATIONS,
};

enum cpu_value {
	CPU_READY_NS,
	CPU_SLICE_NS,
	CPU_MIGRATIONS,
	CPU_STEAL_NS,
	CPU_IDLE_NS,
	CPU_SPARE_NS, /* ready time in which only another CPU was idle; all of CPU_PINNED,
			 CPU_CONFINED */
	CPU_VALUES,
};

/* The place of CPU number N. 0 is no place. */
#define CPU_PLACE(number) ((number) + 1)

/* The object is a priority, the kernel's prio: -1 to 139. 0, 0 is no object. */
#define CPU_PRIORITY_OBJECT 1

/* A slice that the thread had to wait for. head.time_ns: when it got the CPU. */
struct cpu_record {
	struct wire_head head;
	__u64 thread;
	__u64 ready_ns;
	__u32 cpu;
	__s32 priority;
	__u32 operation;
	__u32 pad;
};
_Static_assert(sizeof(struct cpu_record) == 56, "wire format");
