/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "runtimes/v8.h"

#define MAP_TYPE     12
#define ARRAY_LENGTH 8
#define ARRAY_DATA   16
#define MOST_BYTES   (1U << 20)

bool v8__is_object(uint64_t tagged)
{
	return tagged & 1;
}

bool v8__is_number(uint64_t word)
{
	return !(uint32_t)word;
}

int v8__read(const struct v8 *v8, uint64_t object, uint32_t offset, void *to, size_t size)
{
	if (!v8__is_object(object))
		return -EFAULT;
	return remote__read(v8->memory, (object & ~UINT64_C(3)) + offset, to, size);
}

uint64_t v8__word(const struct v8 *v8, uint64_t object, uint32_t offset)
{
	uint64_t word;

	return v8__read(v8, object, offset, &word, sizeof(word)) ? 0 : word;
}

int v8__type(const struct v8 *v8, uint64_t object)
{
	uint16_t type;

	return v8__read(v8, v8__word(v8, object, 0), MAP_TYPE, &type, sizeof(type)) ? -1 : type;
}

bool v8__is(const struct v8 *v8, uint64_t object, enum v8_type type)
{
	return v8__type(v8, object) == v8->types[type];
}

uint64_t v8__element(const struct v8 *v8, uint64_t array, uint32_t index)
{
	uint64_t length = v8__word(v8, array, ARRAY_LENGTH);

	if (!v8__is_number(length) || index >= length >> 32)
		return 0;
	return index > MOST_BYTES ? 0 : v8__word(v8, array, ARRAY_DATA + 8 * index);
}

uint8_t *v8__bytes(const struct v8 *v8, uint64_t array, size_t *ret_size)
{
	uint64_t length = v8__word(v8, array, ARRAY_LENGTH);
	uint8_t *bytes;

	if (!v8__is_number(length) || !length || length >> 32 > MOST_BYTES)
		return NULL;
	bytes = malloc(length >> 32);
	if (bytes && v8__read(v8, array, ARRAY_DATA, bytes, length >> 32)) {
		free(bytes);
		return NULL;
	}
	*ret_size = length >> 32;
	return bytes;
}
