/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two sets of recordings: what grew, what shrank, and whether that is more than noise. The
 * noise is known only from repeated recordings, so with fewer than DIFF_ENOUGH on a side nothing is
 * claimed.
 */
#pragma once

#include <stdio.h>

#include "diff/gate.h"
#include "diff/metric.h"
#include "diff/stats.h"

#define DIFF_ENOUGH 5
#define DIFF_MOST   1000 /* recordings on one side */
/*
 * The probability that a comparison claims any change when nothing changed: one in a hundred,
 * however many metrics it has.
 */
#define DIFF_ALPHA 0.01
/* Smaller changes are not reported, even if they are certain. */
#define DIFF_LEAST 0.01
/* "window:GET /orders": the requests or calls whose service or name has "GET /orders". */
#define DIFF_WINDOW "window:"

enum diff_side { DIFF_BASE, DIFF_NEW, DIFF_SIDES };

/* What must be equal for a comparison to mean something. */
enum diff_fact {
	DIFF_TARGET,
	DIFF_LEVEL,
	DIFF_KERNEL,
	DIFF_CPUS,
	DIFF_RATE,
	DIFF_SIGNALS,
	DIFF_HOOKS,
	DIFF_WARMUP,
	DIFF_VERSION,
	/*
	 * Older recordings do not have these. Then the value is DIFF_UNKNOWN and equals anything.
	 */
	DIFF_COMMIT,
	DIFF_CPU_MODEL,
	DIFF_GOVERNOR,
	DIFF_NOTES,
	DIFF_FACTS
};

#define DIFF_UNKNOWN "unknown"

struct diff_run {
	const char *path;
	enum diff_side side;
	struct metrics metrics;
	double work; /* its sums are divided by this */
	int64_t start_unix_ns;
	bool whole;             /* a command was recorded from start to end */
	struct scope scope;     /* the part of the recording that is compared */
	int64_t from_ns, to_ns; /* of that part, since the start of the recording */
	char *facts[DIFF_FACTS];
	char *losses; /* "lost_ring_full 12, never_closed 1"; NULL: none */
};

struct diff_change {
	const struct metric *metric; /* from the recording that has the largest value */
	struct stats sides[DIFF_SIDES];
	double sampling[DIFF_SIDES]; /* variance caused by sampling alone; 0: exact */
	double *values;              /* of each run, normalised; NaN: none */
	bool compared;
	double probability; /* after Holm's correction; NaN: unknown */
};

struct diff {
	struct diff_run *runs; /* those of the base, then the new ones */
	size_t run_count;
	size_t counts[DIFF_SIDES];
	char *per;      /* "run", "second", "syscall:fsync" */
	bool stretches; /* both sides are parts of one recording */
	bool enough;
	/* What stands behind DIFF_WINDOW in --per and in conditions, up to NULL. */
	char **windows;
	size_t window_count;
	const char *window; /* that of --per; NULL: it is about something else */

	struct diff_change *changes; /* by class, then by size, the largest difference first */
	size_t change_count;
	size_t compared, certain; /* certain: more than noise and large enough to report */
	size_t too_small;         /* more than noise, but below DIFF_LEAST */

	char **warnings;
	size_t warning_count;
	struct gate *gates;
	size_t gate_count, crossed;
};

struct diff_options {
	const char *const *paths[DIFF_SIDES]; /* paths and gates must outlive the diff */
	size_t counts[DIFF_SIDES];
	const char *per; /* NULL: "run" if all are whole runs of a command, else "second" */
	const char *const *gates; /* NULL-terminated; or NULL */
	/* Both sides have the same path, and these parts of it, which must not overlap. */
	bool stretches;
	struct scope scopes[DIFF_SIDES];
};

/* On failure, *ret_why says what was wrong, for "'PATH': WHY" or by itself. The caller frees it. */
int diff__make(const struct diff_options *options, struct diff *ret, char **ret_why);
void diff__release(struct diff *diff);

/* Whether a change is more than noise and large enough to report. */
bool diff__is_certain(const struct diff *diff, const struct diff_change *change);
/* The difference as a share of the base's mean; infinite if that is 0. */
double diff__ratio(const struct diff_change *change);
/* The absolute value by which rows are sorted. */
double diff__size(const struct diff_change *change);
/* The standard error of the difference that sampling alone makes; 0: none. */
double diff__error(const struct diff_change *change);
/*
 * Whether a change is larger than sampling error explains. With few recordings, nothing more can be
 * said.
 */
bool diff__is_beyond_sampling(const struct diff_change *change);

/* "request", "call": one of what --per names by DIFF_WINDOW. */
const char *diff__window_words(const struct diff *diff);

/*
 * Shared by the files of this folder. What stands behind DIFF_WINDOW in the options: diff->windows,
 * diff->window. -ENOMEM
 */
int asked__find(struct diff *diff, const struct diff_options *options);
/* Warns if a text is about requests in one recording and about calls in another. -ENOMEM */
int asked__warn(struct diff *diff);
/* Statistics of log(value × factor + offset) over the values of
 * a side. The variance is at least the noise of the measure.
 */
struct stats noise__logarithms(const struct diff *diff, const struct diff_change *change,
			       enum diff_side side, double factor, double offset);
/*
 * The probability that both sides are equal. The noise of the same measure of other things serves
 * as a prior.
 */
double noise__chance(const struct diff *diff, const struct diff_change *change);
/* Read what must be equal, and warn about differences; -ENOMEM. */
int facts__read(struct diff_run *run, const struct model *model);
int facts__warn(struct diff *diff);
__attribute__((format(printf, 2, 3))) int diff__warn(struct diff *diff, const char *format, ...);

/* Both return 0 or -EIO. */
int diff__print_text(const struct diff *diff, size_t top, FILE *out);
int diff__print_json(const struct diff *diff, FILE *out);
/* The JSON that diff__print_json() prints. The caller owns it. NULL when out of memory. */
json_t *diff__json(const struct diff *diff);
