/*
 * Prints a histogram as text, one row for each power of two, as tracing tools traditionally do. The
 * buckets are those of vocabulary/histogram.h; eight buckets make a row.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/words.h"

struct histogram_count {
	int bucket;
	int64_t count;
};

struct histogram {
	const char *label;                    /* what is measured: "service" */
	const char *unit;                     /* "ns", "bytes", or the name of what is counted */
	const struct histogram_count *counts; /* sorted by bucket; duplicates are allowed */
	size_t size;                          /* number of counts[] */
	int64_t max;                          /* the largest value seen; 0: unknown */
};

/* The number of values. */
int64_t histogram__total(const struct histogram *histogram);
/*
 * The q-th percentile: the middle of its bucket, so accurate to 6.3 %, and at most the largest
 * value seen. 0 if there are no values.
 */
int64_t histogram__percentile(const struct histogram *histogram, int q);

/*
 * Prints rows with bars in `width` columns, then the percentiles and the number of values. Prints
 * nothing if there are no values.
 */
void histogram__print(FILE *out, const struct histogram *histogram, int width);

/* A value with its unit: "12.4 µs", "4.10 kB", "12 segments". */
struct words histogram__value(int64_t value, const char *unit);
