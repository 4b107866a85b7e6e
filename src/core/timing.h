/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of hooks. The kernel can time programs, but timing costs as much as a small hook. So it
 * is enabled only for short intervals, and the total is an estimate from these intervals: the cost
 * per run there, multiplied by all runs that the recorded threads caused. Runs that other threads
 * caused are extrapolated from the intervals to the whole time. A run for a thread that is not
 * recorded costs little, and how much is measured at the start; the rest of the time is that of the
 * recorded threads. Hooks that belong to no thread, such as those of packets, are divided by
 * running time.
 *
 * The kernel's figure includes reading the clock, which does not happen without timing. It lacks
 * the call of the program and the return, which cost more than a small program itself. For syscall
 * hooks the difference is measured on this machine; for others it is small.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loader.h"

#define TIMING_OBJECTS 32

/* What the recorded threads did so far; each syscall and switch runs hooks. */
struct timing_work {
	uint64_t calls, switches;
	uint64_t run_ns;
	/* Part of it, by threads that are not the target's. */
	uint64_t outside_calls, outside_switches, outside_run_ns;
};

struct timing_cost {
	double ns;        /* of all hooks, on all CPUs */
	double target_ns; /* part of it, in the time of the target */
	double call_ns;   /* part of target_ns, of hooks at syscalls */
};

/* What was timed. */
struct timing_look {
	uint64_t wall_ns;
	struct loader_runs runs;
	struct timing_work work;
};

struct timing {
	const struct bpf_object *objects[TIMING_OBJECTS]; /* their programs are timed */
	size_t object_count;
	int fd; /* while it is open, the kernel times programs; 0: closed */
	uint64_t since_ns;
	struct loader_runs then;
	struct timing_work work_then;
	struct timing_look all, last; /* the sums over all timed intervals; the last interval */
	struct timing_look recent;    /* as `all`, but each interval counts half of the next one */
	size_t call_programs;         /* programs that run in every syscall */
	double extra_ns;   /* cost of a run beyond the kernel's figure, measured with syscalls */
	double passing_ns; /* cost of a run for a thread that is not recorded, at syscalls */
	double passing_switch_ns; /* at switches */
	bool calibrated;
};

void timing__add(struct timing *timing, const struct bpf_object *object);
void timing__set(struct timing *timing, bool on, const struct timing_work *work);
/*
 * Estimates the hooks' time within `wall_ns` and for this work, by timing->all or timing->last; 0
 * if nothing was timed. `busy_ns` is the time in which CPUs were not idle.
 */
struct timing_cost timing__cost(const struct timing *timing, const struct timing_look *by,
				uint64_t wall_ns, uint64_t busy_ns, const struct timing_work *work);

/*
 * The duration of a small syscall of the calling thread, undisturbed. Takes some hundred
 * microseconds.
 */
double timing__call_ns(void);
/* Makes TIMING_CALLS small syscalls, as timing__call_ns() does. */
void timing__make_calls(void);
#define TIMING_CALLS 64

/*
 * Call this while hooks are attached but no thread is recorded yet. `plain_ns` is what a small
 * syscall took before the hooks were attached; 0: unknown.
 */
void timing__calibrate(struct timing *timing, double plain_ns);
