/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which minute (UTC) a moment belongs to. Time is measured by the monotonic clock; its distance to
 * the time of day is read when a minute begins, so that a step of that clock moves the next minute
 * and not the current one. Pure; the caller reads the clocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MINUTES_LENGTH_S 60

struct minutes {
	uint64_t offset_ns; /* add this to a monotonic time to get the time of day */
	uint64_t begin_s;   /* of the current minute, Unix time */
	uint64_t begin_ns;  /* when it really began, or when the agent started; monotonic */
	/*
	 * Changes whenever the clock was set by more than a second, so that a minute that comes
	 * twice is not taken for a repetition. Never the same for two starts of the agent.
	 */
	uint64_t epoch;
};

/* `offset_ns`: the time of day minus the monotonic time now_ns. */
/* `minutes` is zeroed, or was used before: then the epoch is a new one. */
void minutes__start(struct minutes *minutes, uint64_t now_ns, uint64_t offset_ns);
/* The monotonic time of the next multiple of interval_ns in the time of day. */
uint64_t minutes__next(const struct minutes *minutes, uint64_t now_ns, uint64_t interval_ns);
/* How much of its minute has passed at now_ns. */
uint64_t minutes__passed_ns(const struct minutes *minutes, uint64_t now_ns);
/* Whether the current minute is over. */
bool minutes__is_over(const struct minutes *minutes, uint64_t now_ns);
/* Begins the minute of now_ns. */
void minutes__begin(struct minutes *minutes, uint64_t now_ns, uint64_t offset_ns);

/* What is missing of a minute. */
struct minutes_gap {
	uint64_t begin_s; /* the minute */
	uint64_t ns;
};
/*
 * A gap from *from_ns to to_ns: takes off the part in its first minute. False: all of it is in the
 * minute of to_ns, and nothing changes.
 */
bool minutes__split_gap(const struct minutes *minutes, uint64_t *from_ns, uint64_t to_ns,
			struct minutes_gap *ret);
