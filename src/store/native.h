/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes rows as blocks of ClickHouse's Native format, for INSERT … FORMAT Native over HTTP: the
 * number of columns and of rows, then for each column its name, its type and its values.
 *
 * A table is a list of columns, each with a type and a function that gets the value from a row.
 * Words are sent as plain String; the server converts them to LowCardinality(String).
 *
 * Pure. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum native_type {
	NATIVE_UINT16,
	NATIVE_UINT32,
	NATIVE_UINT64,
	NATIVE_FLOAT32,
	NATIVE_DATE,     /* `number` is in seconds since 1970 */
	NATIVE_DATETIME, /* the same */
	NATIVE_STRING,
	NATIVE_LIST, /* Array(UInt64) */
	NATIVE_MAP,  /* Map(UInt16, UInt64) */
	NATIVE_TYPES,
};

/* Which fields are used depends on the type. Numbers that do not fit become the largest one. */
struct native_value {
	uint64_t number;
	float real;
	const char *text;     /* never NULL for a string */
	const uint64_t *list; /* values of a list or of a map */
	const uint16_t *keys; /* of a map */
	size_t count;         /* of `list` and `keys` */
};

struct native_column {
	const char *name;
	enum native_type type;
	struct native_value (*get)(const void *row, const void *context);
	bool (*is_sent)(const void *context); /* NULL: always */
};

struct native_table {
	const char *name;
	const struct native_column *columns;
	size_t column_count;
	size_t row_bytes;
	/* Orders two rows by the key of the table, as for qsort_r(). */
	int (*compare)(const void *row, const void *other, void *context);
	const char *sum_of; /* a UInt64 column whose sum tells batches apart; NULL: none */
};

/* A block, valid during the call. */
struct native_block {
	const struct native_table *table;
	const void *bytes;
	size_t size;
	const char *columns; /* their names, separated by ", " */
	uint64_t rows;
	uint64_t rows_before;     /* in the earlier blocks of this call */
	uint64_t sum, sum_before; /* the same for the column `sum_of`, modulo 2^64 */
	unsigned int part;        /* 0, 1, … */
};

typedef int (*native_emit_fn)(void *context, const struct native_block *block);

/*
 * Sorts the rows, and calls `emit` for blocks of at most `most_bytes` each; a row that is larger
 * has a block of its own. No rows: no call. `rows` is an array of table->row_bytes each. Returns
 * -ENOMEM, or what `emit` returned if that is not 0; then the rest is not emitted.
 */
int native__encode(const struct native_table *table, const void *rows, size_t count,
		   const void *context, size_t most_bytes, native_emit_fn emit, void *emit_context);

/* "UInt64" */
const char *native__type_name(enum native_type type);
