/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The standard error of a total of samples, with both of its parts: only some minutes of some hosts
 * were chosen, and in these only some events were drawn.
 *
 * A host is chosen for a minute with a known probability, independently of others, and for a burst
 * for all of its minutes at once. So what is chosen is a cluster c: a minute of a host, or several
 * that follow each other. With
 *
 *   p   the probability of c
 *   t   the sum of its samples; their weights are divided by p already
 *   s   the sum of the squares of these weights
 *
 * the total T = Σ t has the variance
 *
 *   V(T) = Σ (1 - p) t² + Σ p s
 *
 * The first sum is that of Horvitz and Thompson for clusters that are chosen independently. The
 * second one is what drawing adds in two stages: s is the variance of t by drawing, and p of it is
 * not in the first sum.
 *
 * The store does not have which minutes belonged to a burst. So all minutes of a host that follow
 * each other, with the same probability, are one cluster, up to the length of a burst. Single
 * minutes follow each other rarely unless the probability is large; then the error comes out too
 * large, by a factor of √5 at most. If the store does not have the probability, it counts as 0,
 * which cannot make the error too small either.
 */
#pragma once

#include "fleet/period.h"

/* A minute of a host with samples. */
struct flame_minute {
	uint64_t host, begin_s;
	uint64_t ns;        /* t */
	double square;      /* s */
	double probability; /* p */
};

struct flame_error {
	uint64_t minutes, ns; /* that were added */
	double variance;      /* of the clusters that are complete */
	bool is_cut;          /* there are more minutes than are read */
	/* The last cluster. */
	struct flame_minute last;
	double t, s;
	unsigned int length; /* in minutes */
};

/* Minutes come by host and time. */
void flame_error__add(struct flame_error *error, const struct flame_minute *minute);
/* The standard error of the sum of all minutes, in ns. */
double flame_error__of(const struct flame_error *error);

/* Adds all minutes of the period that the store has: they are kept for three days. */
int flame_error__load(struct connection *connection, const struct period *period,
		      struct flame_error *ret);
