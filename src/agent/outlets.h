/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the agent's figures go: metrics, profiles, the store. What fails is logged once. */
#pragma once

#include "agent/chooser.h"
#include "agent/collector.h"
#include "agent/config.h"
#include "agent/losses.h"
#include "agent/minutes.h"
#include "agent/self.h"
#include "agent/signal_sums.h"
#include "identity/identity.h"
#include "store/fact.h"

struct outlets;
struct outlet_metrics;

/* What the agent knows besides the rows. */
struct outlets_view {
	struct identity *identity;
	const struct collector *collector;
	const struct minutes *minutes;
	const struct losses_row *losses; /* LOSSES_COUNT */
	struct self_cost cost;
	struct chooser_minute chosen;       /* the current minute */
	int level;                          /* enum governor_level, in force */
	const struct signal_sums *signals;  /* of the step, or of the minute */
	const struct fact_profile *profile; /* of the minute; NULL: no stacks were taken */
};

struct outlets_host {
	const char *name; /* "": that of the machine */
	uint64_t id;
	const struct ledger *ledger;
	const struct losses_row *losses; /* so far; LOSSES_COUNT, only during outlets__new() */
	/*
	 * What outlets__end() returned; NULL: nothing. Only during outlets__new(), which changes it
	 * only if it succeeds.
	 */
	struct outlet_metrics *before;
};

/* The workload with this id; the context is an identity. NULL: it is not known. */
const struct workload *outlets__workload(void *context, uint64_t id);

/* The configuration and the host's name must outlive the outlets. */
int outlets__new(const struct config *config, const struct outlets_host *host,
		 struct outlets **ret);
void outlets__free(struct outlets *outlets);
/* Frees them too, but returns what the metrics have counted; NULL: nothing. */
struct outlet_metrics *outlets__end(struct outlets *outlets);

/* -ENOMEM: the step, or the minute, is lost. Other failures are the outlets' own affair. */
int outlets__step(struct outlets *outlets, const struct outlets_view *view,
		  const struct bucket *step, uint64_t step_ns);
int outlets__minute(struct outlets *outlets, const struct outlets_view *view,
		    const struct bucket *minute);
/* A part of an earlier minute was not seen. It does not count in the current one. */
int outlets__unseen(struct outlets *outlets, const struct outlets_view *view,
		    const struct minutes_gap *gap);
