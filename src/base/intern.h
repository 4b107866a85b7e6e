/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A string table: texts numbered from 0, each stored once. The caller keeps the texts alive. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Initialize with zeroes. */
struct intern {
	const char **texts;
	size_t count;
	struct map by_hash;
};

void intern__release(struct intern *names);

/* Returns the number of `text` and adds it if it is new. -ENOMEM. */
int intern__find(struct intern *names, const char *text, uint32_t *ret);
