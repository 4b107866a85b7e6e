/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes protocol buffers: numbers and lengths as varints, messages as bytes. The first failure
 * (out of memory) is kept; proto__failed() returns it at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize with zeroes. */
struct proto {
	unsigned char *bytes;
	size_t size, room;
	bool failed;
};

void proto__release(struct proto *proto);
/* Empties the buffer but keeps its memory. */
void proto__clear(struct proto *proto);
bool proto__failed(const struct proto *proto);

/* Fields of int64, uint64, bool and enums. Leaves out 0, the default that readers assume. */
void proto__number(struct proto *proto, unsigned int field, uint64_t value);
/* The same, but writes 0 too. */
void proto__number_always(struct proto *proto, unsigned int field, uint64_t value);
void proto__fixed64(struct proto *proto, unsigned int field, uint64_t value);
void proto__double(struct proto *proto, unsigned int field, double value);
void proto__text(struct proto *proto, unsigned int field, const char *text);
/* The same with '?' for what utf8__sanitize() replaces: readers refuse what is not UTF-8. */
void proto__clean_text(struct proto *proto, unsigned int field, const char *text);
void proto__bytes(struct proto *proto, unsigned int field, const void *bytes, size_t size);
/* A packed list of numbers. Writes nothing if it is empty. */
void proto__numbers(struct proto *proto, unsigned int field, const uint64_t *values, size_t count);
/* Writes a message as a field of its parent and clears `message` for reuse. */
void proto__message(struct proto *proto, unsigned int field, struct proto *message);
/*
 * Writes a message with its length before it, as in a stream of messages, and clears `message` for
 * reuse.
 */
void proto__delimited(struct proto *proto, struct proto *message);

/* How sint32 and sint64 are encoded: numbers near 0 stay short. */
static inline uint64_t proto__zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}
