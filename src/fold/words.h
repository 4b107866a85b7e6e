/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interned strings: equal words have the same address for as long as the table lives. */
#pragma once

#include <stddef.h>

struct words_table;

/* At most `most` different words; then words_table__intern() returns BUCKET_OTHER's word. */
int words_table__new(size_t most, struct words_table **ret);
void words_table__free(struct words_table *table);
/* NULL if out of memory. */
const char *words_table__intern(struct words_table *table, const char *word);
