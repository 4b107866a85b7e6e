/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spooled.h"

#include "../harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/batch.h"

/* --- a block of ClickHouse's Native format ---------------------------------------------------- */

static uint64_t read_varint(const unsigned char **at)
{
	uint64_t value = 0;

	for (int shift = 0;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

static char *read_text(const unsigned char **at)
{
	size_t length = read_varint(at);
	char *text = strndup((const char *)*at, length);

	*at += length;
	return text;
}

static uint64_t read_number(const unsigned char **at, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, *at, width);
	*at += width;
	return value;
}

/* `ret` is the value of the first row; that of the next one is `step` values later. */
static void read_lists(const unsigned char **at, uint64_t rows, struct spooled_value *ret,
		       size_t step)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < rows; i++) {
		uint64_t end = read_number(at, 8);

		ret[i * step].count = end - last;
		last = end;
	}
	for (uint64_t i = 0; i < rows; i++, ret += step) {
		ret->list = calloc(ret->count + 1, sizeof(*ret->list));
		for (size_t j = 0; j < ret->count; j++)
			ret->list[j] = read_number(at, 8);
	}
}

static void read_column(const unsigned char **at, const char *type, uint64_t rows,
			struct spooled_value *ret, size_t step)
{
	size_t width = !strcmp(type, "UInt64")                            ? 8
		       : !strcmp(type, "UInt16") || !strcmp(type, "Date") ? 2
									  : 4;

	if (!strncmp(type, "Array", 5)) {
		read_lists(at, rows, ret, step);
		return;
	}
	for (uint64_t i = 0; i < rows; i++, ret += step) {
		if (!strcmp(type, "String"))
			ret->text = read_text(at);
		else
			ret->number = read_number(at, width);
	}
}

void spooled__add(struct spooled *spooled, const void *block, size_t size)
{
	const unsigned char *at = block;
	size_t columns = read_varint(&at), rows = read_varint(&at), old = spooled->rows;

	assert_true(columns <= SPOOLED_COLUMNS);
	assert_true(!spooled->columns || spooled->columns == columns);
	spooled->columns = columns;
	spooled->rows += rows;
	spooled->values =
		reallocarray(spooled->values, spooled->rows * columns, sizeof(*spooled->values));
	memset(spooled->values + old * columns, 0, rows * columns * sizeof(*spooled->values));
	for (size_t i = 0; i < columns; i++) {
		char *name = read_text(&at), *type = read_text(&at);

		snprintf(spooled->names[i], sizeof(spooled->names[i]), "%s", name);
		read_column(&at, type, rows, spooled->values + old * columns + i, columns);
		free(name);
		free(type);
	}
	assert_ptr_equal(at, (const unsigned char *)block + size);
}

/* --- files ------------------------------------------------------------------------------------ */

static void read_file(const char *path, struct spooled *spooled)
{
	FILE *file = fopen(path, "r");
	char *bytes = malloc(1 << 22);
	size_t size;
	struct batch_view view;
	void *block;

	assert_non_null(file);
	size = fread(bytes, 1, 1 << 22, file);
	fclose(file);
	assert_int_equal(batch__view(bytes, size, &view), 0);
	assert_int_equal(batch__unpack(&view, &block), 0);
	spooled__add(spooled, block, view.head.raw_bytes);
	free(block);
	free(bytes);
}

struct spooled spooled__read(const char *folder, const char *table)
{
	struct spooled spooled = {};
	struct dirent *entry;
	char path[512];
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct batch_id id;
		uint64_t tried_s;

		if (batch__parse_name(entry->d_name, &id, &tried_s) ||
		    id.table != fact__find(table))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		read_file(path, &spooled);
	}
	closedir(dir);
	return spooled;
}

void spooled__release(struct spooled *spooled)
{
	for (size_t i = 0; i < spooled->rows * spooled->columns; i++) {
		free(spooled->values[i].text);
		free(spooled->values[i].list);
	}
	free(spooled->values);
	*spooled = (struct spooled) {};
}

const struct spooled_value *spooled__get(const struct spooled *spooled, size_t row,
					 const char *column)
{
	for (size_t i = 0; i < spooled->columns; i++)
		if (!strcmp(spooled->names[i], column))
			return &spooled->values[row * spooled->columns + i];
	fail_msg("no column '%s'", column);
	return NULL;
}
