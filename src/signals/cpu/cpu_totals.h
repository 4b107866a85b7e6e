/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel adds up for CPUs since it started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOTALS_CPUS 1024

struct cpu_totals {
	uint64_t steal_ns[TOTALS_CPUS]; /* by number of the CPU; in steps of a tick */
	size_t count;                   /* 1 + the highest number */
	uint64_t pressure_ns;           /* time in which some thread was ready without a CPU */
	bool has_pressure;
};

/* From /proc/stat and /proc/pressure/cpu, which need not exist. -errno. */
int cpu_totals__read(struct cpu_totals *ret);

/* The two files, for tests. Lines that do not fit are skipped. */
void cpu_totals__parse_stat(FILE *file, uint64_t tick_ns, struct cpu_totals *ret);
void cpu_totals__parse_pressure(FILE *file, struct cpu_totals *ret);
