/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads numbers from untrusted bytes. A read past the end returns 0 and sets `bad`, so it is enough
 * to check `bad` once, after a whole entry. Little-endian only, as are all machines in bpf/arch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t cursor__fixed(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static inline uint8_t cursor__byte(struct cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->bad = true;
		return 0;
	}
	return *cursor->at++;
}

/* LEB128; bits above 64 are dropped. *ret_shift: the number of bits in the encoding. */
static inline uint64_t cursor__bits(struct cursor *cursor, unsigned *ret_shift, uint8_t *ret_last)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor__byte(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret_shift = shift;
	*ret_last = byte;
	return value;
}

static inline uint64_t cursor__unsigned(struct cursor *cursor)
{
	unsigned shift;
	uint8_t last;

	return cursor__bits(cursor, &shift, &last);
}

static inline int64_t cursor__signed(struct cursor *cursor)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = cursor__bits(cursor, &shift, &last);

	if (shift < 64 && last & 0x40)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

/* The next `bytes` bytes as a cursor of their own; this cursor skips them. */
static inline struct cursor cursor__block(struct cursor *cursor, uint64_t bytes)
{
	struct cursor block = { .at = cursor->at, .end = cursor->at };

	if ((uint64_t)(cursor->end - cursor->at) < bytes) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return block;
	}
	cursor->at += bytes;
	block.end = cursor->at;
	return block;
}
