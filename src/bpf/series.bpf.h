/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel half of series.h. A part defines its maps with SERIES_MAPS() and passes SERIES(NAME),
 * which says where its sums are, to the functions below.
 *
 * Two maps take turns: user space switches `active`, waits until no program uses the old map any
 * more, and empties it. To empty a map in use would lose what a hook adds between look-up and
 * delete. Histograms only grow, and each turn has its own. User space takes the difference of the
 * histograms that are not in use, so that they cover the same events as the sums.
 *
 * The distribution by thread is sparse: an entry for each bucket that is not empty. What has no
 * room there is still in the histogram of all threads.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/parts.bpf.h"
#include "bpf/series.h"

#define SERIES_PLACES (2 * 256)   /* half for each turn */
#define SERIES_OWNED  (2 * 16384) /* buckets of threads, half for each turn */

struct series_control series[SIGNAL_COUNT] SEC(".data.series");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SERIES_OWNED);
	__type(key, struct series_owned);
	__type(value, __u64);
} series_owned SEC(".maps");

_Static_assert(SIGNAL_COUNT << SERIES_OWNED_SHIFT <= SERIES_OWNED_SIDE, "room for every signal");

/* Initial value of a map entry; too large for the BPF stack. */
static const __u32 no_histograms[SERIES_VALUES][HISTOGRAM_BUCKETS] = {};

struct series_maps {
	void *sums[2];
	void *histograms;
	__u32 number;
	struct series_control *control;
	__u32 values; /* in each event */
	__u32 plain;  /* a bit for each value that has no histogram */
};

/*
 * `count`: how many values the events have, 1 to SERIES_VALUES. `plain_values`: a bit for each
 * value that needs no histogram. `most`: the maximum number of sums.
 */
#define SERIES_MAPS(name, count, plain_values, most)                                               \
	enum { name##_values = (count), name##_plain = (plain_values) };                           \
	struct name##_sums_map {                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, most);                                                         \
		__type(key, struct series_key);                                                    \
		__type(value, struct series_sum);                                                  \
	};                                                                                         \
	struct name##_sums_map name##_sums_a SEC(".maps");                                         \
	struct name##_sums_map name##_sums_b SEC(".maps");                                         \
	struct name##_histograms {                                                                 \
		__u32 buckets[count][HISTOGRAM_BUCKETS];                                           \
	};                                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, SERIES_PLACES);                                                \
		__type(key, struct series_place);                                                  \
		__type(value, struct name##_histograms);                                           \
	} name##_buckets SEC(".maps")

