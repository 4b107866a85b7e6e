/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the agent within its budget by choosing how much it records. Three windows beyond the
 * budget in a row are one level down, ten minutes within it are one level up, at most to the
 * configured level. A window is ten seconds, or the time between two steps if that is longer. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum governor_level {
	GOVERNOR_SLOW = -1, /* as LEDGER, but accounts are read only once a minute */
	GOVERNOR_LEDGER,
	GOVERNOR_SIGNALS,
	GOVERNOR_STACKS,
	GOVERNOR_FULL,
};

struct governor_limits {
	uint64_t cpu_ppm; /* of one CPU, for agent and hooks together */
	uint64_t memory_bytes;
	int cpus;
	int most; /* the configured level */
};

/* What the agent has used since it started. */
struct governor_use {
	uint64_t now_ns;
	uint64_t cpu_ns, hook_ns;
	uint64_t switches;
	uint64_t memory_bytes; /* now */
};

enum governor_reason { GOVERNOR_UNCHANGED, GOVERNOR_CPU, GOVERNOR_MEMORY, GOVERNOR_ROOM };

struct governor {
	struct governor_limits limits;
	int level;
	struct governor_use last;
	unsigned bad;           /* windows in a row */
	uint64_t good_since_ns; /* 0: the last window was bad */
};

void governor__start(struct governor *governor, const struct governor_limits *limits,
		     const struct governor_use *now);
/*
 * After a new configuration. With the same budget and level, the state stays; false. Else it
 * starts again; true.
 */
bool governor__reconsider(struct governor *governor, const struct governor_limits *limits,
			  const struct governor_use *now);
/* A step is over; it ends a window if that has lasted long enough. Returns why the level has
 * changed. */
enum governor_reason governor__look(struct governor *governor, const struct governor_use *now);

/* "ledger" */
const char *governor__name(int level);
