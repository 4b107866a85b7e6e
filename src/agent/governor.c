/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/governor.h"

#define SECOND_NS UINT64_C(1000000000)
#define MOST_BAD  3
/* A little less than the 10 s between two steps, which come a little early or late. */
#define WINDOW_NS (10 * SECOND_NS - SECOND_NS / 2)
#define GOOD_NS   (600 * SECOND_NS)
/* Beyond this rate of context switches, the budget grows with the machine. */
#define MANY_SWITCHES   50000
#define MACHINE_CPU_PPM 2500

void governor__start(struct governor *governor, const struct governor_limits *limits,
		     const struct governor_use *now)
{
	*governor = (struct governor) {
		.limits = *limits, .level = limits->most, .last = *now, .good_since_ns = now->now_ns
	};
}

bool governor__reconsider(struct governor *governor, const struct governor_limits *limits,
			  const struct governor_use *now)
{
	const struct governor_limits *old = &governor->limits;

	if (limits->cpu_ppm == old->cpu_ppm && limits->memory_bytes == old->memory_bytes &&
	    limits->most == old->most) {
		governor->limits.cpus = limits->cpus;
		return false;
	}
	governor__start(governor, limits, now);
	return true;
}

static uint64_t budget_ns(const struct governor_limits *limits, uint64_t window_ns,
			  uint64_t switches)
{
	uint64_t ppm = limits->cpu_ppm, machine = MACHINE_CPU_PPM * (uint64_t)limits->cpus;

	if (switches > MANY_SWITCHES * (window_ns / SECOND_NS) && machine > ppm)
		ppm = machine;
	return (uint64_t)((double)window_ns * (double)ppm / 1e6);
}

static enum governor_reason judge(const struct governor *governor, const struct governor_use *now)
{
	const struct governor_use *last = &governor->last;
	uint64_t used_ns = now->cpu_ns - last->cpu_ns + now->hook_ns - last->hook_ns;

	if (now->memory_bytes > governor->limits.memory_bytes)
		return GOVERNOR_MEMORY;
	if (used_ns > budget_ns(&governor->limits, now->now_ns - last->now_ns,
				now->switches - last->switches))
		return GOVERNOR_CPU;
	return GOVERNOR_UNCHANGED;
}

enum governor_reason governor__look(struct governor *governor, const struct governor_use *now)
{
	enum governor_reason reason;

	if (now->now_ns - governor->last.now_ns < WINDOW_NS)
		return GOVERNOR_UNCHANGED;
	reason = judge(governor, now);
	governor->last = *now;
	if (reason != GOVERNOR_UNCHANGED) {
		governor->good_since_ns = 0;
		if (++governor->bad < MOST_BAD || governor->level <= GOVERNOR_SLOW)
			return GOVERNOR_UNCHANGED;
		governor->bad = 0;
		governor->level--;
		return reason;
	}
	governor->bad = 0;
	if (!governor->good_since_ns)
		governor->good_since_ns = now->now_ns;
	if (governor->level >= governor->limits.most ||
	    now->now_ns - governor->good_since_ns < GOOD_NS)
		return GOVERNOR_UNCHANGED;
	governor->good_since_ns = now->now_ns;
	governor->level++;
	return GOVERNOR_ROOM;
}

const char *governor__name(int level)
{
	switch (level) {
	case GOVERNOR_SLOW:
		return "slow";
	case GOVERNOR_LEDGER:
		return "ledger";
	case GOVERNOR_SIGNALS:
		return "signals";
	case GOVERNOR_STACKS:
		return "stacks";
	default:
		return "full";
	}
}
