/*
 * What hooks cost. The kernel can time programs, but that costs as much as a small hook, so it is
 * switched on for a while now and then, and the total is an estimate from those whiles.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMING_OBJECTS 32

struct timing {
	const struct bpf_object *objects[TIMING_OBJECTS]; /* whose programs are timed */
	size_t object_count;
	int fd; /* while it is open, the kernel times programs; 0: closed */
	uint64_t since_ns, run_ns_then;
	uint64_t wall_ns, run_ns; /* sums over all whiles */
};

void timing__add(struct timing *timing, const struct bpf_object *object);
void timing__set(struct timing *timing, bool on);
/* The hooks' time in `wall_ns`; 0 if nothing was timed. */
uint64_t timing__ns(const struct timing *timing, uint64_t wall_ns);
