/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How values are compared, and the least noise that they have. */
#include <math.h>
#include <string.h>

#include "diff/diff.h"

/*
 * Noise is proportional to the value, so logarithms are compared: a slow minute makes everything
 * slower by a third, not by a second. A value below the grain counts as 0.
 */
#define GRAIN_OF_COUNT 0.5
#define GRAIN_OF_TIME  0.0001 /* share of the recording */

/*
 * Five values can be equal by luck. So no side is assumed to be less noisy than its measure: a
 * count is a whole number, a percentile is known to one bucket, a time to one thousandth, and a
 * sample is random.
 */
#define NOISE_OF_PERCENTILE 0.036 /* a bucket is at most 1/8 of a value wide; uniform: 1/8/√12 */
#define NOISE_OF_TIME       0.001

#define MOST_SIMILAR 200

static double grain(const struct diff *diff, const struct diff_change *change)
{
	const struct diff_run *run = &diff->runs[0];
	const struct metric *wall = metrics__find(&run->metrics, "time", "wall");

	if (!change->metric->is_sum)
		return 1;
	if (strcmp(change->metric->unit, "ns"))
		return GRAIN_OF_COUNT / run->work;
	return (wall ? wall->value : 1) * GRAIN_OF_TIME / run->work;
}

struct stats noise__logarithms(const struct diff *diff, const struct diff_change *change,
			       enum diff_side side, double factor, double offset)
{
	double values[DIFF_MOST], grain_of = grain(diff, change), noise = NOISE_OF_TIME;
	const double *begin = change->values + (side == DIFF_BASE ? 0 : diff->counts[DIFF_BASE]);
	double whole = fmax(change->sides[side].mean * factor + offset, 0) + grain_of;
	struct stats stats;

	for (size_t i = 0; i < diff->counts[side]; i++)
		values[i] =
			isnan(begin[i]) ? NAN : log(fmax(begin[i] * factor + offset, 0) + grain_of);
	stats = stats__of(values, diff->counts[side]);
	if (*change->metric->measure == 'p')
		noise = NOISE_OF_PERCENTILE;
	if (!strcmp(change->metric->measure, "count"))
		noise = grain_of / whole;
	stats.variance = fmax(stats.variance, noise * noise);
	stats.variance = fmax(stats.variance, change->sampling[side] / whole / whole);
	return stats;
}

static struct stats_prior prior_of(const struct diff *diff, const struct diff_change *change)
{
	double variances[MOST_SIMILAR];
	size_t count = 0;

	for (size_t i = 0; i < diff->change_count && count < MOST_SIMILAR; i++) {
		const struct diff_change *other = &diff->changes[i];
		struct stats base, new;

		if (!other->compared || other->metric->class != change->metric->class ||
		    strcmp(other->metric->measure, change->metric->measure))
			continue;
		base = noise__logarithms(diff, other, DIFF_BASE, 1, 0);
		new = noise__logarithms(diff, other, DIFF_NEW, 1, 0);
		/*
		 * Use only metrics that every recording has. Others have fewer degrees of freedom.
		 */
		if (base.count + new.count == diff->run_count)
			variances[count++] = stats__pooled(&base, &new);
	}
	return stats__prior(variances, count, (double)diff->run_count - 2);
}

double noise__chance(const struct diff *diff, const struct diff_change *change)
{
	struct stats base = noise__logarithms(diff, change, DIFF_BASE, 1, 0);
	struct stats new = noise__logarithms(diff, change, DIFF_NEW, 1, 0);
	struct stats_prior prior = prior_of(diff, change);

	return stats__differ(&base, &new, &prior);
}
