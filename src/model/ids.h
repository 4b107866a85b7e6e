/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ids of a table's rows in ascending order. The position of an id is the index of its row. This
 * is a sorted array and not a hash, because a hostile file could fill a hash with collisions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define IDS_NONE UINT32_MAX /* an index that stands for "none" */

struct ids {
	int64_t *list;
	size_t count;
};

void ids__release(struct ids *ids);

/* The index of an id, or IDS_NONE. */
uint32_t ids__find(const struct ids *ids, int64_t id);

/*
 * Appends a zeroed element to *array for the row `id`. Ids must ascend. Returns NULL when out of
 * memory.
 */
void *ids__append(struct ids *ids, int64_t id, void *array, size_t *count, size_t size);
/* The same for a statement whose first column is the id. */
#define APPEND_ROW(ids, row, array, count)                                                         \
	((__typeof__(*(array)))ids__append(ids, sqlite3_column_int64(row, 0), array, count,        \
					   sizeof(**(array))))
