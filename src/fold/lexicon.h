/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned strings: equal words have the same address until they are released. One thread only. */
#pragma once

#include <stddef.h>

struct lexicon;

/* "" and "(other)", which stands for names beyond a limit. Every table has them. */
extern const char LEXICON_NONE[], LEXICON_OTHER[];

int lexicon__new(struct lexicon **ret);
/* Releases all words, too. */
void lexicon__free(struct lexicon *lexicon);

/* NULL if out of memory. LEXICON_OTHER for a new word if there are LEXICON_MOST of them. */
#define LEXICON_MOST 65536
const char *lexicon__word(struct lexicon *lexicon, const char *text);
/* How many words there are. */
size_t lexicon__count(const struct lexicon *lexicon);