#define SERIES(name)                                                                               \
	((struct series_maps) { .sums = { &name##_sums_a, &name##_sums_b },                        \
				.histograms = &name##_buckets,                                     \
				.number = SIGNAL_##name,                                           \
				.control = &series[SIGNAL_##name],                                 \
				.values = name##_values,                                           \
				.plain = name##_plain })

/* Counts what a part has to drop. */
#define COUNT_LOST(name, why) __sync_fetch_and_add(&series[SIGNAL_##name].lost[why], 1)

/* Threads and objects are unbounded, so a recorder that never ends does without them. */
static __always_inline void series_reduce(struct series_key *key)
{
	if (!by_class)
		return;
	key->thread = 0;
	key->object[0] = 0;
	key->object[1] = 0;
}

/* Which of the two maps takes the sums. Call it once per event. */
static __always_inline __u32 series_turn(const struct series_maps maps)
{
	return *(volatile __u32 *)&maps.control->active;
}

static __always_inline void series_add_to(const struct series_maps maps, struct series_sum *to,
					  const __u64 *values)
{
	__sync_fetch_and_add(&to->count, 1);
	for (__u32 i = 0; i < maps.values; i++) {
		__sync_fetch_and_add(&to->sum[i], values[i]);
		if (values[i] > to->max[i])
			to->max[i] = values[i];
	}
}

static __always_inline struct series_sum *series_find(const struct series_maps maps, __u32 turn,
						      const struct series_key *key)
{
	return turn ? bpf_map_lookup_elem(maps.sums[1], key)
		    : bpf_map_lookup_elem(maps.sums[0], key);
}

/* NULL: the map is full. */
static __always_inline struct series_sum *series_sum_of(const struct series_maps maps, __u32 turn,
							const struct series_key *key)
{
	struct series_sum *sum = series_find(maps, turn, key);

	if (sum)
		return sum;
	/* Fails if another CPU was faster. The buckets are zeros, too. */
	if (turn)
		bpf_map_update_elem(maps.sums[1], key, &no_histograms, BPF_NOEXIST);
	else
		bpf_map_update_elem(maps.sums[0], key, &no_histograms, BPF_NOEXIST);
	return series_find(maps, turn, key);
}

/* Adds one event to the sums, not to the histograms. */
static __always_inline void series_sum_up(const struct series_maps maps, __u32 turn,
					  const struct series_key *key, const __u64 *values)
{
	struct series_sum *sum = series_sum_of(maps, turn, key);

	series_add_to(maps, sum ? sum : &maps.control->overflow, values);
}

/*
 * The same, for an event that happens in the thread of its key. Only that thread adds to the sum,
 * so plain additions are enough. A key without a thread is shared, and needs atomic ones.
 */
static __always_inline void series_sum_up_own(const struct series_maps maps, __u32 turn,
					      const struct series_key *key, const __u64 *values)
{
	struct series_sum *sum = series_sum_of(maps, turn, key);

	if (!sum || !key->thread) {
		series_add_to(maps, sum ? sum : &maps.control->overflow, values);
		return;
	}
	sum->count++;
	for (__u32 i = 0; i < maps.values; i++) {
		sum->sum[i] += values[i];
		if (values[i] > sum->max[i])
			sum->max[i] = values[i];
	}
}

VERIFIED_ONCE __u32 series_bucket(__u64 value)
{
	return histogram_bucket(value);
}

/* The histograms of (place, operation): an array [value][bucket]. NULL: no room, counted. */
static __always_inline __u32 *series_histograms(const struct series_maps maps, __u32 turn,
						const struct series_key *key)
{
	struct series_place place = { key->place, key->operation | (turn ? SERIES_SIDE : 0) };
	__u32 *buckets = bpf_map_lookup_elem(maps.histograms, &place);

	if (buckets)
		return buckets;
	bpf_map_update_elem(maps.histograms, &place, &no_histograms, BPF_NOEXIST);
	buckets = bpf_map_lookup_elem(maps.histograms, &place);
	if (!buckets)
		__sync_fetch_and_add(&maps.control->no_histogram, 1);
	return buckets;
}

/* Adds one event to its thread's distribution. */
static __always_inline void series_add_to_thread(const struct series_maps maps, __u32 turn,
						 const struct series_key *key, __u64 bucket)
{
	const struct series_owned owned = { key->thread, key->place, key->operation,
					    bucket | maps.number << SERIES_OWNED_SHIFT |
						    (turn ? SERIES_OWNED_SIDE : 0) };
	__u64 *count, one = 1;

	if (!key->thread || by_class)
		return;
	count = bpf_map_lookup_elem(&series_owned, &owned);
	if (!count) {
		if (!bpf_map_update_elem(&series_owned, &owned, &one, BPF_NOEXIST))
			return;
		/* No room, or another CPU was faster. */
		count = bpf_map_lookup_elem(&series_owned, &owned);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Adds one event to the histograms, not to the sums. */
static __always_inline void series_distribute(const struct series_maps maps, __u32 turn,
					      const struct series_key *key, const __u64 *values)
{
	__u32 *buckets = series_histograms(maps, turn, key);

	if (!buckets)
		return;
	for (__u32 i = 0; i < maps.values; i++) {
		__u64 bucket;

		if (maps.plain & 1 << i)
			continue;
		bucket = series_bucket(values[i]);
		if (!i)
			series_add_to_thread(maps, turn, key, bucket);
		/* 6.1 tracks a bound only in the compared register: prevent a copy. */
		barrier_var(bucket);
		if (bucket < HISTOGRAM_BUCKETS)
			__sync_fetch_and_add(&buckets[i * HISTOGRAM_BUCKETS + bucket], 1);
	}
}

/* Adds one event to the sums and to the histograms. */
static __always_inline void series_add(const struct series_maps maps, const struct series_key *key,
				       const __u64 *values)
{
	__u32 turn = series_turn(maps);

	series_sum_up(maps, turn, key, values);
	series_distribute(maps, turn, key, values);
}

/* The same, for an event that happens in the thread of its key. */
static __always_inline void series_add_own(const struct series_maps maps,
					   const struct series_key *key, const __u64 *values)
{
	__u32 turn = series_turn(maps);

	series_sum_up_own(maps, turn, key, values);
	series_distribute(maps, turn, key, values);
}

/* Whether something that took `ns` is sent as an event of its own. */
static __always_inline bool series_is_slow(const struct series_maps maps, __u64 ns)
{
	if (ns < maps.control->slow_ns)
		return false;
	__sync_fetch_and_add(&maps.control->slow, 1);
	return true;
}
