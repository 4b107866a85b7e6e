/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings of V8. A string is a row of characters of one or two bytes; or two strings one after the
 * other, which may be such pairs themselves; or a part of another string; or in memory of the
 * program (that is where Node's own scripts are).
 */
#include <errno.h>
#include <string.h>

#include "runtimes/v8.h"

#define LENGTH        12
#define CHARACTERS    16
#define FIRST         16 /* of a pair; also the string that a part or a replaced string leads to */
#define SECOND        24
#define OFFSET        24
#define EXTERNAL_DATA 24

#define REPRESENTATION(type) ((type) & 7)
#define IS_ONE_BYTE(type)    ((type) & 8)
#define IS_UNCACHED(type)    ((type) & 16)
enum representation { SEQUENCE = 0, PAIR = 1, EXTERNAL = 2, PART = 3, REPLACED = 5 };

#define MOST_STEPS      64
#define MOST_DEPTH      16
#define MOST_CHARACTERS 500

/* A part of a string, from here on. */
struct piece {
	uint64_t string;
	uint32_t first, count;
};

/*
 * Replaces a piece by what it refers to. 0: `ret` is the place of the characters; 1: it is a pair,
 * and its second string is in *second.
 */
static int resolve(const struct v8 *v8, struct piece *piece, struct v8_characters *ret,
		   struct piece *second)
{
	for (int step = 0; step < MOST_STEPS; step++) {
		int type = v8__type(v8, piece->string);
		uint64_t words[2]; /* behind the length */
		uint32_t length;

		if (type < 0 || type >= v8->types[V8_TYPE_NONSTRING] ||
		    v8__read(v8, piece->string, LENGTH, &length, sizeof(length)))
			return -EBADMSG;
		if (piece->first > length)
			return -EBADMSG;
		if (piece->count > length - piece->first)
			piece->count = length - piece->first;
		*ret = (struct v8_characters) {
			.address = (piece->string & ~UINT64_C(3)) + CHARACTERS,
			.length = piece->count,
			.width = IS_ONE_BYTE(type) ? 1 : 2,
		};
		if (REPRESENTATION(type) != SEQUENCE &&
		    v8__read(v8, piece->string, FIRST, words, sizeof(words)))
			return -EBADMSG;
		switch (REPRESENTATION(type)) {
		case EXTERNAL:
			if (IS_UNCACHED(type))
				return -EBADMSG;
			ret->address = words[1];
			/* fallthrough */
		case SEQUENCE:
			ret->address += (uint64_t)piece->first * ret->width;
			return 0;
		case PART:
			if (!v8__is_number(words[1]) || words[1] >> 32 > UINT32_MAX / 2 ||
			    piece->first > UINT32_MAX / 2)
				return -EBADMSG;
			piece->first += (uint32_t)(words[1] >> 32);
			/* fallthrough */
		case REPLACED:
			piece->string = words[0];
			break;
		case PAIR:
			if (v8__read(v8, words[0], LENGTH, &length, sizeof(length)))
				return -EBADMSG;
			if (piece->first + (uint64_t)piece->count <= length) {
				piece->string = words[0];
				break;
			}
			if (piece->first >= length) {
				piece->string = words[1];
				piece->first -= length;
				break;
			}
			*second = (struct piece) { words[1], 0,
						   piece->count - (length - piece->first) };
			*piece = (struct piece) { words[0], piece->first, length - piece->first };
			return 1;
		default:
			return -EBADMSG;
		}
	}
	return -EBADMSG;
}

int v8_text__locate(const struct v8 *v8, uint64_t string, struct v8_characters *ret)
{
	struct piece piece = { string, 0, UINT32_MAX }, second;
	int err = resolve(v8, &piece, ret, &second);

	return err > 0 ? -EBADMSG : err;
}

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

/* The next character; half of a surrogate pair is replaced. */
static uint32_t next_character(const uint8_t *bytes, uint32_t count, uint32_t width, uint32_t *at)
{
	uint16_t unit, next;

	if (width == 1)
		return bytes[(*at)++];
	memcpy(&unit, bytes + 2 * (*at)++, sizeof(unit));
	if (unit < 0xd800 || unit >= 0xe000)
		return unit;
	if (unit >= 0xdc00 || *at >= count)
		return 0xfffd;
	memcpy(&next, bytes + 2 * *at, sizeof(next));
	if (next < 0xdc00 || next >= 0xe000)
		return 0xfffd;
	(*at)++;
	return 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (next - 0xdc00U);
}

/* Appends as much as there is room for. false: the room is used up. */
static bool append(const struct v8 *v8, const struct v8_characters *from, char *to, size_t size,
		   size_t *used)
{
	uint32_t count = from->length < MOST_CHARACTERS ? from->length : MOST_CHARACTERS, at = 0;
	uint8_t bytes[2 * MOST_CHARACTERS];

	if (remote__read(v8->memory, from->address, bytes, (size_t)count * from->width))
		return false;
	while (at < count) {
		uint32_t character = next_character(bytes, count, from->width, &at);
		size_t put = put_utf8(to + *used, size - 1 - *used, character);

		if (!put)
			return false;
		*used += put;
	}
	return count == from->length;
}

int v8_text__read(const struct v8 *v8, uint64_t string, char *to, size_t size)
{
	struct piece waiting[MOST_DEPTH] = { { string, 0, UINT32_MAX } };
	struct v8_characters characters;
	int depth = 1, err = 0;
	size_t used = 0;

	for (int step = 0; depth && step < MOST_STEPS; step++) {
		struct piece piece = waiting[--depth], second;

		err = resolve(v8, &piece, &characters, &second);
		if (err < 0)
			break;
		if (!err) {
			if (!append(v8, &characters, to, size, &used))
				break;
			continue;
		}
		if (depth + 2 > MOST_DEPTH)
			break;
		waiting[depth++] = second;
		waiting[depth++] = piece;
	}
	to[used] = '\0';
	return err < 0 && !used ? err : 0;
}
