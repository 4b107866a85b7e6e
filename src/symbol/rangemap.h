/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the range that contains an address. If ranges overlap, the last one added wins.
 *
 * Fill it, seal it once, then look up. All zeroes: empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rangemap {
	struct range *ranges; /* after sealing: sorted, without overlaps */
	size_t count;
};

void rangemap__release(struct rangemap *map);

/* [start, end); an empty range is ignored. -ENOMEM, -E2BIG. */
int rangemap__add(struct rangemap *map, uint64_t start, uint64_t end, uint32_t value);

/* -ENOMEM; then the map is unchanged. */
int rangemap__seal(struct rangemap *map);

bool rangemap__find(const struct rangemap *map, uint64_t address, uint32_t *ret);
