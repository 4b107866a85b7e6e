/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The height at a bucket is the number of values in the 8 buckets around it. Eight buckets cover
 * one power of two everywhere, so values that are spread evenly on a logarithmic scale give a flat
 * curve, although the buckets have different widths. Each bucket is tried as the bottom of a
 * valley. The highest points to its left and right, at least a power of two away, are the humps.
 * The valley that is deepest below the smaller hump wins. A long tail has no valley except by
 * chance. To rule out chance, a hump must rise four standard deviations above the valley, which
 * takes at least 17 values.
 */
#include "model/hump.h"

#include <math.h>
#include <string.h>

#include "vocabulary/histogram.h"
#include "vocabulary/percentiles.h"

#define LEAST_PERCENT 1
#define LEAST_APART   4
#define DEVIATIONS    4
#define AROUND        HISTOGRAM_SUB

struct heights {
	int64_t counts[HISTOGRAM_BUCKETS];
	int64_t at[HISTOGRAM_BUCKETS];
	int64_t left[HISTOGRAM_BUCKETS],
		right[HISTOGRAM_BUCKETS]; /* the highest point from that side up to this bucket */
};

static void measure(struct heights *heights)
{
	int64_t most = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		for (int j = i - AROUND / 2 + 1; j <= i + AROUND / 2; j++)
			if (j >= 0 && j < HISTOGRAM_BUCKETS)
				heights->at[i] += heights->counts[j];
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		heights->left[i] = most = heights->at[i] > most ? heights->at[i] : most;
	most = 0;
	for (int i = HISTOGRAM_BUCKETS - 1; i >= 0; i--)
		heights->right[i] = most = heights->at[i] > most ? heights->at[i] : most;
}

/* How far the smaller hump rises above a valley at this bucket; 0: not far enough. */
static int64_t depth(const struct heights *heights, int bucket)
{
	int64_t left = heights->left[bucket - AROUND], right = heights->right[bucket + AROUND];
	int64_t valley = heights->at[bucket], smaller = left < right ? left : right;
	int64_t rise = smaller - valley;

	if (rise < valley || (double)rise <= DEVIATIONS * sqrt((double)smaller + (double)valley))
		return 0;
	return rise;
}

static int64_t median(const struct heights *heights, int from, int to, int64_t count)
{
	int64_t seen = 0;
	int bucket = from;

	for (; bucket < to; bucket++) {
		seen += heights->counts[bucket];
		if (seen >= count - seen)
			break;
	}
	return percentiles__middle(bucket);
}

bool hump__find(const struct bucket *buckets, size_t count, struct hump *ret)
{
	struct heights heights = {};
	struct hump hump = {};
	int64_t whole = 0, deepest = 0;
	int at = 0;

	for (size_t i = 0; i < count; i++) {
		heights.counts[buckets[i].number] += buckets[i].count;
		whole += buckets[i].count;
	}
	measure(&heights);
	for (int i = AROUND; i < HISTOGRAM_BUCKETS - AROUND; i++) {
		int64_t rise = depth(&heights, i);

		if (rise <= deepest)
			continue;
		deepest = rise;
		at = i;
	}
	if (!deepest)
		return false;
	for (int i = 0; i <= at; i++)
		hump.low_count += heights.counts[i];
	hump.high_count = whole - hump.low_count;
	hump.low = median(&heights, 0, at, hump.low_count);
	hump.high = median(&heights, at + 1, HISTOGRAM_BUCKETS - 1, hump.high_count);
	if ((double)hump.low_count * 100 < (double)whole * LEAST_PERCENT ||
	    (double)hump.high_count * 100 < (double)whole * LEAST_PERCENT ||
	    hump.high / LEAST_APART < hump.low)
		return false;
	*ret = hump;
	return true;
}
