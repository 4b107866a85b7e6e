/*
 * What hooks cost. The kernel can time programs, but that costs as much as a small hook, so it is
 * switched on for a while now and then, and the total is an estimate from those whiles: what a run
 * cost there, for as many runs as the threads that are recorded made in all, and for what others
 * made as if they did all the time as in those whiles.
 *
 * The kernel's figure has a look at the clock in it that is not there otherwise, and lacks the way
 * to the program and back, which for a small one costs more than itself. At syscalls the difference
 * is measured on this machine; elsewhere it is small.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loader.h"

#define TIMING_OBJECTS 32

/* What the threads that are recorded did so far: each brings hooks to run. */
struct timing_work {
	uint64_t calls, switches;
};

struct timing {
	const struct bpf_object *objects[TIMING_OBJECTS]; /* whose programs are timed */
	size_t object_count;
	int fd; /* while it is open, the kernel times programs; 0: closed */
	uint64_t since_ns;
	struct loader_runs then;
	struct timing_work work_then;
	uint64_t wall_ns; /* sums over all whiles */
	struct loader_runs runs;
	struct timing_work work;
	size_t call_programs; /* that run in every syscall */
	double extra_ns;      /* what a run costs beyond the kernel's figure, by syscalls */
	bool calibrated;
};

void timing__add(struct timing *timing, const struct bpf_object *object);
void timing__set(struct timing *timing, bool on, const struct timing_work *work);
/* The hooks' time in `wall_ns`, with this work in it; 0 if nothing was timed. */
uint64_t timing__ns(const struct timing *timing, uint64_t wall_ns, const struct timing_work *work);

/* What a small syscall takes the calling thread now, undisturbed. Some hundred microseconds long.
 */
double timing__call_ns(void);
/* Makes small syscalls, as timing__call_ns() does. */
void timing__make_calls(void);
#define TIMING_CALLS 64 /* so many */

/*
 * To be called while hooks are attached but no thread is wanted yet; `plain_ns` is what a small
 * syscall took before. 0: unknown.
 */
void timing__calibrate(struct timing *timing, double plain_ns);
