/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff/stats.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FRACTION_STEPS 300
#define FRACTION_CLOSE 1e-14
#define FRACTION_TINY  1e-300

#define LEAST_SIMILAR 3
#define MOST_PRIOR    1e4

struct stats stats__of(const double *values, size_t count)
{
	struct stats stats = {};
	double squares = 0;

	/* Welford's method, which avoids the difference of two large sums. */
	for (size_t i = 0; i < count; i++) {
		double off = values[i] - stats.mean;

		if (isnan(values[i]))
			continue;
		stats.count++;
		stats.mean += off / (double)stats.count;
		squares += off * (values[i] - stats.mean);
	}
	if (stats.count > 1)
		stats.variance = squares / (double)(stats.count - 1);
	return stats;
}

static double away_from_zero(double value)
{
	return fabs(value) < FRACTION_TINY ? FRACTION_TINY : value;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;

	for (int i = 1; i <= FRACTION_STEPS; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		double step;

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		fraction *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		step = d * c;
		fraction *= step;
		if (fabs(step - 1) < FRACTION_CLOSE)
			break;
	}
	return fraction;
}

/* I_x(a, b) */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats__student(double t, double freedom)
{
	if (isinf(t))
		return 0;
	return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* The t statistic: the difference divided by its error. */
static double t_of(double difference, double error_squared)
{
	if (error_squared > 0)
		return difference / sqrt(error_squared);
	return difference > 0 ? INFINITY : difference < 0 ? -INFINITY : 0;
}

double stats__pooled(const struct stats *a, const struct stats *b)
{
	double of_a = (double)a->count, of_b = (double)b->count;

	return ((of_a - 1) * a->variance + (of_b - 1) * b->variance) / (of_a + of_b - 2);
}

/*
 * Student's test. If nothing changed, the noise did not change either, so both sides estimate it
 * together. The prior counts as that many additional degrees of freedom.
 */
double stats__differ(const struct stats *a, const struct stats *b, const struct stats_prior *prior)
{
	double of_a = (double)a->count, of_b = (double)b->count, freedom = of_a + of_b - 2;
	double all = freedom + prior->freedom, variance;

	if (!a->count || !b->count || freedom < 1)
		return 1;
	variance = (freedom * stats__pooled(a, b) + prior->freedom * prior->variance) / all;
	return stats__student(t_of(b->mean - a->mean, variance * (1 / of_a + 1 / of_b)), all);
}

/*
 * The first and second derivative of log Γ. A recurrence moves x to where the series is accurate.
 */
static double digamma(double x)
{
	double sum = 0;

	while (x < 8) {
		sum -= 1 / x;
		x += 1;
	}
	return sum + log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * pow(x, 4)) -
	       1 / (252 * pow(x, 6));
}

static double trigamma(double x)
{
	double sum = 0;

	while (x < 8) {
		sum += 1 / (x * x);
		x += 1;
	}
	return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * pow(x, 3)) - 1 / (30 * pow(x, 5)) +
	       1 / (42 * pow(x, 7));
}

/* Finds x where trigamma(x), a falling function, has this value. */
static double inverse_trigamma(double value)
{
	double low = 1e-3, high = MOST_PRIOR;

	for (int i = 0; i < 100; i++) {
		double middle = sqrt(low * high);

		if (trigamma(middle) > value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct stats_prior stats__prior(const double *variances, size_t count, double freedom)
{
	double mean = 0, spread = 0, off = digamma(freedom / 2) - log(freedom / 2);
	struct stats_prior prior = {};
	size_t used = 0;

	/*
	 * Welford's method again, over logarithms corrected for the bias of few degrees of freedom.
	 */
	for (size_t i = 0; i < count; i++) {
		double value = log(variances[i]) - off, distance = value - mean;

		if (!isfinite(value))
			continue;
		used++;
		mean += distance / (double)used;
		spread += distance * (value - mean);
	}
	if (used < LEAST_SIMILAR)
		return prior;
	/* The variation beyond that of equal variances estimated from few values. */
	spread = spread / (double)(used - 1) - trigamma(freedom / 2);
	prior.freedom = 2 * (spread > 0 ? inverse_trigamma(spread) : MOST_PRIOR);
	prior.variance = exp(mean + digamma(prior.freedom / 2) - log(prior.freedom / 2));
	/* The prior cannot have more degrees of freedom than all variances together. */
	prior.freedom = fmin(prior.freedom, freedom * (double)used);
	return prior;
}

double stats__above(const struct stats *a, const struct stats *b)
{
	double of_a, of_b, both, freedom, t, two_sided;

	if (a->count < 2 || b->count < 2)
		return 1;
	of_a = a->variance / (double)a->count;
	of_b = b->variance / (double)b->count;
	both = of_a + of_b;
	freedom = (double)(a->count + b->count - 2);
	/* Welch–Satterthwaite degrees of freedom. */
	if (both > 0)
		freedom = both * both /
			  (of_a * of_a / (double)(a->count - 1) +
			   of_b * of_b / (double)(b->count - 1));
	t = t_of(b->mean - a->mean, both);
	two_sided = stats__student(t, freedom);
	return t > 0 ? two_sided / 2 : 1 - two_sided / 2;
}

static int by_probability(const void *a, const void *b)
{
	double x = **(double *const *)a, y = **(double *const *)b;

	return (x > y) - (x < y);
}

int stats__holm(double *probabilities, size_t count)
{
	cleanup(free_p) double **order = calloc(count + 1, sizeof(*order));
	double least = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &probabilities[i];
	qsort(order, count, sizeof(*order), by_probability);
	for (size_t i = 0; i < count; i++) {
		double corrected = *order[i] * (double)(count - i);

		least = corrected > least ? corrected : least;
		*order[i] = least < 1 ? least : 1;
	}
	return 0;
}
