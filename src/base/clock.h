/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time as in the kernel half: CLOCK_MONOTONIC, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock__read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock__now_ns(void)
{
	return clock__read_ns(CLOCK_MONOTONIC);
}

/* Add this to a monotonic time to get the time of day. */
static inline uint64_t clock__wall_offset_ns(void)
{
	return clock__read_ns(CLOCK_REALTIME) - clock__now_ns();
}
