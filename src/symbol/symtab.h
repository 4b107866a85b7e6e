/*
 * A table of named addresses, as symbol tables and kallsyms have them: sizes may be missing,
 * several names may begin at one address, one symbol may lie inside another.
 *
 * Fill it, seal it once, then ask. All zeroes is an empty one. It does not own the names.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/rangemap.h"

struct symtab_entry {
	uint64_t start, end; /* without `end` */
	const char *name;    /* NULL: something that is not code and ends what is before it */
	const char *owner;   /* "[module]" in kallsyms, or NULL */
	uint32_t rank;       /* of several at one address, the highest counts */
	uint32_t order;      /* set when it is added */
	bool is_open;        /* its size is unknown: it ends at the next one, or at `end` */
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
/* NULL if nothing with a name is there. */
const struct symtab_entry *symtab__find(const struct symtab *tab, uint64_t address);

/* How good a name is among several for one address. */
uint32_t symtab__rank(const char *name, bool is_sized, bool is_function, bool is_local);
