/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of named addresses, from symbol tables and kallsyms: sizes may be missing, several names
 * may begin at one address, and one symbol may be inside another.
 *
 * Fill it, seal it once, then look up. All zeroes: empty. It does not own the names.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/rangemap.h"

struct symtab_entry {
	uint64_t start, end; /* `end` is exclusive */
	const char *name;    /* NULL: not code, but ends the symbol before it */
	const char *owner;   /* "[module]" in kallsyms, or NULL */
	uint32_t rank;       /* at one address, the highest rank wins */
	uint32_t order;      /* set by symtab__add() */
	bool is_open;        /* unknown size: it ends at the next symbol, or at `end` */
};

struct symtab {
	struct symtab_entry *entries;
	size_t count;
	struct rangemap ranges;
};

void symtab__release(struct symtab *tab);
/* -ENOMEM, -E2BIG */
int symtab__add(struct symtab *tab, const struct symtab_entry *entry);
int symtab__seal(struct symtab *tab);
/* NULL if there is no named symbol. */
const struct symtab_entry *symtab__find(const struct symtab *tab, uint64_t address);

/* The rank of a name among several names of one address. */
uint32_t symtab__rank(const char *name, bool is_sized, bool is_function, bool is_local);
