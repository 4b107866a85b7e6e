/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals of the agent: their hooks, and what they counted since the last step. Opening and
 * starting need privileges, reading does not. A signal that does not work is logged once and left
 * out (law 5). One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/signal_sums.h"
#include "core/signal.h"

struct counting;

/*
 * Attaches the hooks of all parts that could be loaded. `parts` and the object outlive *ret, which
 * may have no signal at all. -ENOMEM.
 */
int counting__open(struct part *parts, struct bpf_object *object, struct counting **ret);
void counting__free(struct counting *counting);
/* Starts or stops counting; the hooks stay attached. */
void counting__enable(struct counting *counting, bool on);

/*
 * Adds what was counted since the last call to `to`. -ENOMEM: the rest comes with the next step.
 * Other failures are logged once, counted, and leave the rest for the next step too.
 */
int counting__step(struct counting *counting, struct signal_sums *to);

/* How many signals work. */
size_t counting__count(const struct counting *counting);

/*
 * Sums over all signals since the start; counters.def describes them. Begins without an end are not
 * here: until the end comes, they are requests under way.
 */
struct counting_quality {
	uint64_t no_room, untracked, unnamed, not_in_histograms, stale;
};
struct counting_quality counting__quality(const struct counting *counting);
