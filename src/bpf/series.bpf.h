/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel half of series.h. A .bpf.c file defines SERIES_USED, the number of values in its
 * events (1 to 6), and includes this. It may also define SERIES_KEYS, the maximum number of sums,
 * and SERIES_PLAIN, with a bit set for each value that needs no histogram.
 *
 * Two maps take turns: user space switches `active`, waits until no program uses the old map any
 * more, and empties it. To empty a map in use would lose what a hook adds between look-up and
 * delete. Histograms only grow, and each turn has its own. User space takes the difference of the
 * histograms that are not in use, so that they cover the same events as the sums.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/series.h"

#ifndef SERIES_KEYS
#define SERIES_KEYS 8192
#endif
#ifndef SERIES_PLAIN
#define SERIES_PLAIN 0
#endif
#define SERIES_PLACES (2 * 256) /* half for each turn */

struct series_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SERIES_KEYS);
	__type(key, struct series_key);
	__type(value, struct series_sum);
};

struct series_map series_a SEC(".maps");
struct series_map series_b SEC(".maps");

struct series_histograms {
	__u32 buckets[SERIES_USED][HISTOGRAM_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SERIES_PLACES);
	__type(key, struct series_place);
	__type(value, struct series_histograms);
} series_buckets SEC(".maps");

static const struct series_histograms no_histograms = {}; /* too large for the BPF stack */

struct series_control series SEC(".data.series");

/* Which of the two maps takes the sums. Call it once per event. */
static __always_inline __u32 series_turn(void)
{
	return *(volatile __u32 *)&series.active;
}

static __always_inline void series_add_to(struct series_sum *to, const __u64 values[SERIES_USED])
{
	__sync_fetch_and_add(&to->count, 1);
	for (int i = 0; i < SERIES_USED; i++) {
		__sync_fetch_and_add(&to->sum[i], values[i]);
		if (values[i] > to->max[i])
			to->max[i] = values[i];
	}
}

static __always_inline struct series_sum *series_find(__u32 turn, const struct series_key *key)
{
	return turn ? bpf_map_lookup_elem(&series_b, key) : bpf_map_lookup_elem(&series_a, key);
}

/* Not inlined, so that `new` does not use stack space of the caller. */
static __noinline int series_make(__u32 turn, const struct series_key *key)
{
	const struct series_sum new = {};

	return turn ? bpf_map_update_elem(&series_b, key, &new, BPF_NOEXIST)
		    : bpf_map_update_elem(&series_a, key, &new, BPF_NOEXIST);
}

/* NULL: the map is full. */
static __always_inline struct series_sum *series_sum_of(__u32 turn, const struct series_key *key)
{
	struct series_sum *sum = series_find(turn, key);

	if (sum)
		return sum;
	series_make(turn, key); /* fails if another CPU was faster */
	return series_find(turn, key);
}

/* Adds one event to the sums, not to the histograms. */
static __always_inline void series_sum_up(__u32 turn, const struct series_key *key,
					  const __u64 values[SERIES_USED])
{
	struct series_sum *sum = series_sum_of(turn, key);

	series_add_to(sum ? sum : &series.overflow, values);
}

/*
 * The same, for an event that happens in the thread of its key. Only that thread adds to the sum,
 * so plain additions are enough. A key without a thread is shared, and needs atomic ones.
 */
static __always_inline void series_sum_up_own(__u32 turn, const struct series_key *key,
					      const __u64 values[SERIES_USED])
{
	struct series_sum *sum = series_sum_of(turn, key);

	if (!sum || !key->thread) {
		series_add_to(sum ? sum : &series.overflow, values);
		return;
	}
	sum->count++;
	for (int i = 0; i < SERIES_USED; i++) {
		sum->sum[i] += values[i];
		if (values[i] > sum->max[i])
			sum->max[i] = values[i];
	}
}

VERIFIED_ONCE __u32 series_bucket(__u64 value)
{
	return histogram_bucket(value);
}

/* Adds one event to the histograms, not to the sums. */
static __always_inline void series_distribute(__u32 turn, const struct series_key *key,
					      const __u64 values[SERIES_USED])
{
	struct series_place place = { key->place, key->operation | (turn ? SERIES_SIDE : 0) };
	struct series_histograms *histograms = bpf_map_lookup_elem(&series_buckets, &place);

	if (!histograms) {
		bpf_map_update_elem(&series_buckets, &place, &no_histograms, BPF_NOEXIST);
		histograms = bpf_map_lookup_elem(&series_buckets, &place);
	}
	if (!histograms) {
		__sync_fetch_and_add(&series.no_histogram, 1);
		return;
	}
	for (int i = 0; i < SERIES_USED; i++) {
		__u64 bucket;

		if (SERIES_PLAIN & 1 << i)
			continue;
		bucket = series_bucket(values[i]);
		/* 6.1 tracks a bound only in the compared register: prevent a copy. */
		barrier_var(bucket);
		if (bucket < HISTOGRAM_BUCKETS)
			__sync_fetch_and_add(&histograms->buckets[i][bucket], 1);
	}
}

/* Adds one event to the sums and to the histograms. */
static __always_inline void series_add(const struct series_key *key,
				       const __u64 values[SERIES_USED])
{
	__u32 turn = series_turn();

	series_sum_up(turn, key, values);
	series_distribute(turn, key, values);
}

/* The same, for an event that happens in the thread of its key. */
static __always_inline void series_add_own(const struct series_key *key,
					   const __u64 values[SERIES_USED])
{
	__u32 turn = series_turn();

	series_sum_up_own(turn, key, values);
	series_distribute(turn, key, values);
}

/* Whether something that took `ns` is sent as an event of its own. */
static __always_inline bool series_is_slow(__u64 ns)
{
	if (ns < series.slow_ns)
		return false;
	__sync_fetch_and_add(&series.slow, 1);
	return true;
}
