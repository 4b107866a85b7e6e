/* Rows of the table `sample`, decoded in one place for report, page and exports. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct model;

struct sample {
	int64_t time_ns;                          /* a tick: when; a wait: its end */
	int64_t thread, state, by, first, object; /* ids; 0: none */
	int64_t stack, waker_stack;               /* ids; 0: none */
	int64_t weight_ns, wait_ns;               /* as far as they lie inside the cut … */
	int64_t whole_weight_ns, whole_wait_ns;   /* … and in all; not negative */
	int64_t period_ns;                        /* not negative */
	int64_t count, flags;                     /* RECORDING_SAMPLE_… */
	const char *none, *end, *evidence;        /* words or NULL; valid during the call */
};

typedef int sample_take(void *context, const struct sample *sample);

/*
 * Calls `take` for each sample that touches the model's cut; its first error ends it. `in_time`:
 * in order of time, and with the evidence that an older gapless has with the sums only. -EBADMSG:
 * a negative weight or length.
 */
int sample__each(const struct model *model, sqlite3 *db, bool in_time, sample_take *take,
		 void *context);
