/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open addressing with linear probing. A removal closes the gap, so there are no tombstones. */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

struct map_entry {
	uint64_t key;
	void *value; /* NULL: free */
};

static size_t home_of(const struct map *map, uint64_t key)
{
	/* Fibonacci hashing: spreads consecutive ids. */
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->capacity - 1);
}

static struct map_entry *find(const struct map *map, uint64_t key)
{
	size_t at = home_of(map, key);

	while (map->entries[at].value && map->entries[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->entries[at];
}

static int grow(struct map *map)
{
	struct map bigger = { .capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY };

	bigger.entries = calloc(bigger.capacity, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->entries[i].value)
			*find(&bigger, map->entries[i].key) = map->entries[i];
	bigger.count = map->count;
	free(map->entries);
	*map = bigger;
	return 0;
}

void map__release(struct map *map)
{
	free(map->entries);
	*map = (struct map) {};
}

void *map__get(const struct map *map, uint64_t key)
{
	return map->capacity ? find(map, key)->value : NULL;
}

int map__put(struct map *map, uint64_t key, void *value)
{
	struct map_entry *entry;

	if (map->count * 4 >= map->capacity * 3) {
		int err = grow(map);

		if (err)
			return err;
	}
	entry = find(map, key);
	map->count += !entry->value;
	*entry = (struct map_entry) { key, value };
	return 0;
}

/* Removes the entry and closes the gap. */
static void take_out(struct map *map, struct map_entry *hole)
{
	size_t mask = map->capacity - 1, at = (size_t)(hole - map->entries);

	map->count--;
	hole->value = NULL;
	for (;;) {
		size_t home, distance;

		at = (at + 1) & mask;
		if (!map->entries[at].value)
			return;
		/* An entry may move into the hole unless its home position is after the hole. */
		home = home_of(map, map->entries[at].key);
		distance = (at - home) & mask;
		if (distance < ((at - (size_t)(hole - map->entries)) & mask))
			continue;
		*hole = map->entries[at];
		hole = &map->entries[at];
		hole->value = NULL;
	}
}

void *map__take(struct map *map, uint64_t key)
{
	struct map_entry *entry;
	void *value;

	if (!map->capacity)
		return NULL;
	entry = find(map, key);
	value = entry->value;
	if (value)
		take_out(map, entry);
	return value;
}

/*
 * An entry that moves into the gap comes from after it, or has wrapped around and was already
 * checked.
 */
void map__sweep(struct map *map, map_is_over_fn is_over, void *context)
{
	for (size_t at = 0; at < map->capacity;) {
		struct map_entry *entry = &map->entries[at];

		if (entry->value && is_over(context, entry->key, entry->value))
			take_out(map, entry);
		else
			at++;
	}
}

void *map__next(const struct map *map, size_t *at)
{
	while (*at < map->capacity) {
		void *value = map->entries[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}

void map__free_values(struct map *map)
{
	size_t at = 0;
	void *value;

	while ((value = map__next(map, &at)))
		free(value);
	map__release(map);
}
