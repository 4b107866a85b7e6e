/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *vec__append(void *array, size_t *count, size_t size)
{
	void **at = array;

	if (*count >= UINT32_MAX)
		return NULL;
	/* The capacity is the next power of two, so it need not be stored. */
	if (!(*count & (*count - 1))) {
		void *grown = reallocarray(*at, *count ? *count * 2 : 1, size);

		if (!grown)
			return NULL;
		*at = grown;
	}
	return memset((char *)*at + (*count)++ * size, 0, size);
}
