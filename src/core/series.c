/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/series.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/drain.h"

#define SETTLE_US 100000 /* longer than any run of a BPF program */
#define MOST_SEEN 512    /* the capacity of the kernel half */

/* The histograms of one (place, operation) when they were last read. */
struct seen {
	struct series_place place;
	uint32_t *buckets; /* [values][HISTOGRAM_BUCKETS] */
};

#define OWNED_BATCH 1024

struct series {
	const struct bpf_map *sums[2];
	const struct bpf_map *buckets;
	const struct bpf_map *owned; /* of all signals */
	unsigned number;
	struct series_control *control;
	size_t values;
	struct seen seen[MOST_SEEN];
	size_t seen_count;
	struct series_sum overflow; /* the part that was already handed on */
	uint32_t *now;              /* one entry of the map of histograms */
};

DEFINE_CLEANUP(struct series *, series__free)

void *series__section(const struct bpf_object *object, const char *section, size_t *ret_size)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		const char *at = strstr(bpf_map__name(map), section);

		if (at && !at[strlen(section)])
			return (void *)bpf_map__initial_value(map, ret_size); /* mapped writable */
	}
	return NULL;
}

static const struct bpf_map *find_map(const struct bpf_object *object, const char *name,
				      const char *which)
{
	char full[64];

	snprintf(full, sizeof(full), "%s_%s", name, which);
	return bpf_object__find_map_by_name(object, full);
}

int series__new(const struct bpf_object *object, const char *name, unsigned number, size_t values,
		struct series **ret)
{
	struct series_control *controls;
	cleanup(series__free_p) struct series *series = calloc(1, sizeof(*series));
	size_t size = 0, bytes = values * HISTOGRAM_BUCKETS * sizeof(uint32_t);

	if (!series)
		return -ENOMEM;
	series->values = values;
	series->sums[0] = find_map(object, name, "sums_a");
	series->sums[1] = find_map(object, name, "sums_b");
	series->buckets = find_map(object, name, "buckets");
	series->owned = bpf_object__find_map_by_name(object, "series_owned");
	series->number = number;
	controls = series__section(object, ".data.series", &size);
	if (!series->sums[0] || !series->sums[1] || !series->buckets || !series->owned ||
	    !controls || number >= size / sizeof(*controls) ||
	    bpf_map__value_size(series->buckets) != bytes)
		return -EPROTO;
	series->control = &controls[number];
	series->now = malloc(bytes);
	if (!series->now)
		return -ENOMEM;
	*ret = TAKE(series);
	return 0;
}

void series__free(struct series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->seen_count; i++)
		free(series->seen[i].buckets);
	free(series->now);
	free(series);
}

struct series_control *series__control(const struct series *series)
{
	return series->control;
}

void series__switch(struct series *series)
{
	*(volatile uint32_t *)&series->control->active = !series->control->active;
}

struct series_barrier series__barrier(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	struct series_barrier barrier;

	barrier.inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", sizeof(uint32_t),
				       sizeof(uint32_t), 1, NULL);
	options.inner_map_fd = (uint32_t)barrier.inner;
	barrier.outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "barrier", sizeof(uint32_t),
				       sizeof(uint32_t), 1, &options);
	return barrier;
}

void series__barrier_close(struct series_barrier *barrier)
{
	if (barrier->outer > 0)
		close(barrier->outer);
	if (barrier->inner > 0)
		close(barrier->inner);
	*barrier = (struct series_barrier) {};
}

/*
 * Replacing an entry of a map of maps makes the kernel wait for all running programs, because they
 * may still use the old entry (since 5.0, 1ae80cf31938). membarrier() would wait too, but not on a
 * machine with one CPU, and it fails on CPUs without a tick (nohz_full).
 */
void series__settle(const struct series_barrier *barrier)
{
	const uint32_t only = 0;

	if (bpf_map_update_elem(barrier->outer, &only, &barrier->inner, BPF_ANY))
		usleep(SETTLE_US);
}

static int take_sum(void *context, const void *key, const void *sum)
{
	const struct series_takers *takers = context;

	return takers->take_sum(takers->context, key, sum);
}

