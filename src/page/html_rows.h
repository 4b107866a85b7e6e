/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums by a few small numbers, which are the columns of a table on the page: "thread 3, state 2,
 * from bin 7, 2 bins: 1,200 µs". If a table grows too large, its keys are made coarser.
 */
#pragma once

#include "base/map.h"
#include "page/html_out.h"

#define HTML_ROWS_KEYS   6
#define HTML_ROWS_VALUES 8

struct html_row {
	int32_t key[HTML_ROWS_KEYS];
	int64_t value[HTML_ROWS_VALUES];
};

/* Initialize with zeroes. */
struct html_rows {
	struct html_row *list;
	size_t count;
	struct map places;
};

void html_rows__release(struct html_rows *rows);
/* Adds the values to the row with that key. Sums saturate at INT64_MAX. -ENOMEM. */
int html_rows__add(struct html_rows *rows, const struct html_row *row);
/* Returns the index of the row with that key. A new row has zeroes. -ENOMEM. */
int html_rows__find(struct html_rows *rows, const int32_t *key, size_t *ret);
/* Applies `change` to each key and adds up rows whose keys become equal. -ENOMEM. */
int html_rows__change(struct html_rows *rows, void (*change)(struct html_row *row, void *context),
		      void *context);

/*
 * Reduces the table to about `most` rows by systematic sampling. In key order, one row is kept for
 * each fixed step of value 0 and gets that amount. So sums over many rows are unbiased, and the
 * sums over all rows stay exact. Only for values that are samples. -ENOMEM.
 */
int html_rows__thin(struct html_rows *rows, size_t most);

/* The name of a column and how it is written. */
struct html_column {
	const char *name;
	enum { HTML_COLUMN_KEY, HTML_COLUMN_VALUE, HTML_COLUMN_MICROSECONDS } kind;
};
/*
 * Writes {"name": [numbers], …}, keys first, sorted by key. A key is written as the difference from
 * the row before. Nanoseconds become microseconds, with the remainder carried over, so no sum is
 * off by more than one.
 */
void html_rows__write(struct html_rows *rows, struct html_out *out, const char *key,
		      const struct html_column *columns, size_t count);
