/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rangemap__seal() cuts the ranges into pieces that do not overlap, so that a look-up is one binary
 * search. It sweeps over the addresses with a heap of the ranges that contain the current address;
 * the latest range is on top. Rejected: a tree that is cut at each addition; an array and a loop
 * are simpler.
 */
#include "symbol/rangemap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Enough for the largest programs. A hostile file can describe any number in a few bytes. */
#define MOST_RANGES (1U << 22)

struct range {
	uint64_t start, end;
	uint32_t value;
	uint32_t order; /* when it was added */
};

struct heap {
	const struct range **items;
	size_t count;
};

void rangemap__release(struct rangemap *map)
{
	free(map->ranges);
	*map = (struct rangemap) {};
}

int rangemap__add(struct rangemap *map, uint64_t start, uint64_t end, uint32_t value)
{
	struct range *range;

	if (start >= end)
		return 0;
	if (map->count == MOST_RANGES)
		return -E2BIG;
	range = APPEND(&map->ranges, &map->count);
	if (!range)
		return -ENOMEM;
	*range = (struct range) { start, end, value, (uint32_t)(map->count - 1) };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void heap_push(struct heap *heap, const struct range *range)
{
	size_t at = heap->count++;

	while (at && heap->items[(at - 1) / 2]->order < range->order) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = range;
}

static void heap_pop(struct heap *heap)
{
	const struct range *last = heap->items[--heap->count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < heap->count &&
		    heap->items[child]->order < heap->items[child + 1]->order)
			child++;
		if (child >= heap->count || heap->items[child]->order <= last->order)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = last;
}

/* Writes the pieces to `pieces`, which has room for two per range. Returns their number. */
static size_t sweep(const struct rangemap *map, struct heap *heap, struct range *pieces)
{
	size_t next = 0, count = 0;
	uint64_t at = 0;

	while (next < map->count || heap->count) {
		const struct range *top;
		uint64_t end;

		if (!heap->count && map->ranges[next].start > at)
			at = map->ranges[next].start;
		while (next < map->count && map->ranges[next].start <= at)
			heap_push(heap, &map->ranges[next++]);
		top = heap->items[0];
		if (top->end <= at) {
			heap_pop(heap);
			continue;
		}
		end = top->end;
		if (next < map->count && map->ranges[next].start < end)
			end = map->ranges[next].start;
		if (count && pieces[count - 1].order == top->order && pieces[count - 1].end == at)
			pieces[count - 1].end = end;
		else
			pieces[count++] = (struct range) { at, end, top->value, top->order };
		at = end;
	}
	return count;
}

int rangemap__seal(struct rangemap *map)
{
	struct heap heap = {};
	struct range *pieces;

	if (!map->count)
		return 0;
	heap.items = calloc(map->count, sizeof(*heap.items));
	pieces = calloc(map->count, 2 * sizeof(*pieces));
	if (!heap.items || !pieces) {
		free(heap.items);
		free(pieces);
		return -ENOMEM;
	}
	qsort(map->ranges, map->count, sizeof(*map->ranges), by_start);
	map->count = sweep(map, &heap, pieces);
	free(heap.items);
	free(map->ranges);
	map->ranges = reallocarray(pieces, map->count, sizeof(*pieces));
	if (!map->ranges)
		map->ranges = pieces;
	return 0;
}

bool rangemap__find(const struct rangemap *map, uint64_t address, uint32_t *ret)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == map->count || address < map->ranges[low].start)
		return false;
	*ret = map->ranges[low].value;
	return true;
}
