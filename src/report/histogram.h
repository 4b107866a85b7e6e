/*
 * A histogram as text: a row for each power of two, as tools on this ground have always drawn them.
 * Buckets are those of bpf/histogram.h; eight of them make a row.
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
	const char *unit;                     /* "ns", "bytes", or what is counted */
	const struct histogram_count *counts; /* by rising bucket; a bucket may come twice */
	size_t size;                          /* of counts[] */
	int64_t max;                          /* the largest value seen; 0: not known */
};

/* How many values there are. */
int64_t histogram__total(const struct histogram *histogram);
/*
 * The value that q percent of all reach at most: the middle of its bucket, so known to 6.3 %, and
 * not above the largest value seen. 0 if there are none.
 */
int64_t histogram__percentile(const struct histogram *histogram, int q);

/* Rows with bars in `width` columns, then the percentiles with their count. Nothing if it is empty.
 */
void histogram__print(FILE *out, const struct histogram *histogram, int width);

/* A value with its unit: "12.4 µs", "4.10 kB", "12 segments". */
struct words histogram__value(int64_t value, const char *unit);
