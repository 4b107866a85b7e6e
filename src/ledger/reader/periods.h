/*
 * The clock's period, changed at random: ticks of a fixed period fall into step with a program that
 * has a period of its own, and then hit the same part of it every time.
 */
#pragma once

#include <stdint.h>

#include "bpf/stack.h"

/* The next number of a sequence that its first state decides (splitmix64). */
uint64_t periods__random(uint64_t *state);

/* Between half of the mean and one and a half. */
uint64_t periods__draw(uint64_t *state, uint64_t mean_ns);

/*
 * One clock's next run of ticks: from now on with this period, planned to last run_ns. What the
 * weights of its last run lacked of that run's length, or had too much, is spread over the ticks of
 * this one, so that all weights add up to all time. *carry_ns keeps what is due.
 */
struct tick_clock periods__next(const struct tick_clock *last, uint64_t now_ns, uint64_t period_ns,
				uint64_t run_ns, int64_t *carry_ns);

struct periods_options {
	const int *fds; /* an event for each CPU, or -1; open until periods__stop() */
	int count;
	int clocks_fd; /* the map that has a struct tick_clock for each CPU */
	uint64_t mean_ns, seed;
};

/* Starts a thread that gives each clock a new period at random moments. 0 or -errno. */
struct periods;
int periods__start(const struct periods_options *options, struct periods **ret);
void periods__stop(struct periods *periods);
