/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When probes are attached. A hit costs up to a microsecond however little is done with it, and
 * programs may allocate millions of times a second. So a thread attaches the probes for windows of
 * time, one in each slot, at a random place, and as long as the budget allows (heap_plan.h); if
 * calls are few, all the time. Each slot leaves an account of what was seen and of the CPU time
 * that the target had, from which the report computes totals and their errors (model/heap.h).
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/target.h"

/* Whom to observe. Call it before the recording is opened; the arguments outlive it. */
void heap_windows__aim(const struct target *target, const char *command, uint32_t budget_ppm);

/* CPU times are without hits. */
struct heap_slot {
	uint64_t time_ns;   /* its end */
	uint64_t slot_ns;   /* its length */
	uint64_t window_ns; /* length of the window; 0: there was none; slot_ns: all of it */
	uint64_t calls, bytes, frees; /* in the window */
	uint64_t cpu_ns;              /* of the processes that were probed, in the window */
	uint64_t cost_ns;             /* of hits in the window */
	uint64_t slot_cpu_ns;         /* of the target, in the slot */
	uint64_t slot_cost_ns;
};

/* For core/signal.h. They log. */
int heap_windows__attach(struct bpf_object *object);
void heap_windows__detach(void);
/* The first call begins the first slot; the last call ends the last one. */
int heap_windows__refresh(bool is_last);

/* The slots that have ended since the last call; *ret is the caller's. */
size_t heap_windows__take(struct heap_slot **ret);
