/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

const char INTERN_NONE[] = "", INTERN_OTHER[] = "(other)";

/* Words with the same hash are in a list. */
struct word {
	struct word *next;
	char text[];
};

struct intern {
	struct map words; /* by hash: the first of a list */
	size_t count;
};

int intern__new(struct intern **ret)
{
	struct intern *intern = calloc(1, sizeof(*intern));

	if (!intern)
		return -ENOMEM;
	*ret = intern;
	return 0;
}

void intern__free(struct intern *intern)
{
	struct word *word;
	size_t at = 0;

	if (!intern)
		return;
	while ((word = map__next(&intern->words, &at)))
		while (word) {
			struct word *next = word->next;

			free(word);
			word = next;
		}
	map__release(&intern->words);
	free(intern);
}

const char *intern__word(struct intern *intern, const char *text)
{
	uint64_t hash = map__mix_text(0, text);
	struct word *first = map__get(&intern->words, hash), *word;
	size_t size = strlen(text) + 1;

	if (!*text)
		return INTERN_NONE;
	if (!strcmp(text, INTERN_OTHER))
		return INTERN_OTHER;
	for (word = first; word; word = word->next)
		if (!strcmp(word->text, text))
			return word->text;
	if (intern->count >= INTERN_MOST)
		return INTERN_OTHER;
	word = malloc(sizeof(*word) + size);
	if (!word || map__put(&intern->words, hash, word)) {
		free(word);
		return NULL;
	}
	word->next = first;
	memcpy(word->text, text, size);
	intern->count++;
	return word->text;
}

size_t intern__count(const struct intern *intern)
{
	return intern->count;
}
