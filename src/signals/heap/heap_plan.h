/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the next window is. */
#pragma once

#include <stdint.h>

/* Length of the first window, when nothing is known. */
#define HEAP_PLAN_FIRST_NS UINT64_C(5000000)

/* What is known about the cost of probes when a window is planned. */
struct heap_plan {
	double share;       /* of the target's CPU time that hits may cost */
	double credit_ns;   /* what they may cost now */
	double cost_share;  /* of the target's CPU time in a window, that hits cost; < 0: not known
			     */
	double overhead_ns; /* what hits cost while probes are attached and detached */
	double cpu_share;   /* CPU time of the target by time */
	uint64_t slot_ns;
};

/* In nanoseconds. 0: none in this slot; UINT64_MAX: attach for good. */
uint64_t heap_plan__length(const struct heap_plan *plan);
