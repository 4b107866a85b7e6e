/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of V8 that lead from code to the source. Their numbers are in bytes of 7 bits, the lowest
 * first.
 */
#include "runtimes/v8.h"

#define MOST_BITS 63

/* Bytecodes that make the operands of the next one wider. */
enum prefix { WIDE, EXTRA_WIDE, DEBUG_BREAK_WIDE, DEBUG_BREAK_EXTRA_WIDE };

struct cursor {
	const uint8_t *at, *end;
};

static bool get(struct cursor *cursor, uint64_t *ret)
{
	uint64_t value = 0;

	for (int bits = 0; cursor->at < cursor->end && bits < MOST_BITS; bits += 7) {
		uint8_t byte = *cursor->at++;

		value |= (uint64_t)(byte & 0x7f) << bits;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool get_signed(struct cursor *cursor, int64_t *ret)
{
	uint64_t value;

	if (!get(cursor, &value))
		return false;
	*ret = (int64_t)(value >> 1 ^ -(value & 1));
	return true;
}

/*
 * A row has two differences to the row before: of the code's offset, whose sign says whether a
 * statement begins, and of the position.
 */
int64_t v8_positions__find(const uint8_t *table, size_t size, int64_t offset)
{
	struct cursor cursor = { table, table + size };
	/* The first row is of the entry of the function, before its first instruction. */
	int64_t code = -1, position = 0, found = -1, difference, step;

	while (get_signed(&cursor, &difference) && get_signed(&cursor, &step)) {
		code = (int64_t)((uint64_t)code +
				 (uint64_t)(difference < 0 ? -(difference + 1) : difference));
		position = (int64_t)((uint64_t)position + (uint64_t)step);
		if (code > offset)
			break;
		found = position;
	}
	return found;
}

/* The size of a bytecode with its prefix. 0: not known. */
static size_t bytecode_size(const struct v8 *v8, const uint8_t *at, size_t size)
{
	uint32_t scale = 0, prefix = 0, bytes;

	if (!size)
		return 0;
	if (*at <= DEBUG_BREAK_EXTRA_WIDE) {
		scale = *at == WIDE || *at == DEBUG_BREAK_WIDE ? 1 : 2;
		prefix = 1;
	}
	if (prefix >= size || at[prefix] >= v8->bytecodes)
		return 0;
	bytes = v8->bytecode_sizes[scale][at[prefix]];
	return bytes ? prefix + bytes : 0;
}

/* The table has the size of the code of each bytecode; first, that of the code before them all. */
int64_t v8_positions__bytecode(const struct v8 *v8, const uint8_t *table, size_t size,
			       const uint8_t *bytecode, size_t bytecode_bytes, uint32_t offset)
{
	struct cursor cursor = { table, table + size };
	int64_t found = -1;
	size_t next = 0;
	uint64_t end = 0, step;

	while (get(&cursor, &step)) {
		size_t bytes;

		end += step;
		if (end > offset)
			return found;
		if (next >= bytecode_bytes)
			return -1;
		bytes = bytecode_size(v8, bytecode + next, bytecode_bytes - next);
		if (!bytes)
			return -1;
		found = (int64_t)next;
		next += bytes;
	}
	return -1;
}

/* Bit 0: not in a script. The offset and the number are stored plus 1. */
int32_t v8_position__offset(int64_t position)
{
	return position < 0 || position & 1 ? -1 : (int32_t)((position >> 1 & 0x3fffffff) - 1);
}

uint32_t v8_position__inlined(int64_t position)
{
	return position < 0 ? 0 : (uint32_t)(position >> 31) & 0xffff;
}
