/* Texts numbered from 0 on, each once: a table of strings. The texts stay the caller's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* All zeroes is empty. */
struct names {
	const char **texts;
	size_t count;
	struct map by_hash;
};

void names__release(struct names *names);

/* The number of `text`, which is added if it is new. -ENOMEM. */
int names__find(struct names *names, const char *text, uint32_t *ret);