static int take_overflow(struct series *series, const struct series_takers *takers)
{
	const struct series_key key = { .operation = SERIES_OTHER };
	const struct series_sum now = series->control->overflow;
	struct series_sum added = { .count = now.count - series->overflow.count };

	/* Programs update it concurrently. If only the sums have grown, wait for the count. */
	if (!added.count)
		return 0;
	for (int i = 0; i < SERIES_VALUES; i++) {
		added.sum[i] = now.sum[i] - series->overflow.sum[i];
		added.max[i] = now.max[i];
	}
	series->overflow = now;
	return takers->take_sum(takers->context, &key, &added);
}

static struct seen *find_seen(struct series *series, const struct series_place *place)
{
	struct seen *seen;

	for (size_t i = 0; i < series->seen_count; i++)
		if (!memcmp(&series->seen[i].place, place, sizeof(*place)))
			return &series->seen[i];
	if (series->seen_count == MOST_SEEN)
		return NULL;
	seen = &series->seen[series->seen_count];
	seen->place = *place;
	seen->buckets = calloc(series->values * HISTOGRAM_BUCKETS, sizeof(*seen->buckets));
	if (!seen->buckets)
		return NULL;
	series->seen_count++;
	return seen;
}

/* Buckets may wrap around between two reads; unsigned subtraction is still right. */
static int take_histograms(struct series *series, const struct series_place *place,
			   const struct series_takers *takers)
{
	const struct series_place name = { place->place,
					   place->operation & ~(SERIES_SIDE | SERIES_SHARED) };
	struct seen *seen = find_seen(series, place);
	int err = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < series->values * HISTOGRAM_BUCKETS && !err; i++) {
		uint32_t added = series->now[i] - seen->buckets[i];

		if (!added)
			continue;
		seen->buckets[i] = series->now[i];
		err = takers->take_bucket(takers->context, &name, (uint32_t)(i / HISTOGRAM_BUCKETS),
					  (uint32_t)(i % HISTOGRAM_BUCKETS), added);
	}
	return err;
}

static int take_buckets(struct series *series, const struct series_takers *takers)
{
	int fd = bpf_map__fd(series->buckets), err = 0;
	uint32_t resting = series->control->active ? 0 : SERIES_SIDE;
	struct series_place place, *last = NULL;

	while (!err && !bpf_map_get_next_key(fd, last, &place)) {
		bool rests = place.operation & SERIES_SHARED ||
			     (place.operation & SERIES_SIDE) == resting;

		if (rests && !bpf_map_lookup_elem(fd, &place, series->now))
			err = take_histograms(series, &place, takers);
		last = &place;
	}
	return err;
}

struct owned_batch {
	struct series_owned keys[OWNED_BATCH];
	uint64_t counts[OWNED_BATCH];
};

/* Takes and deletes the entries of this signal and of the turn that rests. */
static int take_batch(struct series *series, struct owned_batch *batch, uint32_t count,
		      const struct series_takers *takers)
{
	uint32_t mine = series->number << SERIES_OWNED_SHIFT |
			(series->control->active ? 0 : SERIES_OWNED_SIDE);
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		struct series_owned *key = &batch->keys[i];

		if ((key->bucket & ~SERIES_OWNED_MASK) != mine)
			continue;
		bpf_map_delete_elem(bpf_map__fd(series->owned), key);
		key->bucket &= SERIES_OWNED_MASK;
		err = takers->take_owned(takers->context, key, batch->counts[i]);
	}
	return err;
}

/* Programs add entries of the other turn meanwhile, which do no harm. */
static int take_owned(struct series *series, const struct series_takers *takers)
{
	cleanup(free_p) struct owned_batch *batch =
		takers->take_owned ? malloc(sizeof(*batch)) : NULL;
	uint32_t position, count;
	void *from = NULL;
	int end = 0, err = 0;

	if (!takers->take_owned)
		return 0;
	if (!batch)
		return -ENOMEM;
	while (!end && !err) {
		count = OWNED_BATCH;
		end = bpf_map_lookup_batch(bpf_map__fd(series->owned), from, &position, batch->keys,
					   batch->counts, &count, NULL);
		/* -ENOENT: there are no more. */
		if (end && end != -ENOENT)
			return end;
		err = take_batch(series, batch, count, takers);
		from = &position;
	}
	return err;
}

int series__take(struct series *series, const struct series_takers *takers)
{
	int err = drain__map(series->sums[!series->control->active], take_sum, (void *)takers);

	if (!err)
		err = take_overflow(series, takers);
	if (!err)
		err = take_buckets(series, takers);
	return err ? err : take_owned(series, takers);
}
