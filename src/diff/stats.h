/* Is a difference of two means more than noise? And Holm's correction for having asked often. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Some values of one thing. */
struct stats {
	size_t count;
	double mean;
	double variance; /* of the values, unbiased; 0 if there are fewer than two */
};

/* NaN stands for a value that is not there; it is left out. */
struct stats stats__of(const double *values, size_t count);

/*
 * What is known of a variance before it is measured: what those of similar things are. Five values
 * tell little of their own variance, and luck with it makes most wrong claims; but fifty functions
 * together tell well how noisy a function is.
 */
struct stats_prior {
	double variance;
	double freedom; /* how many degrees of freedom that is worth; 0: nothing is known */
};

/*
 * From the variances of similar things, each known with so many degrees of freedom: an inverse chi²
 * distribution with their mean and spread (Smyth 2004). Where they differ much it is worth little.
 */
struct stats_prior stats__prior(const double *variances, size_t count, double freedom);

/* That of both sides, if they are equally noisy. */
double stats__pooled(const struct stats *a, const struct stats *b);

/*
 * If both sides are draws of the same thing, how probable is a difference of their means as large
 * as this one, to either side? 1 if that cannot be said because there are fewer than three values.
 */
double stats__differ(const struct stats *a, const struct stats *b, const struct stats_prior *prior);
/*
 * How probable is it that b's mean is as far above a's, if it is not above it in truth? The sides
 * need not be equally noisy (Welch's test); a may be a bound, without any noise.
 */
double stats__above(const struct stats *a, const struct stats *b);

/* P(|T| ≥ |t|) of Student's distribution. */
double stats__student(double t, double freedom);

/*
 * Probabilities as they are when `count` such questions were asked at once: whoever claims those
 * below alpha is wrong in any of them with a probability of at most alpha. In place.
 */
int stats__holm(double *probabilities, size_t count);
