/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/html_time.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

#define MOST (INT64_MAX / 2)

void html_bins__release(struct html_bins *bins)
{
	free(bins->edges);
	free(bins->begins);
	free(bins->ends);
	ids__release(&bins->slices);
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int take_slice(struct html_bins *bins, sqlite3_stmt *row)
{
	size_t begins = bins->slices.count, ends = bins->slices.count;
	int64_t *id = APPEND(&bins->slices.list, &bins->slices.count);
	int64_t *begin = APPEND(&bins->begins, &begins), *end = APPEND(&bins->ends, &ends);

	if (!id || !begin || !end)
		return -ENOMEM;
	*id = sqlite3_column_int64(row, 0);
	*begin = clamp(sqlite3_column_int64(row, 1), 0, MOST);
	*end = clamp(sqlite3_column_int64(row, 2), *begin, MOST);
	return 0;
}

static bool is_inside(const struct html_bins *bins, const struct model *model, size_t i)
{
	return bins->ends[i] > model->from_ns && bins->begins[i] < model->to_ns;
}

/* Sets an edge at the end of every Nth slice inside the cut. */
static int make_edges(struct html_bins *bins, const struct model *model)
{
	size_t inside = 0, seen = 0, each;

	for (size_t i = 0; i < bins->slices.count; i++)
		inside += is_inside(bins, model, i);
	each = (inside + HTML_MOST_BINS - 1) / HTML_MOST_BINS;
	bins->edges = calloc(HTML_MOST_BINS + 2, sizeof(*bins->edges));
	if (!bins->edges)
		return -ENOMEM;
	bins->edges[0] = model->from_ns;
	for (size_t i = 0; i < bins->slices.count; i++) {
		if (!is_inside(bins, model, i) || ++seen % each)
			continue;
		/* The slices of a foreign file may be out of order. */
		if (bins->ends[i] > bins->edges[bins->count] && bins->ends[i] < model->to_ns)
			bins->edges[++bins->count] = bins->ends[i];
	}
	if (model->to_ns > bins->edges[bins->count] || !bins->count)
		bins->edges[++bins->count] = model->to_ns;
	return 0;
}

int html_bins__load(struct html_bins *bins, const struct model *model, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(model, db, "SELECT id, begin_ns, end_ns FROM slice ORDER BY id",
				&row);
	int rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_slice(bins, row) : load__error(rc);
	return err ? err : make_edges(bins, model);
}

int32_t html_bins__at(const struct html_bins *bins, int64_t time_ns)
{
	size_t low = 0, high = bins->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (bins->edges[middle] <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return (int32_t)low;
}

bool html_bins__place(const struct html_bins *bins, struct html_span *span)
{
	int64_t begin = clamp(span->begin_ns, bins->edges[0], bins->edges[bins->count]);
	int64_t end = clamp(span->end_ns, begin, bins->edges[bins->count]);
	int64_t length = span->end_ns - span->begin_ns;

	if (end <= begin)
		return false;
	span->from = html_bins__at(bins, begin);
	span->count = html_bins__at(bins, end - 1) - span->from + 1;
	span->part = end - begin < length ? (double)(end - begin) / (double)length : 1;
	return true;
}

bool html_bins__find(struct html_bins *bins, int64_t slice_from, int64_t slice_to,
		     struct html_span *ret)
{
	uint32_t from = ids__find(&bins->slices, slice_from);
	uint32_t to = ids__find(&bins->slices, slice_to);

	if (from == IDS_NONE || to == IDS_NONE || bins->ends[to] <= bins->begins[from]) {
		bins->torn++;
		return false;
	}
	ret->begin_ns = bins->begins[from];
	ret->end_ns = bins->ends[to];
	return html_bins__place(bins, ret);
}

bool html_bins__narrow(const struct html_bins *bins, int64_t first_ns, int64_t last_ns,
		       struct html_span *span)
{
	if (first_ns > span->begin_ns && first_ns < span->end_ns)
		span->begin_ns = first_ns;
	if (last_ns > span->begin_ns && last_ns < span->end_ns)
		span->end_ns = last_ns;
	return html_bins__place(bins, span);
}

static void widen(struct html_row *row, void *context)
{
	const struct html_table *table = context;
	int32_t *bin = &row->key[table->at], *count = &row->key[table->at + 1];
	int32_t from = *bin / 2;

	if (table->spans)
		*count = (*bin + *count - 1) / 2 - from + 1;
	*bin = from;
}

/* Makes bins wider, as long as enough are left for a picture. */
static int shrink(struct html_table *table, size_t most)
{
	size_t before = table->rows.count;
	int err = 0;

	if (table->thins) {
		err = html_rows__thin(&table->rows, most);
		table->left_out += (int64_t)(before - table->rows.count);
		return err;
	}
	while (!err && table->rows.count > most && table->bins / table->width > 32) {
		err = html_rows__change(&table->rows, widen, table);
		table->width *= 2;
	}
	return err;
}

int html_table__add(struct html_table *table, const struct html_row *row)
{
	struct html_row wide = *row;
	int32_t *bin = &wide.key[table->at], *count = &wide.key[table->at + 1];
	int err;

	if (!table->width)
		table->width = 1;
	if (table->spans)
		*count = (*bin + *count - 1) / table->width - *bin / table->width + 1;
	*bin /= table->width;
	err = html_rows__add(&table->rows, &wide);
	return err || table->rows.count <= 4 * table->most ? err : shrink(table, 2 * table->most);
}

int html_table__fit(struct html_table *table)
{
	if (!table->width)
		table->width = 1;
	return shrink(table, table->most);
}
