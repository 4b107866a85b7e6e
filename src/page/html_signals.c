/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals counted over time. A series is identified by thread group, place, operation, object
 * and error. The largest series of each signal are kept. The rest are merged into one for each
 * place, operation and error, so that those can still be added up. If these are too many as well,
 * the remainder is merged into two series: one for successes and one for failures.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "page/html_internal.h"

#define MEASURES          SIGNALS_MEASURES
#define MOST_SERIES       400 /* for each signal; also the limit on merged series */
#define MOST_SERIES_CELLS 25000
#define MOST_EVENTS       "500" /* for each signal; inserted into a statement */

/* Keys of a series on the page. */
enum { OF_SIGNAL, OF_GROUP, OF_OBJECT, OF_PLACE, OF_OPERATION, OF_ERRNO };
#define OTHER (-2) /* a group that stands for all remaining ones */
#define ANY   (-1) /* a merged place, operation or error */

struct signals_data {
	struct html_rows series; /* count, sums */
	int64_t *max;            /* MEASURES values for each series */
	size_t max_count;
	struct html_table cells;
	int32_t *places; /* number on the page of each series */
};

static int32_t signal_at(const struct html *html, int64_t id)
{
	for (size_t i = 0; i < html__signal_count(html); i++)
		if (html->model->signals.list[i].id == id)
			return (int32_t)i;
	return -1;
}

/* Returns the index of the series with that key. Extends `max` to cover it. */
static int find_key(struct signals_data *data, const int32_t *key, size_t *ret)
{
	int err = html_rows__find(&data->series, key, ret);

	while (!err && data->max_count < data->series.count * MEASURES) {
		const int64_t *max = APPEND(&data->max, &data->max_count);

		err = max ? 0 : -ENOMEM;
	}
	return err;
}

static int find_series(struct html *html, struct signals_data *data, sqlite3_stmt *row, size_t *ret)
{
	const struct model *model = html->model;
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 1));
	const struct signals_object *object =
		signals__object(&model->signals, sqlite3_column_int64(row, 2));
	const int32_t key[HTML_ROWS_KEYS] = {
		[OF_SIGNAL] = signal_at(html, sqlite3_column_int64(row, 0)),
		[OF_GROUP] = thread ? (int32_t)(thread->group - model->groups) : -1,
		[OF_OBJECT] = object ? (int32_t)(object - model->signals.objects) + 1 : 0,
		[OF_PLACE] = (int32_t)html_out__keep(&html->out,
						     (const char *)sqlite3_column_text(row, 3)),
		[OF_OPERATION] = (int32_t)html_out__keep(&html->out,
							 (const char *)sqlite3_column_text(row, 4)),
		[OF_ERRNO] = (int32_t)sqlite3_column_int64(row, 5),
	};

	return find_key(data, key, ret);
}

static int take_series(struct html *html, void *context, sqlite3_stmt *row)
{
	struct signals_data *data = context;
	struct html_row cell = {};
	struct html_span span = {};
	size_t at;
	int err;

	if (signal_at(html, sqlite3_column_int64(row, 0)) < 0 ||
	    !html_bins__find(&html->bins, sqlite3_column_int64(row, 12),
			     sqlite3_column_int64(row, 13), &span))
		return 0;
	err = find_series(html, data, row, &at);
	if (err)
		return err;
	for (int i = 0; i < MEASURES; i++)
		if (sqlite3_column_int64(row, 6 + i) > data->max[at * MEASURES + i])
			data->max[at * MEASURES + i] = sqlite3_column_int64(row, 6 + i);
	for (int i = 0; i <= MEASURES; i++)
		cell.value[i] = html__part(&span, sqlite3_column_int64(row, 14 + i));
	memcpy(cell.key, data->series.list[at].key, sizeof(cell.key));
	err = html_rows__add(&data->series, &cell);
	memset(cell.key, 0, sizeof(cell.key));
	cell.key[0] = (int32_t)at;
	cell.key[1] = span.from;
	cell.key[2] = span.count;
	return err ? err : html_table__add(&data->cells, &cell);
}

