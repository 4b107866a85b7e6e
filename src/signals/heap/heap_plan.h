/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the next slot is, and the window in it. The window is at a random place of the slot, so
 * a slot is as long as it takes to earn what its window costs: every slot has a window, and no time
 * is left out because what came before it was costly.
 */
#pragma once

#include <stdint.h>

/* Length of the first window, when nothing is known. */
#define HEAP_PLAN_FIRST_NS UINT64_C(5000000)
/* A slot is at least as long as the first, and at most as long as the second. */
#define HEAP_PLAN_SLOT_NS    UINT64_C(125000000)
#define HEAP_PLAN_LONGEST_NS UINT64_C(4000000000)

/* What is known about the cost of probes when a window is planned. */
struct heap_plan {
	double share;       /* of the target's CPU time that hits may cost */
	double credit_ns;   /* what they may cost now; negative: they cost too much before */
	double cost_share;  /* of the target's CPU time in a window, that hits cost; < 0: not known
			     */
	double overhead_ns; /* what hits cost while probes are attached and detached */
	double cpu_share;   /* CPU time of the target by time */
	double edges_ns;    /* how long it takes to read the target's CPU time twice */
};

struct heap_step {
	uint64_t slot_ns;
	uint64_t window_ns; /* 0: none; UINT64_MAX: attach for good */
	double cost_ns;     /* what hits in the window are expected to cost */
};

struct heap_step heap_plan__next(const struct heap_plan *plan);
/* A random time within `room_ns`. */
uint64_t heap_plan__choose(uint64_t room_ns);
