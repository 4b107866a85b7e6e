/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from 64-bit keys to pointers. The map does not own the values. Not for use from two
 * threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_entry *entries;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* All zeroes is an empty map. */
void map__release(struct map *map);
/* The same, and frees each value. */
void map__free_values(struct map *map);

/* NULL if there is none. */
void *map__get(const struct map *map, uint64_t key);

/* Replaces an existing value. `value` must not be NULL. -ENOMEM. */
int map__put(struct map *map, uint64_t key, void *value);

/* Removes and returns the value, or NULL if there is none. */
void *map__take(struct map *map, uint64_t key);

/*
 * Iterates: the next value from *at on (start with 0), NULL at the end. Do not change the map
 * meanwhile.
 */
void *map__next(const struct map *map, size_t *at);

/*
 * Removes every entry for which `is_over` returns true; `is_over` then owns the value. It may be
 * called twice for an entry that stays.
 */
typedef bool (*map_is_over_fn)(void *context, uint64_t key, void *value);
void map__sweep(struct map *map, map_is_over_fn is_over, void *context);

/* Mixes another number into a hash, for keys of several numbers. Start with 0. */
static inline uint64_t map__mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 33;
}

/* The same for a text, with its end. */
static inline uint64_t map__mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = map__mix(hash, (unsigned char)*text);
	return map__mix(hash, 0);
}
