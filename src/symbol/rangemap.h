/*
 * Which of many overlapping ranges of addresses holds an address: the one that was added last.
 *
 * Fill it, seal it once, then ask. All zeroes is an empty one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rangemap {
	struct range *ranges; /* sorted and apart from each other once sealed */
	size_t count;
};

void rangemap__release(struct rangemap *map);

/* From `start` up to and without `end`; an empty range is ignored. -ENOMEM, -E2BIG. */
int rangemap__add(struct rangemap *map, uint64_t start, uint64_t end, uint32_t value);

/* -ENOMEM; then the map is as it was. */
int rangemap__seal(struct rangemap *map);

bool rangemap__find(const struct rangemap *map, uint64_t address, uint32_t *ret);
