/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests whether the difference of two means is more than noise, with Holm's correction for multiple
 * tests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Statistics of the values of one metric. */
struct stats {
	size_t count;
	double mean;
	double variance; /* of the values, unbiased; 0 with fewer than two */
};

/* NaN marks a missing value, which is left out. */
struct stats stats__of(const double *values, size_t count);

/*
 * A prior for a variance: the variances of similar things. Five values say little about their own
 * variance, and luck with it causes most wrong claims. But fifty functions together show well how
 * noisy a function is.
 */
struct stats_prior {
	double variance;
	double freedom; /* degrees of freedom that it counts for; 0: no prior */
};

/*
 * Estimates a prior from the variances of similar things, each with `freedom` degrees of freedom:
 * an inverse chi² distribution with their mean and spread (Smyth 2004). If they differ much, the
 * prior counts for little.
 */
struct stats_prior stats__prior(const double *variances, size_t count, double freedom);

/* The pooled variance of both sides, assuming equal noise. */
double stats__pooled(const struct stats *a, const struct stats *b);

/*
 * The two-sided probability of a difference of means at least this large if both sides have the
 * same distribution. Returns 1 if there are fewer than three values, which is too few to say.
 */
double stats__differ(const struct stats *a, const struct stats *b, const struct stats_prior *prior);
/*
 * The probability that b's mean is this far above a's if it is not above it in truth. The sides
 * need not be equally noisy (Welch's test). `a` may be a bound without noise.
 */
double stats__above(const struct stats *a, const struct stats *b);

/* P(|T| ≥ |t|) of Student's distribution. */
double stats__student(double t, double freedom);

/*
 * Corrects probabilities, in place, for `count` tests at once. Whoever claims those below alpha
 * makes any wrong claim with a probability of at most alpha.
 */
int stats__holm(double *probabilities, size_t count);
