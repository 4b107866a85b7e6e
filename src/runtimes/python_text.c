/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of CPython: one, two or four bytes a character, whatever the widest one needs. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "runtimes/python.h"

/* In the header of a text, the same in all versions. */
#define TEXT_LENGTH     16
#define TEXT_STATE      32
#define KIND(state)     ((state) >> 2 & 7)
#define IS_ASCII(state) ((state) >> 6 & 1)
/* Reads at most so many characters: a name is shorter. */
#define MOST_CHARACTERS 400

/* The bytes that were written; 0: it does not fit. */
static size_t put_utf8(char *to, size_t room, uint32_t character)
{
	size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	if (bytes > room)
		return 0;
	if (bytes == 1) {
		*to = (char)character;
		return 1;
	}
	for (size_t i = bytes; --i;) {
		to[i] = (char)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	*to = (char)(0xf00 >> bytes | character);
	return bytes;
}

static uint32_t character_at(const uint8_t *bytes, size_t width)
{
	uint32_t value = 0;

	memcpy(&value, bytes, width);
	/* Not a character of Unicode: a surrogate, or too large. */
	return value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? 0xfffd : value;
}

int python_text__read(struct remote *memory, const struct python_layout *layout, uint64_t address,
		      char *to, size_t size)
{
	uint8_t header[40], bytes[4 * MOST_CHARACTERS];
	uint32_t state, width;
	uint64_t length;
	size_t used = 0;

	if (remote__read(memory, address, header, sizeof(header)))
		return -EFAULT;
	memcpy(&length, header + TEXT_LENGTH, sizeof(length));
	memcpy(&state, header + TEXT_STATE, sizeof(state));
	width = KIND(state);
	if (width != 1 && width != 2 && width != 4)
		return -EBADMSG;
	length = length < MOST_CHARACTERS ? length : MOST_CHARACTERS;
	address += IS_ASCII(state) ? layout->ascii : layout->wide;
	if (remote__read(memory, address, bytes, length * width))
		return -EFAULT;
	for (size_t i = 0; i < length; i++) {
		size_t put = put_utf8(to + used, size - 1 - used,
				      character_at(bytes + i * width, width));

		if (!put)
			break;
		used += put;
	}
	to[used] = '\0';
	return 0;
}
