/* Texts numbered from 0 on, each once: a table of strings. The texts stay the caller's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* All zeroes is empty. */
struct intern {
	const char **texts;
	size_t count;
	struct map by_hash;
};

void intern__release(struct intern *names);

/* The number of `text`, which is added if it is new. -ENOMEM. */
int intern__find(struct intern *names, const char *text, uint32_t *ret);
