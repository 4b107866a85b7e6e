/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the culprit of a wait did meanwhile, from samples.
 *
 * If a thread *ended* the wait, only what it did since its own last wait of the same kind counts;
 * before that, another thread was in its way, so the search goes on there. Without this rule, the
 * holder of a convoy's lock "was waiting for the lock". If a thread *owned* the lock when the wait
 * began, what it did from then until it queued for the lock itself counts. A culprit that waits in
 * turn leads on to its own culprit, over at most 8 hops.
 */
#pragma once

#include "findings/causes.h"

enum chain_doing {
	CHAIN_RAN,
	CHAIN_READY, /* ready without a CPU */
	CHAIN_WOKEN, /* it had just got the lock, and had no CPU yet */
	CHAIN_AT_HOME,
	CHAIN_WAITED,
};

/* One thing that culprits did. */
struct chain_part {
	enum chain_doing doing;
	const struct model_group *group;   /* who did it */
	const struct model_thread *thread; /* the one with the longest time */
	const struct model_state *state;   /* CHAIN_WAITED */
	const char *what;                  /* CHAIN_WAITED: by name; NULL */
	bool asleep;
	const char *peer;
	uint32_t function; /* in hot.functions; 0: unknown */
	int64_t object;
	/* The culprit waited meanwhile for an answer, from whoever did this; NULL: it did not. */
	const char *via_peer;
	const struct model_group *via_group;
	uint32_t via_function;
	const struct model_thread *by; /* CHAIN_WAITED: who ended one of the waits; NULL: unknown */
	double ns;
};

/* Less than this of the waits says nothing about the rest. */
#define CHAIN_LEAST_KNOWN 0.2

struct chain {
	struct chain_part *parts; /* the largest first */
	size_t count;
	double total_ns; /* of the waits that were looked at */
	double known_ns; /* the part of them that samples of culprits explain */
};

/* -ENOMEM. Release with chain__release() in any case. */
int chain__make(struct analysis *analysis, const struct cause *cause, struct chain *ret);
void chain__release(struct chain *chain);
