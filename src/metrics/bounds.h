/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of durations as Prometheus takes them, made from the buckets of
 * vocabulary/histogram.h.
 *
 * Classic: 13 bounds, the powers of four × 1.024 µs up to 17.2 s. Each is a bound of our own
 * buckets, so the counts are exact. (Prometheus counts a value that is equal to a bound below it,
 * our buckets count it above. With a clock of 1 ns that concerns one value for each bound.)
 *
 * Native: schema 3, which has 8 buckets for each power of two, like ours. But its bounds are powers
 * of two in seconds and ours are in nanoseconds, so a bucket of ours goes to the one with which its
 * middle agrees. No value is misplaced by more than BOUNDS_NATIVE_ERROR of its size. Values from
 * 2^38 ns (275 s) on are all counted in the bucket that begins there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vocabulary/histogram.h"

#define BOUNDS_CLASSIC      13
#define BOUNDS_SCHEMA       3
#define BOUNDS_NATIVE_ERROR 0.045
/* The lines of a classic histogram: buckets, "+Inf", _sum and _count. */
#define BOUNDS_SERIES (BOUNDS_CLASSIC + 3)

/* Observations since the start. */
struct bounds_histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t sum_ns;
};

uint64_t bounds__classic_ns(size_t bound);
/* How many values are below each bound; *ret_all: how many there are. */
void bounds__count(const struct bounds_histogram *histogram, uint64_t ret[BOUNDS_CLASSIC],
		   uint64_t *ret_all);

/* A run of neighbouring native buckets. */
struct bounds_span {
	int32_t gap; /* buckets between the last span and this one; of the first: its index */
	uint32_t length;
};

/* From 1 ns to 275 s there are 305 native buckets. */
#define BOUNDS_NATIVE_MOST 320

struct bounds_native {
	uint64_t zero_count; /* values of 0 ns */
	size_t spans, buckets;
	struct bounds_span span[BOUNDS_NATIVE_MOST];
	uint64_t count[BOUNDS_NATIVE_MOST]; /* not cumulative */
};

/* Between 0 and 1 ns: what counts as 0. */
#define BOUNDS_ZERO_SECONDS 0x1p-31

/* The index of the native bucket to which one of our buckets goes; not for bucket 0. */
int bounds__native_index(uint32_t bucket);
void bounds__native(const struct bounds_histogram *histogram, struct bounds_native *ret);
