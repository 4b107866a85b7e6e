/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel adds up for CPUs since it started. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOTALS_CPUS 1024

struct cpu_totals {
	uint64_t steal_ns[TOTALS_CPUS]; /* by number of the CPU; in steps of a tick */
	uint64_t idle_ns[TOTALS_CPUS];  /* likewise */
	size_t count;                   /* 1 + the highest number */
};

/* From /proc/stat. -errno. */
int cpu_totals__read(struct cpu_totals *ret);

/* The file, for tests. Lines that do not fit are skipped. */
void cpu_totals__parse_stat(FILE *file, uint64_t tick_ns, struct cpu_totals *ret);
