/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads rows of ClickHouse's format TabSeparated as they arrive. The bytes may come from a broken
 * or hostile server.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TSV_MOST_COLUMNS   24
#define TSV_MOST_ROW_BYTES (8u << 20)

/*
 * The fields of a row, unescaped and valid during the call. A NUL byte inside becomes '?', a NULL
 * becomes "". Errors end the reading.
 */
typedef int (*tsv_take_fn)(void *context, char *const *fields);

struct tsv {
	size_t columns; /* of every row, at most TSV_MOST_COLUMNS */
	tsv_take_fn take;
	void *context;
	uint64_t rows;
	/* Only for tsv.c: the begin of a row. */
	char *line;
	size_t length, capacity;
};

void tsv__release(struct tsv *tsv);
/* -EBADMSG: not such rows; -EFBIG: a row is too long; -ENOMEM; or the error of `take`. */
int tsv__feed(struct tsv *tsv, const void *bytes, size_t size);
/* After the last byte. -EBADMSG: the last row has no end. */
int tsv__end(const struct tsv *tsv);

/* A field as a number. -EBADMSG. */
int tsv__number(const char *field, uint64_t *ret);
int tsv__real(const char *field, double *ret);
/*
 * The next number of "[1,2,3]"; advances *at, which begins at the field. -ENOENT at the end,
 * -EBADMSG.
 */
int tsv__next(const char **at, uint64_t *ret);
/*
 * The next of several texts that the query joined with line ends; NULL at the end. *at begins at
 * the field and is changed. "" is one empty text.
 */
char *tsv__next_line(char **at);
