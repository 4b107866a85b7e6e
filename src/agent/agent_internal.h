/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to agent.c, which runs, and agent_open.c, which opens and closes. */
#pragma once

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/chooser.h"
#include "agent/collector.h"
#include "agent/counting.h"
#include "agent/governor.h"
#include "agent/losses.h"
#include "agent/minutes.h"
#include "agent/outlets.h"
#include "agent/sampler.h"
#include "agent/self.h"
#include "identity/identity.h"
#include "identity/kubelet.h"

struct agent {
	const struct config *config;
	char host[KUBELET_URL_BYTES]; /* "": that of the machine */
	struct service_rules *rules;
	struct identity *identity;
	struct collector *collector;
	struct bucket *minute;
	struct part parts[SIGNAL_COUNT + 1];
	struct counting *counting;
	struct signal_sums *signal_step, *signal_minute;
	struct sampler *sampler; /* NULL: no stacks */
	struct outlets *outlets;
	struct outlet_metrics *before; /* of an earlier configuration; NULL: none */
	struct chooser *chooser;       /* NULL: no stacks */
	struct chooser_minute chosen;  /* the current minute */
	struct minutes minutes;
	struct self self;
	struct self_cost cost;
	struct governor governor;
	struct losses_own own;
	/*
	 * Until when all time was handed over or is known to be unseen, for the next worker; 0:
	 * there was none before. The supervisor maps it, and never reads it.
	 */
	_Atomic uint64_t *covered_ns;
	bool is_full; /* syscalls have hooks */
	bool has_run;
	int failures;        /* since the last step that did not fail */
	uint64_t stepped_ns; /* the last step */
	uint64_t whole_ns;   /* the last step with all threads */
};

/* The highest level that is configured and whose hooks could be attached at the start. */
int agent__most_level(const struct agent *agent);
