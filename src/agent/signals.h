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

struct signals;

/*
 * Attaches the hooks of all parts that could be loaded. `parts` and the object outlive *ret, which
 * may have no signal at all. -ENOMEM.
 */
int signals__open(struct part *parts, struct bpf_object *object, struct signals **ret);
void signals__free(struct signals *signals);
/* Starts or stops counting; the hooks stay attached. */
void signals__enable(struct signals *signals, bool on);

/*
 * Adds what was counted since the last call to `to`. -ENOMEM: the rest comes with the next step.
 * Other failures are logged once, counted, and leave the rest for the next step too.
 */
int signals__step(struct signals *signals, struct signal_sums *to);

/* How many signals work. */
size_t signals__count(const struct signals *signals);

/*
 * Sums over all signals since the start; counters.def describes them. Begins without an end are not
 * here: until the end comes, they are requests under way.
 */
struct signals_quality {
	uint64_t no_room, untracked, unnamed, not_in_histograms, stale;
};
struct signals_quality signals__quality(const struct signals *signals);
