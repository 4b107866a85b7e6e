/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/tsv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

void tsv__release(struct tsv *tsv)
{
	free(tsv->line);
	tsv->line = NULL;
}

/* The letter that stands for the one behind a backslash. */
static char unescape(char letter)
{
	switch (letter) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case '0':
		return '?';
	default:
		return letter;
	}
}

/* In place, up to `end`. -EBADMSG: it ends with a backslash. */
static int unescape_field(char *field, const char *end)
{
	char *to = field;

	if (end - field == 2 && field[0] == '\\' && field[1] == 'N') {
		*field = '\0';
		return 0;
	}
	for (const char *at = field; at < end; at++) {
		bool is_escape = *at == '\\';

		if (is_escape && ++at == end)
			return -EBADMSG;
		*to++ = is_escape ? unescape(*at) : *at;
	}
	*to = '\0';
	return 0;
}

static int take_row(struct tsv *tsv, char *line, size_t length)
{
	char *fields[TSV_MOST_COLUMNS];
	char *at = line, *end = line + length;
	int err;

	if (memchr(line, '\0', length))
		return -EBADMSG;
	for (size_t i = 0; i < tsv->columns; i++) {
		char *tab = memchr(at, '\t', (size_t)(end - at));
		bool is_last = i + 1 == tsv->columns;

		if (is_last != !tab)
			return -EBADMSG;
		fields[i] = at;
		at = tab ? tab + 1 : end;
		err = unescape_field(fields[i], tab ? tab : end);
		if (err)
			return err;
	}
	tsv->rows++;
	return tsv->take(tsv->context, fields);
}

static int append(struct tsv *tsv, const char *bytes, size_t size)
{
	if (tsv->length + size > TSV_MOST_ROW_BYTES)
		return -EFBIG;
	if (tsv->length + size + 1 > tsv->capacity) {
		size_t capacity = (tsv->length + size + 1) * 2;
		char *larger = realloc(tsv->line, capacity);

		if (!larger)
			return -ENOMEM;
		tsv->line = larger;
		tsv->capacity = capacity;
	}
	memcpy(tsv->line + tsv->length, bytes, size);
	tsv->length += size;
	return 0;
}

int tsv__feed(struct tsv *tsv, const void *bytes, size_t size)
{
	const char *at = bytes, *end = at + size;
	int err = 0;

	while (at < end && !err) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *until = newline ? newline : end;

		err = append(tsv, at, (size_t)(until - at));
		at = newline ? newline + 1 : end;
		if (err || !newline)
			continue;
		err = take_row(tsv, tsv->line, tsv->length);
		tsv->length = 0;
	}
	return err;
}

int tsv__end(const struct tsv *tsv)
{
	return tsv->length ? -EBADMSG : 0;
}

int tsv__number(const char *field, uint64_t *ret)
{
	return parse__number(field, 0, UINT64_MAX, ret) ? -EBADMSG : 0;
}

int tsv__real(const char *field, double *ret)
{
	char *end;
	double value = strtod(field, &end);

	if (end == field || *end || !isfinite(value))
		return -EBADMSG;
	*ret = value;
	return 0;
}

/* Steps over '[' or ','. -ENOENT at the end of the list. */
static int next_item(const char **at)
{
	if (**at == '[' && (*at)[1] == ']')
		++*at;
	if (**at == ']')
		return (*at)[1] ? -EBADMSG : -ENOENT;
	if (**at != '[' && **at != ',')
		return -EBADMSG;
	++*at;
	return 0;
}

int tsv__next(const char **at, uint64_t *ret)
{
	const char *from = *at;
	char *end;
	int err = next_item(&from);

	if (err)
		return err;
	if (*from < '0' || *from > '9')
		return -EBADMSG;
	errno = 0;
	*ret = strtoull(from, &end, 10);
	if (errno || (*end != ',' && *end != ']'))
		return -EBADMSG;
	*at = end;
	return 0;
}

char *tsv__next_line(char **at)
{
	return strsep(at, "\n");
}
