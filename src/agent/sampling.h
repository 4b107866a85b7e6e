/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the minutes that have stacks: knows which services are here, has the store asked for
 * their budget every five minutes, and decides (budgeting.h). It logs. One thread, besides the one
 * that asks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "identity/identity.h"

struct sampling;

/* What was decided for a minute. */
struct sampling_minute {
	bool is_chosen;
	/* The chance that it was: divide weights of samples by it. 0: level stacks is not wanted.
	 */
	double probability;
};

/*
 * *ret is NULL if the configuration does not want stacks. The configuration must outlive it.
 * Without a store, the configured probability counts. The store is asked at a random time within
 * `first_ns` for the first time.
 */
#define SAMPLING_FIRST_NS UINT64_C(30000000000)
int sampling__new(const struct config *config, uint64_t host_id, uint64_t first_ns,
		  struct sampling **ret);
void sampling__free(struct sampling *sampling);

/*
 * The minute that begins at minute_s. Never waits. `sampling` may be NULL. If there is no memory,
 * the minute is not chosen.
 */
struct sampling_minute sampling__begin(struct sampling *sampling, const struct identity *identity,
				       uint64_t minute_s, uint64_t now_ns);
