/*
 * Two sets of recordings held against each other: what grew, what shrank, and whether that is more
 * than noise. Only repeated recordings know their noise, so with fewer than DIFF_ENOUGH on a side
 * nothing is claimed.
 */
#pragma once

#include <stdio.h>

#include "diff/gate.h"
#include "diff/metric.h"
#include "diff/stats.h"

#define DIFF_ENOUGH 5
#define DIFF_MOST   1000 /* recordings of a side */
/* Wrong in one comparison of a hundred times that nothing changed, however many things it has. */
#define DIFF_ALPHA 0.01
/* Smaller changes are not worth words, even if they are certain. */
#define DIFF_LEAST 0.01

enum diff_side { DIFF_BASE, DIFF_NEW, DIFF_SIDES };

/* What has to be alike for a comparison to mean something. */
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
	/* What older recordings do not say; then it is DIFF_UNKNOWN and like anything. */
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
	double work; /* what its sums are divided by */
	int64_t start_unix_ns;
	bool whole; /* of a command, from its start to its end */
	char *facts[DIFF_FACTS];
	char *losses; /* "lost_ring_full 12, never_closed 1"; NULL: none */
};

struct diff_change {
	const struct metric *metric; /* of the recording that has most of it */
	struct stats sides[DIFF_SIDES];
	double sampling[DIFF_SIDES]; /* variance that samples alone bring in; 0: it is exact */
	double *values;              /* of each run, normalised; NaN: it has none */
	bool compared;
	double probability; /* corrected; NaN: not known */
};

struct diff {
	struct diff_run *runs; /* the base's, then the new ones */
	size_t run_count;
	size_t counts[DIFF_SIDES];
	char *per; /* "run", "second", "syscall:fsync" */
	bool enough;

	struct diff_change *changes; /* by class, then the largest difference first */
	size_t change_count;
	size_t compared, certain; /* certain: also large enough to be told */
	size_t too_small;         /* certain, but below DIFF_LEAST */

	char **warnings;
	size_t warning_count;
	struct gate *gates;
	size_t gate_count, crossed;
};

struct diff_options {
	const char *const *paths[DIFF_SIDES]; /* they, and the gates, outlive the diff */
	size_t counts[DIFF_SIDES];
	const char *per;          /* NULL: run if all are whole runs of a command, else second */
	const char *const *gates; /* up to a NULL; or NULL */
};

/* What was wrong is in *ret_why, for "'PATH': WHY" or by itself; the caller frees it. */
int diff__make(const struct diff_options *options, struct diff *ret, char **ret_why);
void diff__release(struct diff *diff);

/* Is it more than noise, and enough to be told? */
bool diff__is_certain(const struct diff *diff, const struct diff_change *change);
/* The difference as a part of the base's; infinite where that has nothing. */
double diff__ratio(const struct diff_change *change);
/* Without sign: what rows are ordered by. */
double diff__size(const struct diff_change *change);
/* Of few recordings, all that can be said: is it more than the luck of sampling? */
bool diff__is_beyond_sampling(const struct diff_change *change);

/*
 * Between the files of this folder. A side's values × factor + offset, as logarithms, with no less
 * noise than the measure has.
 */
struct stats noise__logarithms(const struct diff *diff, const struct diff_change *change,
			       enum diff_side side, double factor, double offset);
/* That both sides are alike; the noise of the same measure of other things is a guide to its own.
 */
double noise__chance(const struct diff *diff, const struct diff_change *change);
/* What does not fit together, as warnings; -ENOMEM. */
int facts__read(struct diff_run *run, const struct model *model);
int facts__warn(struct diff *diff);
__attribute__((format(printf, 2, 3))) int diff__warn(struct diff *diff, const char *format, ...);

/* Both return 0 or -EIO. */
int diff__print_text(const struct diff *diff, size_t top, FILE *out);
int diff__print_json(const struct diff *diff, FILE *out);
/* What the latter prints; the caller owns it. NULL when out of memory. */
json_t *diff__json(const struct diff *diff);
