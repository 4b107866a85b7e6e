/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/bounds.h"

#include <math.h>

/* Two neighbours of ours leave at most one native bucket empty between them: bridge it. */
#define MOST_GAP 2

uint64_t bounds__classic_ns(size_t bound)
{
	return UINT64_C(1024) << (2 * bound);
}

void bounds__count(const struct bounds_histogram *histogram, uint64_t ret[BOUNDS_CLASSIC],
		   uint64_t *ret_all)
{
	uint64_t sum = 0;
	uint32_t bucket = 0;

	for (size_t i = 0; i < BOUNDS_CLASSIC; i++) {
		for (; histogram_bucket_start(bucket) < bounds__classic_ns(i); bucket++)
			sum += histogram->counts[bucket];
		ret[i] = sum;
	}
	for (; bucket < HISTOGRAM_BUCKETS; bucket++)
		sum += histogram->counts[bucket];
	*ret_all = sum;
}

int bounds__native_index(uint32_t bucket)
{
	double first = (double)histogram_bucket_start(bucket), last = first;

	if (bucket + 1 < HISTOGRAM_BUCKETS)
		last = (double)histogram_bucket_start(bucket + 1) - 1;
	/* The geometric middle: both ends are equally far away. */
	return (int)ceil((1 << BOUNDS_SCHEMA) * log2(sqrt(first * last) / 1e9));
}

void bounds__native(const struct bounds_histogram *histogram, struct bounds_native *ret)
{
	int next = 0; /* the index after the last bucket so far */

	ret->zero_count = histogram->counts[0];
	ret->spans = ret->buckets = 0;
	for (uint32_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		int index;

		if (!histogram->counts[i])
			continue;
		index = bounds__native_index(i);
		if (ret->spans && index < next) {
			ret->count[ret->buckets - 1] += histogram->counts[i];
			continue;
		}
		if (!ret->spans || index > next + MOST_GAP) {
			ret->span[ret->spans++] = (struct bounds_span) { .gap = index - next };
			next = index;
		}
		for (; next < index; next++, ret->span[ret->spans - 1].length++)
			ret->count[ret->buckets++] = 0;
		ret->count[ret->buckets++] = histogram->counts[i];
		ret->span[ret->spans - 1].length++;
		next++;
	}
}
