/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear buckets: 8 per power of two, so a bucket is at most 12.5 % wide, and its middle is
 * within 6.3 % of a value in it. The kernel half, recordings and reports use the same buckets, so
 * that histograms can be added.
 *
 * Each value below 8 has its own bucket. The last bucket holds everything from 2^38 ns (4.6
 * minutes) on.
 */
#pragma once

#include <linux/types.h>

#define HISTOGRAM_SUB_BITS 3
#define HISTOGRAM_SUB      (1 << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_TOP_BIT  38
#define HISTOGRAM_BUCKETS  ((HISTOGRAM_TOP_BIT - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB + 1)

/* BPF has no instruction for this, so use six comparisons. `value` must not be 0. */
static inline __attribute__((always_inline)) __u32 histogram_log2(__u64 value)
{
	__u32 bit = 0;

	if (value >> 32) {
		value >>= 32;
		bit += 32;
	}
	if (value >> 16) {
		value >>= 16;
		bit += 16;
	}
	if (value >> 8) {
		value >>= 8;
		bit += 8;
	}
	if (value >> 4) {
		value >>= 4;
		bit += 4;
	}
	if (value >> 2) {
		value >>= 2;
		bit += 2;
	}
	return bit + (value >> 1 != 0);
}

static inline __attribute__((always_inline)) __u32 histogram_bucket(__u64 value)
{
	__u32 bit;

	if (value < HISTOGRAM_SUB)
		return value;
	bit = histogram_log2(value);
	if (bit >= HISTOGRAM_TOP_BIT)
		return HISTOGRAM_BUCKETS - 1;
	return (bit - HISTOGRAM_SUB_BITS) * HISTOGRAM_SUB +
	       (__u32)(value >> (bit - HISTOGRAM_SUB_BITS));
}

/* The lowest value of a bucket. A bucket ends where the next one starts. */
static inline __attribute__((always_inline)) __u64 histogram_bucket_start(__u32 bucket)
{
	__u32 power = bucket / HISTOGRAM_SUB;

	if (bucket < 2 * HISTOGRAM_SUB)
		return bucket;
	return (__u64)(HISTOGRAM_SUB + bucket % HISTOGRAM_SUB) << (power - 1);
}

/* What a value in a bucket counts as where only the bucket is known. */
static inline __attribute__((always_inline)) __u64 histogram_bucket_middle(__u32 bucket)
{
	__u64 first = histogram_bucket_start(bucket);

	if (bucket + 1 == HISTOGRAM_BUCKETS)
		return first;
	return first + (histogram_bucket_start(bucket + 1) - 1 - first) / 2;
}