static int by_size(const void *a, const void *b, void *context)
{
	const struct html_row *list = context;
	const struct html_row *x = &list[*(const int32_t *)a], *y = &list[*(const int32_t *)b];

	if (x->key[OF_SIGNAL] != y->key[OF_SIGNAL])
		return x->key[OF_SIGNAL] < y->key[OF_SIGNAL] ? -1 : 1;
	if (x->value[1] != y->value[1])
		return x->value[1] < y->value[1] ? 1 : -1;
	if (x->value[0] != y->value[0])
		return x->value[0] < y->value[0] ? 1 : -1;
	return memcmp(x->key, y->key, sizeof(x->key));
}

/*
 * Adds a series to the merged one of its place, operation and error; with `full`, to the merged one
 * of its success or failure.
 */
static int fold_series(struct html *html, struct signals_data *data, size_t at, bool full,
		       size_t *ret)
{
	const int32_t *of = data->series.list[at].key;
	const int32_t key[HTML_ROWS_KEYS] = {
		[OF_SIGNAL] = of[OF_SIGNAL],
		[OF_GROUP] = OTHER,
		[OF_PLACE] = full ? ANY : of[OF_PLACE],
		[OF_OPERATION] = full ? ANY : of[OF_OPERATION],
		[OF_ERRNO] = full && of[OF_ERRNO] ? ANY : of[OF_ERRNO],
	};
	struct html_row *to;
	const struct html_row *from;
	size_t into = 0;
	int err = find_key(data, key, &into);

	if (err)
		return err;
	to = &data->series.list[into];
	from = &data->series.list[at];
	html->folded.series++;
	for (int i = 0; i < HTML_ROWS_VALUES; i++)
		if (__builtin_add_overflow(to->value[i], from->value[i], &to->value[i]))
			to->value[i] = INT64_MAX;
	for (size_t i = 0; i < MEASURES; i++)
		if (data->max[at * MEASURES + i] > data->max[into * MEASURES + i])
			data->max[into * MEASURES + i] = data->max[at * MEASURES + i];
	*ret = into;
	return 0;
}

/* How many series of the current signal are on the page so far. */
struct numbering {
	int32_t signal;
	size_t shown, others;
	int32_t *list; /* series of all signals */
	size_t count;
};

static void show(struct signals_data *data, struct numbering *numbering, size_t at)
{
	data->places[at] = (int32_t)numbering->count;
	numbering->list[numbering->count++] = (int32_t)at;
}

static int number_one(struct html *html, struct signals_data *data, struct numbering *numbering,
		      size_t at)
{
	int32_t signal = data->series.list[at].key[OF_SIGNAL];
	size_t known = data->series.count, into = 0;
	int err;

	if (signal != numbering->signal) {
		numbering->signal = signal;
		numbering->shown = numbering->others = 0;
	}
	if (numbering->shown < MOST_SERIES) {
		numbering->shown++;
		show(data, numbering, at);
		return 0;
	}
	err = fold_series(html, data, at, numbering->others >= MOST_SERIES, &into);
	if (err)
		return err;
	if (into >= known) {
		numbering->others++;
		show(data, numbering, into);
	}
	data->places[at] = data->places[into];
	return 0;
}

