/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table `sample`, decoded in one place for report, page and exports. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct model;

struct sample {
	int64_t time_ns;                           /* of a tick, or the end of a wait */
	int64_t thread, state, by, first, object;  /* ids; 0: none */
	int64_t stack, waker_stack;                /* ids; 0: none */
	int64_t weight_ns, wait_ns;                /* the part inside the cut */
	int64_t whole_weight_ns, whole_wait_ns;    /* the whole sample; not negative */
	int64_t period_ns;                         /* not negative */
	int64_t count, flags;                      /* RECORDING_SAMPLE_… */
	const char *none, *end, *evidence, *ended; /* text or NULL; valid during the call */
	int64_t window;                            /* id; 0: none */
	int turn;                                  /* enum ledger_turn */
	bool in_request;
};

typedef int sample_take(void *context, const struct sample *sample);

/*
 * Calls `take` for each sample that overlaps the model's cut. Stops at its first error and returns
 * it. `in_time`: sorted by time, and with the evidence that older versions recorded only with the
 * sums. -EBADMSG: a negative weight or length.
 */
int sample__each(const struct model *model, sqlite3 *db, bool in_time, sample_take *take,
		 void *context);
