/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: a time of day that steps, in the programs of a test only. The environment
 * variable TEST_CLOCK is "ZERO BASE STEP EVERY", in nanoseconds. BASE is added to the time of day,
 * and STEP every EVERY since ZERO, which is a time of CLOCK_MONOTONIC. Other clocks stay as they
 * are.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)

typedef int clock_fn(clockid_t clock, struct timespec *ret);

static int64_t ns_of(const struct timespec *time)
{
	return time->tv_sec * SECOND_NS + time->tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	/* POSIX defines this conversion, ISO C does not. */
	union {
		void *object;
		clock_fn *function;
	} real = { dlsym(RTLD_NEXT, "clock_gettime") };
	const char *text = getenv("TEST_CLOCK");
	long long zero_ns, base_ns, step_ns, every_ns;
	struct timespec now;
	int64_t day_ns;

	if (clock != CLOCK_REALTIME || !text ||
	    sscanf(text, "%lld %lld %lld %lld", &zero_ns, &base_ns, &step_ns, &every_ns) != 4)
		return real.function(clock, ret);
	real.function(CLOCK_MONOTONIC, &now);
	if (real.function(clock, ret))
		return -1;
	day_ns = ns_of(ret) + base_ns + (ns_of(&now) - zero_ns) / every_ns * step_ns;
	ret->tv_sec = day_ns / SECOND_NS;
	ret->tv_nsec = day_ns % SECOND_NS;
	return 0;
}
