/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of named addresses, from symbol tables: sizes may be missing, several names may begin at
 * one address, and one symbol may be inside another.
 *
 * Only the symbols that decide about the wanted addresses are kept. A symbol without a size ends at
 * the next one, which may come later in the file. So all symbols are added twice: at first the
 * table notes where the last symbol before each wanted address begins, and then it keeps what is
 * needed.
 *
 * symtab__want(), add all, symtab__keep(), add all again, symtab__seal(), then look up. All zeroes:
 * empty. It does not own the names.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/addresses.h"
#include "symbol/rangemap.h"

struct symtab_entry {
	uint64_t start, end; /* `end` is exclusive */
	const char *name;
	uint32_t rank;   /* at one address, the highest rank wins */
	uint32_t order;  /* set by symtab__add() */
	bool is_dynamic; /* from .dynsym */
	bool is_open;    /* unknown size: it ends at the next symbol, or at `end` */
};

struct symtab {
	const struct addresses *wanted;
	uint64_t *last;   /* by wanted address: the start of the last symbol before it, plus 1 */
	bool keeps;       /* symtab__keep() was called */
	uint32_t added;   /* since then */
	uint64_t version; /* of `wanted`, when it was sealed; 0: not sealed */
	struct symtab_entry *entries;
	size_t count;
	struct rangemap ranges;
};

void symtab__release(struct symtab *tab);
/* Empties the table. `wanted` must stay as it is until the table is sealed. -ENOMEM. */
int symtab__want(struct symtab *tab, const struct addresses *wanted);
/* All symbols follow once more, in the same order. */
void symtab__keep(struct symtab *tab);
/* -ENOMEM, -E2BIG */
int symtab__add(struct symtab *tab, const struct symtab_entry *entry);
int symtab__seal(struct symtab *tab);
/* The address must be a wanted one. NULL if there is no symbol. */
const struct symtab_entry *symtab__find(const struct symtab *tab, uint64_t address);

/* The rank of a name among several names of one address. */
uint32_t symtab__rank(const char *name, bool is_sized, bool is_function, bool is_local);
