/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table has no sizes: a symbol ends where the next one begins. So the entry with the last start
 * at or before an address decides, and a sorted array is enough. Rejected: a struct symtab, which
 * needs five times the memory.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/symtab.h"

#define MOST_NAME_BYTES (UINT32_C(1) << 30)
#define FIRST_CAPACITY  65536

/* An address further behind a symbol than this does not belong to it. */
#define MOST_FUNCTION_BYTES (1 << 20)

/* Lower addresses are in user space, offsets of per-CPU variables, or hidden. */
#define KERNEL_STARTS (UINT64_C(1) << 63)

struct kallsyms_entry {
	uint64_t start;
	uint32_t name;  /* offset in `names`; 0: not code, but ends the symbol before it */
	uint16_t rank;  /* at one address, the highest rank wins, then the last line */
	bool has_owner; /* the owner follows the name */
};

void kallsyms__release(struct kallsyms *kallsyms)
{
	free(kallsyms->entries);
	free(kallsyms->names);
	*kallsyms = (struct kallsyms) {};
}

/* Appends a string. *ret: its offset, which is never 0. */
static int add_text(struct kallsyms *kallsyms, const char *text, uint32_t *ret)
{
	size_t size = strlen(text) + 1;
	size_t at = kallsyms->names_size ? kallsyms->names_size : 1;
	size_t capacity = kallsyms->names_capacity;

	if (size > MOST_NAME_BYTES || at + size > MOST_NAME_BYTES)
		return -E2BIG;
	while (at + size > capacity)
		capacity = capacity ? 2 * capacity : FIRST_CAPACITY;
	if (capacity > kallsyms->names_capacity) {
		char *names = realloc(kallsyms->names, capacity);

		if (!names)
			return -ENOMEM;
		kallsyms->names = names;
		kallsyms->names_capacity = capacity;
	}
	memcpy(kallsyms->names + at, text, size);
	kallsyms->names_size = at + size;
	*ret = (uint32_t)at;
	return 0;
}

static int add_names(struct kallsyms *kallsyms, const char *name, const char *owner,
		     struct kallsyms_entry *entry)
{
	uint32_t unused;
	int err = add_text(kallsyms, name, &entry->name);

	if (!err && owner)
		err = add_text(kallsyms, owner, &unused);
	entry->has_owner = owner != NULL;
	entry->rank = (uint16_t)symtab__rank(name, true, true, false);
	return err;
}

/* Adds one line, which ends with 0. -ENOMEM, -E2BIG. */
static int add_line(struct kallsyms *kallsyms, char *line)
{
	char *end, *name, *owner, type;
	struct kallsyms_entry entry = { .start = strtoull(line, &end, 16) }, *added;
	int err;

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return 0;
	type = end[1];
	if (entry.start < KERNEL_STARTS || type == 'a' || type == 'A')
		return 0;
	name = end + 3;
	owner = strchr(name, '\t');
	if (owner)
		*owner++ = '\0';
	err = strchr("tTwW", type) ? add_names(kallsyms, name, owner, &entry) : 0;
	if (err)
		return err;
	added = APPEND(&kallsyms->entries, &kallsyms->count);
	if (!added)
		return -ENOMEM;
	*added = entry;
	return 0;
}

static int by_start_and_rank(const void *a, const void *b)
{
	const struct kallsyms_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int kallsyms__read(FILE *file, struct kallsyms *ret)
{
	struct kallsyms kallsyms = {};
	cleanup(free_p) char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	int err = 0;

	while (!err && (length = getline(&line, &capacity, file)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		err = add_line(&kallsyms, line);
	}
	if (err == -ENOMEM) {
		kallsyms__release(&kallsyms);
		return err;
	}
	if (kallsyms.count)
		qsort(kallsyms.entries, kallsyms.count, sizeof(*kallsyms.entries),
		      by_start_and_rank);
	*ret = kallsyms;
	return 0;
}

const char *kallsyms__find(const struct kallsyms *kallsyms, uint64_t address,
			   const char **ret_owner)
{
	const struct kallsyms_entry *entry;
	size_t low = 0, high = kallsyms->count;
	const char *name;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kallsyms->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	entry = low ? &kallsyms->entries[low - 1] : NULL;
	if (!entry || !entry->name || address - entry->start >= MOST_FUNCTION_BYTES)
		return NULL;
	name = kallsyms->names + entry->name;
	*ret_owner = entry->has_owner ? name + strlen(name) + 1 : NULL;
	return name;
}

static const struct kallsyms *kernel_names(void)
{
	static struct kallsyms kallsyms;
	static bool is_read;
	cleanup(fclose_p) FILE *file = NULL;

	if (is_read)
		return &kallsyms;
	is_read = true;
	file = fopen("/proc/kallsyms", "re");
	if (file && kallsyms__read(file, &kallsyms))
		kallsyms__release(&kallsyms);
	return &kallsyms;
}

void kallsyms__say(uint64_t address, char *ret, size_t size)
{
	const char *owner = NULL, *name = kallsyms__find(kernel_names(), address, &owner);

	if (name)
		snprintf(ret, size, "%s%s%s", name, owner ? " " : "", owner ? owner : "");
	else
		snprintf(ret, size, "%#" PRIx64, address);
}
