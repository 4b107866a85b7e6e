/* A hash map from 64-bit keys to pointers. The map owns neither. Not for two threads at once. */
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

/* NULL if there is none. */
void *map__get(const struct map *map, uint64_t key);

/* Replaces what was there. `value` must not be NULL. -ENOMEM. */
int map__put(struct map *map, uint64_t key, void *value);

/* What was there, or NULL. */
void *map__take(struct map *map, uint64_t key);

/* For a walk: the next value from *at on (begin with 0), NULL at the end. No changes meanwhile. */
void *map__next(const struct map *map, size_t *at);

/*
 * Takes out every entry that `is_over` says is; it owns the value from then on. One that stays may
 * be asked about twice.
 */
typedef bool (*map_is_over_fn)(void *context, uint64_t key, void *value);
void map__sweep(struct map *map, map_is_over_fn is_over, void *context);

/* Mixes another number into a hash, for keys that are made of several. Begin with 0. */
static inline uint64_t map__mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 33;
}
