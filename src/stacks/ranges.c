/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/arch/arch.h"
#include "bpf/stack.h"

/* Limits the memory for a process with very many mappings. */
#define MOST_RANGES 16384
#define IN_PAGE     ((1ULL << UNWIND_PAGE_SHIFT) - 1)

void ranges__release(struct ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct ranges) { 0 };
}

int ranges__copy(const struct ranges *from, struct ranges *ret)
{
	struct range *list = NULL;

	if (from->count) {
		list = malloc(from->count * sizeof(*list));
		if (!list)
			return -ENOMEM;
		memcpy(list, from->list, from->count * sizeof(*list));
	}
	*ret = (struct ranges) { .list = list, .count = from->count, .capacity = from->count };
	return 0;
}

static int make_room(struct ranges *ranges, size_t count)
{
	struct range *list;
	size_t capacity = ranges->capacity ? ranges->capacity : 8;

	if (count > MOST_RANGES)
		return -ENOSPC;
	while (capacity < count)
		capacity *= 2;
	if (capacity == ranges->capacity)
		return 0;
	list = realloc(ranges->list, capacity * sizeof(*list));
	if (!list)
		return -ENOMEM;
	ranges->list = list;
	ranges->capacity = capacity;
	return 0;
}

/* The first range that ends after `address`. */
static size_t first_behind(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct range *ranges__find(const struct ranges *ranges, uint64_t address)
{
	size_t at = first_behind(ranges, address);

	return at < ranges->count && ranges->list[at].begin <= address ? &ranges->list[at] : NULL;
}

/* At most: neighbour, rest of a cut range, new range, rest of a cut range, neighbour. */
struct pieces {
	struct range list[5];
	size_t count;
};

static void add_piece(struct pieces *pieces, struct range piece)
{
	struct range *last = pieces->count ? &pieces->list[pieces->count - 1] : NULL;

	if (piece.begin >= piece.end || !piece.module)
		return;
	if (last && last->end == piece.begin && last->module == piece.module &&
	    last->address + (last->end - last->begin) == piece.address)
		last->end = piece.end;
	else
		pieces->list[pieces->count++] = piece;
}

static struct range part_of(struct range range, uint64_t begin, uint64_t end)
{
	if (begin > range.begin) {
		range.address += begin - range.begin;
		range.begin = begin;
	}
	if (end < range.end)
		range.end = end;
	return range;
}

static bool fits_tables(const struct range *range)
{
	return range->begin < range->end && range->end <= ARCH_MOST_ADDRESS &&
	       !((range->begin | range->end | range->address) & IN_PAGE) &&
	       range->address <= FRAME_ADDRESS_MASK &&
	       range->end - range->begin <= FRAME_ADDRESS_MASK - range->address;
}

int ranges__put(struct ranges *ranges, const struct range *range)
{
	struct pieces pieces = { 0 };
	size_t first, last; /* the ranges to be replaced: [first, last) */
	int err;

	if (!fits_tables(range))
		return -EINVAL;
	err = make_room(ranges, ranges->count + 2);
	if (err)
		return err;
	first = last = first_behind(ranges, range->begin);
	if (first && ranges->list[first - 1].end == range->begin)
		add_piece(&pieces, ranges->list[--first]);
	if (last < ranges->count)
		add_piece(&pieces, part_of(ranges->list[last], 0, range->begin));
	add_piece(&pieces, *range);
	while (last < ranges->count && ranges->list[last].begin < range->end) {
		add_piece(&pieces, part_of(ranges->list[last], range->end, UINT64_MAX));
		last++;
	}
	if (last < ranges->count && ranges->list[last].begin == range->end)
		add_piece(&pieces, ranges->list[last++]);
	memmove(&ranges->list[first + pieces.count], &ranges->list[last],
		(ranges->count - last) * sizeof(*ranges->list));
	memcpy(&ranges->list[first], pieces.list, pieces.count * sizeof(*ranges->list));
	ranges->count = ranges->count - (last - first) + pieces.count;
	return 0;
}

bool ranges__fill(const struct ranges *ranges, struct unwind_process *ret)
{
	size_t count = ranges->count < UNWIND_MAPPINGS ? ranges->count : UNWIND_MAPPINGS;
	size_t left_out = ranges->count - count;

	for (size_t i = 0; i < count; i++) {
		/* Keep the last ranges: the C library, which is in most stacks, is among them. */
		const struct range *range = &ranges->list[i ? i + left_out : 0];
		uint64_t page = range->begin >> UNWIND_PAGE_SHIFT;

		ret->mappings[i] = (struct unwind_mapping) {
			.page_and_module = page << UNWIND_MODULE_BITS | range->module,
			.pages = (uint32_t)((range->end - range->begin) >> UNWIND_PAGE_SHIFT),
			.file_page = (uint32_t)(range->address >> UNWIND_PAGE_SHIFT),
		};
	}
	memset(&ret->mappings[count], 0, (UNWIND_MAPPINGS - count) * sizeof(*ret->mappings));
	ret->count = (uint32_t)count;
	return count == ranges->count;
}
