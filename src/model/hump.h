/* Two humps in a histogram, of which the average describes neither. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_bucket;

struct hump {
	int64_t low_count, high_count; /* values in the lower hump and in the higher one */
	int64_t low, high;             /* their medians */
};

/*
 * Whether the values, which come by bucket, have two humps: each with 1 % of them and 17 values at
 * least, their medians 4 times apart, and between them a valley half as high as the smaller one,
 * deeper than chance would make it.
 */
bool hump__find(const struct model_bucket *buckets, size_t count, struct hump *ret);
