/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes the period of the sampling clock at random. Ticks with a fixed period can run in lockstep
 * with a periodic program, and then hit the same part of it every time.
 */
#pragma once

#include <stdint.h>

#include "bpf/stack.h"

/* The next number of a pseudorandom sequence (splitmix64). Set *state to the seed first. */
uint64_t periods__random(uint64_t *state);

/* A random period between 0.5 and 1.5 times the mean. */
uint64_t periods__draw(uint64_t *state, uint64_t mean_ns);

/*
 * The next run of ticks of one clock: from now on with this period, planned to last run_ns. The
 * weights of the last run may not add up to its length. The difference is spread over the ticks of
 * this run, so that all weights add up to the elapsed time. *carry_ns accumulates the difference.
 */
struct tick_clock periods__next(const struct tick_clock *last, uint64_t now_ns, uint64_t period_ns,
				uint64_t run_ns, int64_t *carry_ns);

struct periods_options {
	const int *fds; /* a perf event for each CPU, or -1; open until periods__stop() */
	int count;
	int clocks_fd; /* the map with a struct tick_clock for each CPU */
	uint64_t mean_ns, seed;
};

/* Starts a thread that gives each clock a new period at random moments. 0 or -errno. */
struct periods;
int periods__start(const struct periods_options *options, struct periods **ret);
void periods__stop(struct periods *periods);
