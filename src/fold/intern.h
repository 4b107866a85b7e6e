/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned strings: equal words have the same address until they are released. One thread only. */
#pragma once

#include <stddef.h>

struct intern;

/* "" and "(other)", which stands for names beyond a limit. Every table has them. */
extern const char INTERN_NONE[], INTERN_OTHER[];

int intern__new(struct intern **ret);
/* Releases all words, too. */
void intern__free(struct intern *intern);

/* NULL if out of memory. INTERN_OTHER for a new word if there are INTERN_MOST of them. */
#define INTERN_MOST 65536
const char *intern__word(struct intern *intern, const char *word);
/* How many words there are. */
size_t intern__count(const struct intern *intern);
