/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MOST_SYMBOLS (1U << 22)

void symtab__release(struct symtab *tab)
{
	free(tab->last);
	free(tab->entries);
	rangemap__release(&tab->ranges);
	*tab = (struct symtab) {};
}

int symtab__want(struct symtab *tab, const struct addresses *wanted)
{
	symtab__release(tab);
	tab->last = calloc(wanted->count ? wanted->count : 1, sizeof(*tab->last));
	if (!tab->last)
		return -ENOMEM;
	tab->wanted = wanted;
	return 0;
}

void symtab__keep(struct symtab *tab)
{
	tab->keeps = true;
}

/*
 * Whether the symbol decides about a wanted address. `at` is the first one at or after its start. A
 * symbol with a size must contain it. Otherwise no symbol may begin in between; those that begin at
 * the same address are kept too, because they compete or end an earlier one.
 */
static bool is_needed(const struct symtab *tab, const struct symtab_entry *entry, size_t at)
{
	return tab->last[at] == entry->start + 1 ||
	       (!entry->is_open && entry->end > tab->wanted->sorted[at]);
}

int symtab__add(struct symtab *tab, const struct symtab_entry *entry)
{
	size_t at = addresses__from(tab->wanted, entry->start);
	struct symtab_entry *added;

	tab->added += tab->keeps;
	if (at == tab->wanted->count)
		return 0;
	if (!tab->keeps) {
		if (tab->last[at] < entry->start + 1)
			tab->last[at] = entry->start + 1;
		return 0;
	}
	if (!is_needed(tab, entry, at))
		return 0;
	if (tab->count == MOST_SYMBOLS)
		return -E2BIG;
	added = APPEND(&tab->entries, &tab->count);
	if (!added)
		return -ENOMEM;
	*added = *entry;
	added->order = tab->added;
	return 0;
}

static int by_start_and_rank(const void *a, const void *b)
{
	const struct symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* Equal ranks: the last one wins, as in llvm-symbolizer. */
	return x->order < y->order ? -1 : x->order > y->order;
}

static void end_unsized_at_next(struct symtab *tab)
{
	uint64_t next = UINT64_MAX, start = UINT64_MAX;

	for (size_t i = tab->count; i-- > 0;) {
		struct symtab_entry *entry = &tab->entries[i];

		if (entry->start != start) {
			next = start;
			start = entry->start;
		}
		if (entry->is_open && entry->end > next)
			entry->end = next;
	}
}

int symtab__seal(struct symtab *tab)
{
	if (tab->count)
		qsort(tab->entries, tab->count, sizeof(*tab->entries), by_start_and_rank);
	end_unsized_at_next(tab);
	/* Later ranges win: inner symbols over outer ones, and the highest rank. */
	for (size_t i = 0; i < tab->count; i++) {
		int err = rangemap__add(&tab->ranges, tab->entries[i].start, tab->entries[i].end,
					(uint32_t)i);

		if (err)
			return err;
	}
	tab->version = tab->wanted->version;
	return rangemap__seal(&tab->ranges);
}

const struct symtab_entry *symtab__find(const struct symtab *tab, uint64_t address)
{
	uint32_t index;

	return rangemap__find(&tab->ranges, address, &index) ? &tab->entries[index] : NULL;
}

uint32_t symtab__rank(const char *name, bool is_sized, bool is_function, bool is_local)
{
	size_t underscores = strspn(name, "_");

	/* Prefer write to __write and __GI___write, although write is the weak symbol. */
	if (underscores > 15)
		underscores = 15;
	return (uint32_t)is_sized << 6 | (uint32_t)is_function << 5 |
	       (uint32_t)(15 - underscores) << 1 | !is_local;
}
