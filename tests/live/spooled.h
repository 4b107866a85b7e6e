/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that an agent has spooled for the store, decoded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spooled_value {
	uint64_t number;
	char *text; /* NULL: not a text */
	uint64_t *list;
	size_t count; /* of `list` */
};

#define SPOOLED_COLUMNS 32

struct spooled {
	char names[SPOOLED_COLUMNS][32];
	size_t columns;
	struct spooled_value *values; /* row by row */
	size_t rows;
};

/* All rows of a table, of all minutes below `folder`. */
struct spooled spooled__read(const char *folder, const char *table);
/* Adds the rows of a block in ClickHouse's Native format. */
void spooled__add(struct spooled *spooled, const void *block, size_t size);
void spooled__release(struct spooled *spooled);

/* Fails the test if there is no such column. */
const struct spooled_value *spooled__get(const struct spooled *spooled, size_t row,
					 const char *column);