/* Numbers the series, the largest of each signal first, and returns them in that order. */
static int number_series(struct html *html, struct signals_data *data, int32_t **ret,
			 size_t *ret_count)
{
	size_t count = data->series.count;
	cleanup(free_p) int32_t *sorted = calloc(count + 1, sizeof(*sorted));
	/* There are never more merged series than series, so twice the count is enough. */
	cleanup(free_p) int32_t *list = calloc(2 * count + 1, sizeof(*list));
	struct numbering numbering = { .signal = -1, .list = list };
	int err = 0;

	data->places = calloc(2 * count + 1, sizeof(*data->places));
	if (!sorted || !list || !data->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (int32_t)i;
	qsort_r(sorted, count, sizeof(*sorted), by_size, data->series.list);
	for (size_t i = 0; i < count && !err; i++)
		err = number_one(html, data, &numbering, (size_t)sorted[i]);
	if (err)
		return err;
	*ret = TAKE(list);
	*ret_count = numbering.count;
	return 0;
}

static void put_series(struct html *html, const struct signals_data *data, int32_t at)
{
	const struct html_row *row = &data->series.list[at];
	const struct model *model = html->model;
	struct html_out *out = &html->out;
	int32_t group = row->key[OF_GROUP], object = row->key[OF_OBJECT];

	json_out__open(&out->json, NULL, '{');
	json_out__number(&out->json, "signal", row->key[OF_SIGNAL]);
	json_out__bool(&out->json, "other", group == OTHER);
	html_out__text(out, "who", group >= 0 ? model->groups[group].name : NULL);
	html_out__text(out, "object", object ? model->signals.objects[object - 1].name : NULL);
	json_out__number(&out->json, "place", row->key[OF_PLACE]);
	json_out__number(&out->json, "operation", row->key[OF_OPERATION]);
	json_out__number(&out->json, "errno", row->key[OF_ERRNO]);
	json_out__number(&out->json, "count", row->value[0]);
	html__put_numbers(out, "sum", &row->value[1], MEASURES);
	html__put_numbers(out, "max", &data->max[(size_t)at * MEASURES], MEASURES);
	json_out__close(&out->json, '}');
}

static int put_all_series(struct html *html, struct signals_data *data)
{
	cleanup(free_p) int32_t *list = NULL;
	size_t count = 0;
	int err = number_series(html, data, &list, &count);

	if (err)
		return err;
	json_out__open(&html->out.json, "series", '[');
	for (size_t i = 0; i < count; i++)
		put_series(html, data, list[i]);
	json_out__close(&html->out.json, ']');
	return html->out.json.err;
}

static void place_series(struct html_row *row, void *context)
{
	const struct signals_data *data = context;

	row->key[0] = data->places[row->key[0]];
}

static int put_event(struct html *html, void *context, sqlite3_stmt *row)
{
	struct html_out *out = &html->out;
	const struct model_thread *thread = load__thread(html->model, sqlite3_column_int64(row, 3));
	int32_t signal = signal_at(html, sqlite3_column_int64(row, 0));
	const char *text = (const char *)sqlite3_column_text(row, 8);
	cleanup(free_p) char *fields = text ? redact__fields(text, html->model->args) : NULL;

	if (signal < 0)
		return 0;
	if (text && !fields)
		return -ENOMEM;
	json_out__open(&out->json, NULL, '{');
	json_out__number(&out->json, "signal", signal);
	json_out__number(&out->json, "us",
			 (sqlite3_column_int64(row, 1) - html->model->start_ns) / 1000);
	json_out__number(&out->json, "duration_ns", sqlite3_column_int64(row, 2));
	html_out__text(out, "who", thread ? thread->comm : NULL);
	json_out__number(&out->json, "tid", thread ? thread->tid : 0);
	html_out__text(out, "object", (const char *)sqlite3_column_text(row, 4));
	html_out__text(out, "place", (const char *)sqlite3_column_text(row, 5));
	html_out__text(out, "operation", (const char *)sqlite3_column_text(row, 6));
	json_out__number(&out->json, "errno", sqlite3_column_int64(row, 7));
	html_out__text(out, "fields", fields);
	html_out__text(out, "in", (const char *)sqlite3_column_text(row, 9));
	json_out__close(&out->json, '}');
	return 0;
}

static int count_events(struct html *html, void *context, sqlite3_stmt *row)
{
	html->folded.events += sqlite3_column_int64(row, 0);
	return 0;
}

/* The functions of the stack r.stack, the outermost first. */
#define PATH                                                                                       \
	"(WITH RECURSIVE up(id, n) AS (SELECT r.stack, 0 UNION ALL SELECT s.parent, n + 1"         \
	" FROM up JOIN stack s ON s.id = up.id WHERE s.parent > 0 AND n < 64)"                     \
	" SELECT group_concat(function, ' → ') FROM (SELECT f.function FROM up"                    \
	" JOIN stack s ON s.id = up.id JOIN frames f ON f.id = s.frame"                            \
	" ORDER BY n DESC, f.depth DESC))"
#define EVENTS                                                                                     \
	"SELECT e.*, row_number() OVER (PARTITION BY e.signal"                                     \
	" ORDER BY e.duration_ns DESC, e.id) AS rank FROM event e"                                 \
	" WHERE e.time_ns >= ?1 AND e.time_ns <= ?2"

#define SELECT_EVENTS(path)                                                                        \
	"WITH r AS (" EVENTS ") SELECT r.signal, r.time_ns, r.duration_ns, r.thread, o.name,"      \
	" r.place, r.operation, r.errno, r.fields, " path " FROM r"                                \
	" LEFT JOIN object o ON o.id = r.object WHERE r.rank <= " MOST_EVENTS                      \
	" ORDER BY r.signal, r.rank"

static int put_events(struct html *html)
{
	static const char with_paths[] = SELECT_EVENTS(PATH);
	int err;

	json_out__open(&html->out.json, "events", '[');
	/* In recordings of older versions, events have no stacks. */
	err = html__each(
		html, load__is_answered(html->db, with_paths) ? with_paths : SELECT_EVENTS("NULL"),
		put_event, NULL);
	json_out__close(&html->out.json, ']');
	return err ? err
		   : html__each(html, "SELECT count(*) FROM (" EVENTS ") WHERE rank > " MOST_EVENTS,
				count_events, NULL);
}

static int put_data(struct html *html, struct signals_data *data)
{
	static const struct html_column columns[] = {
		{ "series", HTML_COLUMN_KEY }, { "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },   { "count", HTML_COLUMN_VALUE },
		{ "sum0", HTML_COLUMN_VALUE }, { "sum1", HTML_COLUMN_VALUE },
		{ "sum2", HTML_COLUMN_VALUE }, { "sum3", HTML_COLUMN_VALUE },
		{ "sum4", HTML_COLUMN_VALUE }, { "sum5", HTML_COLUMN_VALUE },
	};
	int err = html__each(html,
			     "SELECT s.signal, s.thread, s.object, s.place, s.operation,"
			     " s.errno, s.max0, s.max1, s.max2, s.max3, s.max4, s.max5,"
			     " c.slice_from, c.slice_to, c.count, c.sum0, c.sum1, c.sum2,"
			     " c.sum3, c.sum4, c.sum5 FROM series_slice c"
			     " JOIN series s ON s.id = c.series",
			     take_series, data);

	if (!err)
		err = put_all_series(html, data);
	if (!err)
		err = html_rows__change(&data->cells.rows, place_series, data);
	if (!err)
		err = html_table__fit(&data->cells);
	if (!err)
		err = html__put_table(html, "series_cells", &data->cells, columns, 10);
	return err ? err : put_events(html);
}

int html__put_signals(struct html *html)
{
	struct signals_data data = { .cells = { .at = 1,
						.spans = true,
						.most = MOST_SERIES_CELLS,
						.bins = (int32_t)html->bins.count } };
	int err = 0;

	if (html->model->signals.known) {
		html__put_operations(html);
		err = put_data(html, &data);
	}

	html_rows__release(&data.series);
	html_rows__release(&data.cells.rows);
	free(data.max);
	free(data.places);
	return err;
}
