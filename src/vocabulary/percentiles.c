/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/percentiles.h"

#include "vocabulary/histogram.h"

#define WORDS(id, ...) [id] = { __VA_ARGS__ },

static const struct percentile_words words[PERCENTILES] = { PERCENTILES_ALL(WORDS) };

const struct percentile_words *percentiles__words(enum percentile percentile)
{
	return &words[percentile];
}

int64_t percentiles__middle(int bucket)
{
	__u64 start;

	if (bucket < 0)
		return 0;
	if (bucket >= HISTOGRAM_BUCKETS)
		bucket = HISTOGRAM_BUCKETS - 1;
	start = histogram_bucket_start((__u32)bucket);
	return (int64_t)(start + (histogram_bucket_start((__u32)bucket + 1) - start) / 2);
}

void percentiles__find(const struct bucket *buckets, size_t count, int64_t total, int64_t max,
		       int64_t ret[PERCENTILES])
{
	int64_t seen = 0;
	int next = 0;

	for (int i = 0; i < PERCENTILES; i++)
		ret[i] = -1;
	for (size_t i = 0; i < count; i++) {
		int64_t middle = percentiles__middle(buckets[i].number);

		seen += buckets[i].count;
		for (; next < PERCENTILES && total >= words[next].least; next++) {
			if ((double)seen * 1000 < (double)total * words[next].per_mille)
				break;
			ret[next] = max && middle > max ? max : middle;
		}
	}
}

enum percentile percentiles__highest(const int64_t values[PERCENTILES])
{
	enum percentile highest = P99;

	while (highest > P50 && values[highest] < 0)
		highest--;
	return highest;
}
