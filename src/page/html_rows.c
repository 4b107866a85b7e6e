/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/html_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/load.h"

void html_rows__release(struct html_rows *rows)
{
	free(rows->list);
	map__release(&rows->places);
	*rows = (struct html_rows) {};
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t ret;

	return __builtin_add_overflow(a, b, &ret) ? INT64_MAX : ret;
}

int html_rows__find(struct html_rows *rows, const int32_t *key, size_t *ret)
{
	struct html_row *at;
	uint64_t hash = 0;
	uintptr_t known;

	for (int i = 0; i < HTML_ROWS_KEYS; i++)
		hash = map__mix(hash, (uint64_t)(uint32_t)key[i]);
	for (; (known = (uintptr_t)map__get(&rows->places, hash)); hash++) {
		*ret = known - 1;
		if (!memcmp(rows->list[*ret].key, key, sizeof(rows->list->key)))
			return 0;
	}
	at = APPEND(&rows->list, &rows->count);
	if (!at || map__put(&rows->places, hash, (void *)(uintptr_t)rows->count))
		return -ENOMEM;
	memcpy(at->key, key, sizeof(at->key));
	*ret = rows->count - 1;
	return 0;
}

int html_rows__add(struct html_rows *rows, const struct html_row *row)
{
	size_t at = 0;
	int err = html_rows__find(rows, row->key, &at);

	for (int i = 0; i < HTML_ROWS_VALUES && !err; i++)
		rows->list[at].value[i] = sum(rows->list[at].value[i], row->value[i]);
	return err;
}

int html_rows__change(struct html_rows *rows, void (*change)(struct html_row *row, void *context),
		      void *context)
{
	struct html_rows changed = {};
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++) {
		struct html_row row = rows->list[i];

		change(&row, context);
		err = html_rows__add(&changed, &row);
	}
	if (err) {
		html_rows__release(&changed);
		return err;
	}
	html_rows__release(rows);
	*rows = changed;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct html_row *x = a, *y = b;

	for (int i = 0; i < HTML_ROWS_KEYS; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return 0;
}

static void sort(struct html_rows *rows)
{
	map__release(&rows->places);
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), by_key);
}

/* Moves `amount` of the pending value 0, and the same share of the other values, to a row. */
static struct html_row give(struct html_row *waiting, int64_t amount, const struct html_row *to)
{
	double part = (double)amount / (double)waiting->value[0];
	struct html_row row = *to;

	for (int i = 0; i < HTML_ROWS_VALUES; i++) {
		row.value[i] = i ? (int64_t)((double)waiting->value[i] * part) : amount;
		waiting->value[i] -= row.value[i];
	}
	return row;
}

static bool is_nothing(const struct html_row *waiting)
{
	for (int i = 0; i < HTML_ROWS_VALUES; i++)
		if (waiting->value[i])
			return false;
	return true;
}

/* Keeps what is still pending in the last row, including samples without a weight. */
static int add_rest(const struct html_rows *rows, const struct html_row *waiting,
		    struct html_rows *ret)
{
	struct html_row rest = *waiting;

	memcpy(rest.key, rows->list[rows->count - 1].key, sizeof(rest.key));
	return html_rows__add(ret, &rest);
}

/* Keeps one row for every `step` of value 0. The last one gets what is left. */
static int keep_steps(const struct html_rows *rows, int64_t step, struct html_rows *ret)
{
	/* Start in the middle of the first step. */
	struct html_row waiting = {};
	int64_t before = step / 2;
	int err = 0;

	for (size_t i = 0; i < rows->count && !err; i++) {
		const struct html_row *row = &rows->list[i];
		struct html_row given;
		int64_t passed;

		for (int j = 0; j < HTML_ROWS_VALUES; j++)
			waiting.value[j] = sum(waiting.value[j], row->value[j]);
		passed = sum(before, row->value[0]) / step;
		before = sum(before, row->value[0]) % step;
		if (!passed)
			continue;
		passed = passed * step > waiting.value[0] ? waiting.value[0] : passed * step;
		given = give(&waiting, passed, row);
		err = html_rows__add(ret, &given);
	}
	return err || is_nothing(&waiting) ? err : add_rest(rows, &waiting, ret);
}

int html_rows__thin(struct html_rows *rows, size_t most)
{
	struct html_rows kept = {};
	int64_t all = 0;
	int err;

	if (!most || rows->count <= most)
		return 0;
	for (size_t i = 0; i < rows->count; i++)
		all = sum(all, rows->list[i].value[0]);
	sort(rows);
	err = keep_steps(rows, all / (int64_t)most + 1, &kept);
	if (err) {
		html_rows__release(&kept);
		return err;
	}
	html_rows__release(rows);
	*rows = kept;
	return 0;
}

static void write_key(const struct html_rows *rows, struct html_out *out, size_t column)
{
	int32_t last = 0;

	for (size_t i = 0; i < rows->count; i++) {
		json_out__number(&out->json, NULL, (int64_t)rows->list[i].key[column] - last);
		last = rows->list[i].key[column];
	}
}

static void write_value(const struct html_rows *rows, struct html_out *out, size_t column,
			bool in_microseconds)
{
	int64_t left = 0;

	for (size_t i = 0; i < rows->count; i++) {
		int64_t value = rows->list[i].value[column];

		if (in_microseconds) {
			/* Carry the remainder over to the next row. */
			value = sum(value, left);
			left = value % 1000;
			value /= 1000;
		}
		json_out__number(&out->json, NULL, value);
	}
}

void html_rows__write(struct html_rows *rows, struct html_out *out, const char *key,
		      const struct html_column *columns, size_t count)
{
	size_t keys = 0;

	sort(rows);
	json_out__open(&out->json, key, '{');
	for (size_t i = 0; i < count; i++) {
		json_out__open(&out->json, columns[i].name, '[');
		if (columns[i].kind == HTML_COLUMN_KEY)
			write_key(rows, out, keys++);
		else
			write_value(rows, out, i - keys,
				    columns[i].kind == HTML_COLUMN_MICROSECONDS);
		json_out__close(&out->json, ']');
	}
	json_out__close(&out->json, '}');
}
