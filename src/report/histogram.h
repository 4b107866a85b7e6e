/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a histogram as text, one row for each power of two, as tracing tools traditionally do. The
 * buckets are those of vocabulary/histogram.h; eight buckets make a row.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/words.h"
#include "vocabulary/percentiles.h"

struct histogram {
	const char *label;            /* what is measured: "service" */
	const char *unit;             /* "ns", "bytes", or the name of what is counted */
	const struct bucket *buckets; /* sorted by number; duplicates are allowed */
	size_t size;                  /* number of buckets[] */
	int64_t max;                  /* the largest value seen; 0: unknown */
};

/* The number of values. */
int64_t histogram__total(const struct histogram *histogram);

/*
 * Prints rows with bars in `width` columns, then the percentiles and the number of values. Prints
 * nothing if there are no values.
 */
void histogram__print(FILE *out, const struct histogram *histogram, int width);

/* A value with its unit: "12.4 µs", "4.10 kB", "12 segments". */
struct words histogram__value(int64_t value, const char *unit);
