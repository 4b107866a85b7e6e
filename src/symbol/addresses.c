/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int addresses__set(struct addresses *addresses, const uint64_t *list, size_t count)
{
	uint64_t *sorted = calloc(count ? count : 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	if (count) {
		memcpy(sorted, list, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), compare);
	}
	free(addresses->sorted);
	addresses->sorted = sorted;
	addresses->count = count;
	addresses->version++;
	return 0;
}

void addresses__release(struct addresses *addresses)
{
	free(addresses->sorted);
	*addresses = (struct addresses) {};
}

size_t addresses__from(const struct addresses *addresses, uint64_t start)
{
	size_t low = 0, high = addresses->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses->sorted[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool addresses__any(const struct addresses *addresses, uint64_t start, uint64_t end)
{
	size_t first = addresses__from(addresses, start);

	return first < addresses->count && addresses->sorted[first] < end;
}
