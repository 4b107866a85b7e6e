/*
 * Log-linear buckets: 8 per power of two, so a value is known to 12.5 % and its bucket's middle to
 * 6.3 %. The same buckets everywhere, in the kernel half, in the recording and in reports, so that
 * histograms merge by adding.
 *
 * Values below 8 have a bucket of their own. From 2^38 ns (4.6 minutes) on, the last bucket takes
 * everything.
 */
#pragma once

#include <linux/types.h>

#define HISTOGRAM_SUB_BITS 3
#define HISTOGRAM_SUB      (1 << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_TOP_BIT  38
#define HISTOGRAM_BUCKETS  ((HISTOGRAM_TOP_BIT - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB + 1)

/* BPF has no instruction for this; six compares do. `value` is not 0. */
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

/* The least value of a bucket; that of the next one is this one's end. */
static inline __attribute__((always_inline)) __u64 histogram_bucket_start(__u32 bucket)
{
	__u32 power = bucket / HISTOGRAM_SUB;

	if (bucket < 2 * HISTOGRAM_SUB)
		return bucket;
	return (__u64)(HISTOGRAM_SUB + bucket % HISTOGRAM_SUB) << (power - 1);
}
