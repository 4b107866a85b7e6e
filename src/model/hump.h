/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds two humps in a histogram. The average of such values describes neither hump. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bucket;

struct hump {
	int64_t low_count, high_count; /* values in the lower hump and in the higher one */
	int64_t low, high;             /* their medians */
};

/*
 * Whether the values, sorted by bucket, have two humps. Each hump has at least 1 % of the values
 * and at least 17 values. The medians differ by a factor of at least 4. The valley between them is
 * at most half as high as the smaller hump, and deeper than chance explains.
 */
bool hump__find(const struct bucket *buckets, size_t count, struct hump *ret);
