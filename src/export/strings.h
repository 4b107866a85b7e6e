/* Texts that go by a number: every different one once, in the order of their first use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct strings_entry {
	char *text;
	uint32_t next; /* with the same hash; UINT32_MAX: none */
};

/* All zeroes is an empty one. */
struct strings {
	struct strings_entry *entries;
	size_t count, capacity;
	struct map by_hash; /* 1 + the index of the first of that hash */
};

/* -ENOMEM; the text is copied. */
int strings__add(struct strings *strings, const char *text, uint32_t *ret);
void strings__release(struct strings *strings);
