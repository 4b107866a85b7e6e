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
 * If both sides are draws of the same thing, how probable is a difference of their means as large
 * as this one, to either side? 1 if that cannot be said because there are fewer than three values.
 */
double stats__differ(const struct stats *a, const struct stats *b);
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
