/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/ids.h"

#include <stdlib.h>

#include "base/vec.h"

void ids__release(struct ids *ids)
{
	free(ids->list);
	*ids = (struct ids) {};
}

uint32_t ids__find(const struct ids *ids, int64_t id)
{
	size_t low = 0, high = ids->count;

	if (!high || id < ids->list[0])
		return IDS_NONE;
	/* Ids are usually consecutive. */
	if ((uint64_t)id - (uint64_t)ids->list[0] < high && ids->list[id - ids->list[0]] == id)
		return (uint32_t)(id - ids->list[0]);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->list[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ids->count && ids->list[low] == id ? (uint32_t)low : IDS_NONE;
}

void *ids__append(struct ids *ids, int64_t id, void *array, size_t *count, size_t size)
{
	int64_t *at = APPEND(&ids->list, &ids->count);

	if (!at)
		return NULL;
	*at = id;
	return vec__append(array, count, size);
}
