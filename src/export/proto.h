/*
 * Writes protocol buffers: numbers and lengths as varints, messages as bytes. The first failure
 * (out of memory) stays; proto__failed() tells at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes is empty. */
struct proto {
	unsigned char *bytes;
	size_t size, room;
	bool failed;
};

void proto__release(struct proto *proto);
/* Empties it and keeps the memory. */
void proto__clear(struct proto *proto);
bool proto__failed(const struct proto *proto);

/* Fields of int64, uint64, bool and enums. 0, which readers assume, is left out. */
void proto__number(struct proto *proto, unsigned int field, uint64_t value);
/* The same with 0 written. */
void proto__number_always(struct proto *proto, unsigned int field, uint64_t value);
void proto__fixed64(struct proto *proto, unsigned int field, uint64_t value);
void proto__double(struct proto *proto, unsigned int field, double value);
void proto__text(struct proto *proto, unsigned int field, const char *text);
void proto__bytes(struct proto *proto, unsigned int field, const void *bytes, size_t size);
/* A packed list of numbers; nothing if it is empty. */
void proto__numbers(struct proto *proto, unsigned int field, const uint64_t *values, size_t count);
/* A message in a field of its parent; `message` is cleared for the next. */
void proto__message(struct proto *proto, unsigned int field, struct proto *message);
