/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What held a group up, merged over objects and threads: by the name of what it waited for, or else
 * by the code that waited.
 */
#pragma once

#include "findings/analysis.h"

struct cause {
	const struct model_group *group;
	const struct model_state *state; /* of most of its time; likewise `ground` */
	enum ground ground;
	enum verdict verdict; /* VERDICT_HELD or VERDICT_SLEPT */
	bool asleep;          /* by the call or by a function of the stack */
	bool in_loop;         /* called by an event loop, which cannot do anything else meanwhile */
	enum ledger_turn turn;
	const char *what; /* what was waited for, by name; NULL: not known by name */
	uint32_t caller;  /* function in hot.functions; 0: unknown */
	uint32_t library; /* the library function that it called; 0: unknown */
	const char *peer; /* the other end of the connection; NULL: none */
	int64_t ns;
	uint32_t *samples; /* indexes in model.samples */
	size_t sample_count;
	const struct model_thread *thread; /* the thread with the longest time */
	int64_t thread_ns;
	size_t threads;
};

/* What most of a cause's time has in common: the largest of `id`, which is 0 for "none". */
struct cause_share {
	int64_t id, ns;
};
typedef int64_t cause_id_fn(const struct analysis *analysis, const struct model_sample *sample);
struct cause_share causes__largest(const struct analysis *analysis, const struct cause *cause,
				   cause_id_fn *id);

uint64_t causes__hash(const char *text);

/* The group of the thread that ended or owned a wait, + 1; interrupts are nobody. */
cause_id_fn causes__culprit;

/* Makes analysis->causes. Waits for a lock whose holder waits for work become idle. -ENOMEM. */
int causes__find(struct analysis *analysis);
