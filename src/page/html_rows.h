/*
 * Sums by a few small numbers, which are the columns of a table of the page: "thread 3, state 2,
 * from bin 7 on, 2 bins: 1,200 µs". If a table grows too large, its keys are made coarser.
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

/* All zeroes is an empty table. */
struct html_rows {
	struct html_row *list;
	size_t count;
	struct map places;
};

void html_rows__release(struct html_rows *rows);
/* Adds the values to the row with that key. Sums stop at INT64_MAX. -ENOMEM. */
int html_rows__add(struct html_rows *rows, const struct html_row *row);
/* The place of the row with that key in the list; a new one is all zeroes. -ENOMEM. */
int html_rows__find(struct html_rows *rows, const int32_t *key, size_t *ret);
/* Makes each key what `change` makes of it, and adds up those that became equal. -ENOMEM. */
int html_rows__change(struct html_rows *rows, void (*change)(struct html_row *row, void *context),
		      void *context);

/*
 * Leaves about `most` rows that stand for all: every so much of value 0, in order of the keys, one
 * row is kept and gets that much, so sums over many rows stay what they were, without a bias, and
 * the sums over all rows stay exactly. Only for values that are samples. -ENOMEM.
 */
int html_rows__thin(struct html_rows *rows, size_t most);

/* What a column is called, and how it is written. */
struct html_column {
	const char *name;
	enum { HTML_COLUMN_KEY, HTML_COLUMN_VALUE, HTML_COLUMN_MICROSECONDS } kind;
};
/*
 * {"name": [numbers], …}, the keys first, in order of the keys. Keys are differences from the row
 * before; nanoseconds become microseconds so that no sum is off by more than one.
 */
void html_rows__write(struct html_rows *rows, struct html_out *out, const char *key,
		      const struct html_column *columns, size_t count);
