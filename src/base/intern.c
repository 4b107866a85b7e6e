/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void intern__release(struct intern *names)
{
	map__release(&names->by_hash);
	free(names->texts);
	*names = (struct intern) {};
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

static int add(struct intern *names, const char *text, uint64_t hash)
{
	const char **at = APPEND(&names->texts, &names->count);

	if (!at)
		return -ENOMEM;
	*at = text;
	/* The map stores an index + 1 as a pointer, because NULL means "none". */
	return map__put(&names->by_hash, hash, (void *)names->count);
}

int intern__find(struct intern *names, const char *text, uint32_t *ret)
{
	uint64_t hash = hash_of(text);
	void *value;
	int err;

	/* A different text with the same hash uses the next hash. */
	for (; (value = map__get(&names->by_hash, hash)); hash++) {
		size_t at = (size_t)value - 1;

		if (strcmp(names->texts[at], text))
			continue;
		*ret = (uint32_t)at;
		return 0;
	}
	err = add(names, text, hash);
	if (!err)
		*ret = (uint32_t)(names->count - 1);
	return err;
}
