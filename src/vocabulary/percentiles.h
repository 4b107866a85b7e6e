/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The percentiles that text, JSON, SQL, the page, findings and diff show. A percentile needs a
 * minimum number of values. With fewer, it would be the largest value, and it is not shown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The width of text from which on it shows all percentiles; narrower text shows p50 and p99. */
#define PERCENTILES_COLUMNS 120

/* clang-format off */

/* Name, key in JSON, SQL and conditions of diff, per mille, minimum number of values. */
#define PERCENTILES_ALL(row)                                                                       \
	row(P50, "p50", "p50", 500, 2)                                                             \
	row(P90, "p90", "p90", 900, 10)                                                            \
	row(P95, "p95", "p95", 950, 20)                                                            \
	row(P99, "p99", "p99", 990, 100)                                                           \
	row(P999, "p99.9", "p999", 999, 1000)

/* clang-format on */

#define PERCENTILE_ID(id, ...) id,
enum percentile { PERCENTILES_ALL(PERCENTILE_ID) PERCENTILES };

struct percentile_words {
	const char *name;
	const char *key;
	int per_mille;
	int64_t least;
};

/* A bucket of vocabulary/histogram.h and the number of values in it. */
struct bucket {
	int number;
	int64_t count;
};

const struct percentile_words *percentiles__words(enum percentile percentile);

/* The value that represents a bucket. */
int64_t percentiles__middle(int bucket);

/*
 * Finds all percentiles. Each is the middle of its bucket, so accurate to 6.3 %, and at most `max`,
 * the largest value seen (0: unknown). It is -1 if `total`, the number of values, is too small.
 * Buckets must be sorted; duplicates are allowed.
 */
void percentiles__find(const struct bucket *buckets, size_t count, int64_t total, int64_t max,
		       int64_t ret[PERCENTILES]);

/* Returns the highest percentile up to p99 that has a value, or P50 if none has. */
enum percentile percentiles__highest(const int64_t values[PERCENTILES]);
