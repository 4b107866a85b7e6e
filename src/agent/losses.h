/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent lost, repaired or does not know (law 3), under the names of counters.def. */
#pragma once

#include "agent/collector.h"
#include "agent/counting.h"
#include "agent/sampler.h"
#include "identity/identity.h"
#include "vocabulary/counters.h"

/* Counters of which the agent has a value. */
#define LOSSES_COUNT 41

struct losses_row {
	const char *name;
	uint64_t value; /* since the start */
	bool is_shown;  /* to Prometheus, which has no room for all: numbers, names or details are
			 * missing */
};

/* The agent's own counters. */
struct losses_own {
	uint64_t unseen_ns, steps_failed, minutes_open, rows_folded, level_changes;
	struct sampler_quality samples;
};

/* All counters, in a fixed order. */
void losses__read(const struct collector *collector, const struct counting *counting,
		  struct identity *identity, const struct losses_own *own,
		  struct losses_row ret[LOSSES_COUNT]);
