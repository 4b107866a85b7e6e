/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals counted in a step or in a minute, by place, operation and signal. Threads, objects
 * and errors are added up. Does not read or write anything. One thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/signal.h"

#define SIGNAL_SUMS_PLACE_BYTES 64

/* One value of the events, such as their duration. */
struct signal_sums_value {
	uint64_t sum, max;
	uint64_t in_buckets; /* how many are in the histogram */
	uint64_t middles;    /* their sum if each counts as the middle of its bucket */
	uint32_t *buckets;   /* HISTOGRAM_BUCKETS; NULL: none */
};

struct signal_sums_row {
	const struct signal *signal;
	uint32_t place, operation;
	uint64_t count, errors;
	struct signal_sums_value values[SERIES_VALUES];
};

struct signal_sums;

int signal_sums__new(struct signal_sums **ret);
void signal_sums__free(struct signal_sums *sums);
void signal_sums__clear(struct signal_sums *sums);

/* -ENOMEM: nothing was added. */
int signal_sums__add(struct signal_sums *sums, const struct signal *signal,
		     const struct series_key *key, const struct series_sum *sum);
/* Adds to the histogram of value number `value`. -ENOMEM, or -EINVAL if there is no such bucket. */
int signal_sums__add_bucket(struct signal_sums *sums, const struct signal *signal,
			    const struct series_place *place, uint32_t value, uint32_t bucket,
			    uint32_t count);
/* Adds all rows of `from`. -ENOMEM: some were added. */
int signal_sums__merge(struct signal_sums *sums, const struct signal_sums *from);

/* Belong to the sums and are valid until the next change. */
const struct signal_sums_row *signal_sums__rows(const struct signal_sums *sums, size_t *ret_count);

/*
 * The sum of the values that are in the histogram. It is exact if all events are in it; otherwise
 * (a sample of the round-trip time stands for many segments) each counts as the middle of its
 * bucket.
 */
uint64_t signal_sums__of_histogram(const struct signal_sums_row *row, size_t value);
/* The operation in words; NULL: of events that had no room for their own. */
const char *signal_sums__operation(const struct signal_sums_row *row);
/* The place in words, "" if there is none. */
void signal_sums__place(const struct signal_sums_row *row, char ret[SIGNAL_SUMS_PLACE_BYTES]);
