/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/lexicon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

const char LEXICON_NONE[] = "", LEXICON_OTHER[] = "(other)";

/* Words with the same hash are in a list. */
struct word {
	struct word *next;
	char text[];
};

struct lexicon {
	struct map words; /* by hash: the first of a list */
	size_t count;
};

int lexicon__new(struct lexicon **ret)
{
	struct lexicon *lexicon = calloc(1, sizeof(*lexicon));

	if (!lexicon)
		return -ENOMEM;
	*ret = lexicon;
	return 0;
}

void lexicon__free(struct lexicon *lexicon)
{
	struct word *word;
	size_t at = 0;

	if (!lexicon)
		return;
	while ((word = map__next(&lexicon->words, &at)))
		while (word) {
			struct word *next = word->next;

			free(word);
			word = next;
		}
	map__release(&lexicon->words);
	free(lexicon);
}

const char *lexicon__word(struct lexicon *lexicon, const char *text)
{
	uint64_t hash = map__mix_text(0, text);
	struct word *first = map__get(&lexicon->words, hash), *word;
	size_t size = strlen(text) + 1;

	if (!*text)
		return LEXICON_NONE;
	if (!strcmp(text, LEXICON_OTHER))
		return LEXICON_OTHER;
	for (word = first; word; word = word->next)
		if (!strcmp(word->text, text))
			return word->text;
	if (lexicon->count >= LEXICON_MOST)
		return LEXICON_OTHER;
	word = malloc(sizeof(*word) + size);
	if (!word || map__put(&lexicon->words, hash, word)) {
		free(word);
		return NULL;
	}
	word->next = first;
	memcpy(word->text, text, size);
	lexicon->count++;
	return word->text;
}

size_t lexicon__count(const struct lexicon *lexicon)
{
	return lexicon->count;
}
