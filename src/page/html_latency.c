/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Syscalls and histograms over time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "page/html_internal.h"
#include "vocabulary/calls.h"
#include "vocabulary/histogram.h"

#define MOST_CALL_CELLS 40000
#define MOST_HEAT_CELLS 100000
/* Limit on distributions; inserted into a statement. Real recordings have about three hundred. */
#define MOST_DISTRIBUTIONS "2000"

static void put_syscalls(struct html *html)
{
	struct html_out *out = &html->out;

	json_out__open(&out->json, "syscalls", '[');
	for (size_t i = 0; i < html->model->syscall_count; i++) {
		const struct model_syscall *call = &html->model->syscalls[i];

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "name", call->name);
		json_out__number(&out->json, "count", call->count);
		json_out__number(&out->json, "errors", call->errors);
		json_out__number(&out->json, "total_ns", call->total_ns);
		json_out__number(&out->json, "run_ns", call->run_ns);
		json_out__number(&out->json, "timed", call->timed);
		for (int j = 0; j < PERCENTILES; j++) {
			char key[16];

			snprintf(key, sizeof(key), "%s_ns", percentiles__words(j)->key);
			html__put_percentile(out, key, call->percentiles_ns[j]);
		}
		json_out__number(&out->json, "max_ns", call->max_ns);
		json_out__number(&out->json, "errno", call->common_errno);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static int64_t call_at(const struct model *model, int64_t number)
{
	for (size_t i = 0; i < model->syscall_count; i++)
		if (model->syscalls[i].number == number)
			return (int64_t)i;
	return -1;
}

static int take_call(struct html *html, void *context, sqlite3_stmt *row)
{
	struct html_span span = {};
	int64_t at = call_at(html->model, sqlite3_column_int64(row, 0));

	if (at < 0 || !html_bins__find(&html->bins, sqlite3_column_int64(row, 1),
				       sqlite3_column_int64(row, 2), &span))
		return 0;
	return html_table__add(
		context, &(struct html_row) {
				 .key = { (int32_t)at, span.from, span.count },
				 .value = { html__part(&span, sqlite3_column_int64(row, 3)),
					    html__part(&span, sqlite3_column_int64(row, 4)),
					    html__part(&span, sqlite3_column_int64(row, 5)),
					    html__part(&span, sqlite3_column_int64(row, 6)) } });
}

int html__put_calls(struct html *html)
{
	static const struct html_column columns[] = {
		{ "syscall", HTML_COLUMN_KEY },
		{ "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },
		{ "count", HTML_COLUMN_VALUE },
		{ "errors", HTML_COLUMN_VALUE },
		{ "total_us", HTML_COLUMN_MICROSECONDS },
		{ "run_us", HTML_COLUMN_MICROSECONDS },
	};
	struct html_table cells = {
		.at = 1, .spans = true, .most = MOST_CALL_CELLS, .bins = (int32_t)html->bins.count
	};
	int err = html__each(html,
			     "SELECT number, slice_from, slice_to, count, errors, total_ns, run_ns"
			     " FROM syscall_slice",
			     take_call, &cells);

	if (!err)
		err = html_table__fit(&cells);
	if (err) {
		html_rows__release(&cells.rows);
		return err;
	}
	put_syscalls(html);
	return html__put_table(html, "syscall_cells", &cells, columns, 7);
}

struct heat {
	struct html_table cells;
	struct map places; /* key of a histogram in the recording → number on the page + 1 */
	size_t count;
};

static int take_heat(struct html *html, struct heat *heat, uint64_t key, sqlite3_stmt *row)
{
	uintptr_t at = (uintptr_t)map__get(&heat->places, key);
	int64_t bucket = sqlite3_column_int64(row, 2);
	struct html_span span = {};

	if (!at || bucket < 0 || bucket >= HISTOGRAM_BUCKETS ||
	    !html_bins__find(&html->bins, sqlite3_column_int64(row, 3),
			     sqlite3_column_int64(row, 4), &span))
		return 0;
	return html_table__add(
		&heat->cells,
		&(struct html_row) {
			.key = { (int32_t)at - 1, span.from, span.count, (int32_t)bucket },
			.value = { html__part(&span, sqlite3_column_int64(row, 5)) } });
}

/* What a histogram belongs to. The ids of the sources overlap. */
enum source { OF_STATE, OF_SYSCALL, OF_SIGNAL, SOURCES };

static uint64_t histogram_key(enum source of, int64_t number)
{
	return (uint64_t)number * SOURCES + of;
}

static int take_bucket(struct html *html, void *context, sqlite3_stmt *row)
{
	enum source of = sqlite3_column_int64(row, 0) ? OF_SYSCALL : OF_STATE;

	return take_heat(html, context, histogram_key(of, sqlite3_column_int64(row, 1)), row);
}

static int take_distribution_bucket(struct html *html, void *context, sqlite3_stmt *row)
{
	return take_heat(html, context, histogram_key(OF_SIGNAL, sqlite3_column_int64(row, 1)),
			 row);
}

static int number(struct heat *heat, uint64_t key)
{
	return map__put(&heat->places, key, (void *)(uintptr_t)++heat->count);
}

/* Returns 0 if it is unknown. */
static int64_t max_of_call(const struct model *model, const struct model_histogram *histogram)
{
	int64_t at = histogram->is_syscall ? call_at(model, histogram->key) : -1;

	return at < 0 ? 0 : model->syscalls[at].max_ns;
}

static int put_own(struct html *html, struct heat *heat)
{
	struct html_out *out = &html->out;
	int err = 0;

	for (size_t i = 0; i < html->model->histogram_count && !err; i++) {
		const struct model_histogram *histogram = &html->model->histograms[i];

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "of", histogram->is_syscall ? "syscall" : "state");
		html_out__text(out, "name", histogram->name);
		html_out__text(out, "kind", histogram->kind_name);
		html_out__text(out, "unit", "ns");
		json_out__number(&out->json, "count", histogram->count);
		json_out__number(&out->json, "max", max_of_call(html->model, histogram));
		if (histogram->is_syscall && calls__is_by_choice(histogram->name))
			json_out__bool(&out->json, "by_choice", true);
		json_out__close(&out->json, '}');
		err = number(heat, histogram_key(histogram->is_syscall ? OF_SYSCALL : OF_STATE,
						 histogram->key));
	}
	return err;
}

/* The key of a signal's row in the recording. */
struct row_name {
	const char *place, *operation;
};

static int by_name(const void *key, const void *element)
{
	const struct row_name *name = key;
	const struct signals_row *row = element;
	int order = strcmp(name->place, row->place);

	return order ? order : strcmp(name->operation, row->operation);
}

static const char *word_at(sqlite3_stmt *row, int column)
{
	const char *word = (const char *)sqlite3_column_text(row, column);

	return word ? word : "?";
}

/* The largest value of a distribution, taken from its series; 0: unknown. */
static int64_t max_of(const struct model *model, sqlite3_stmt *row)
{
	const struct signals_signal *signal = signals__find(&model->signals, word_at(row, 1));
	int64_t measure = sqlite3_column_int64(row, 6);
	const struct row_name name = { word_at(row, 2), word_at(row, 3) };
	const struct signals_row *found = NULL;

	if (signal && signal->row_count && measure >= 0 && measure < SIGNALS_MEASURES)
		found = bsearch(&name, signal->rows, signal->row_count, sizeof(*signal->rows),
				by_name);
	return found ? found->part.sum.max[measure] : 0;
}

static int put_distribution(struct html *html, void *context, sqlite3_stmt *row)
{
	const struct signals_signal *signal = signals__find(&html->model->signals, word_at(row, 1));
	bool is_calls = signal && signal->role == ROLE_CALLS;
	struct html_out *out = &html->out;

	json_out__open(&out->json, NULL, '{');
	html_out__text(out, "of", (const char *)sqlite3_column_text(row, 1));
	html_out__text(out, "place", (const char *)sqlite3_column_text(row, 2));
	html_out__text(out, "operation", (const char *)sqlite3_column_text(row, 3));
	html_out__text(out, "measure", (const char *)sqlite3_column_text(row, 4));
	html_out__text(out, "unit", (const char *)sqlite3_column_text(row, 5));
	json_out__number(&out->json, "max", max_of(html->model, row));
	if (is_calls)
		json_out__bool(&out->json, "calls", true);
	if (is_calls && calls__is_by_choice(word_at(row, 3)))
		json_out__bool(&out->json, "by_choice", true);
	json_out__close(&out->json, '}');
	return number(context, histogram_key(OF_SIGNAL, sqlite3_column_int64(row, 0)));
}

/* To save room, histograms with few values lose their time axis first. Their sums stay the same. */
struct flat {
	const int32_t *ranks; /* by histogram: how many others have more values */
	int32_t shown, bins;
};

static void flatten(struct html_row *row, void *context)
{
	const struct flat *flat = context;

	if (flat->ranks[row->key[0]] < flat->shown)
		return;
	row->key[1] = 0;
	row->key[2] = flat->bins;
}

static int by_values(const void *a, const void *b, void *context)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	const int64_t *values = context;

	if (values[x] != values[y])
		return values[x] < values[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int rank_histograms(const struct heat *heat, int32_t *ranks)
{
	cleanup(free_p) int64_t *values = calloc(heat->count + 1, sizeof(*values));
	cleanup(free_p) int32_t *list = calloc(heat->count + 1, sizeof(*list));

	if (!values || !list)
		return -ENOMEM;
	for (size_t i = 0; i < heat->cells.rows.count; i++) {
		const struct html_row *row = &heat->cells.rows.list[i];
		int64_t *sum = &values[row->key[0]];

		if (__builtin_add_overflow(*sum, row->value[0], sum))
			*sum = INT64_MAX;
	}
	for (size_t i = 0; i < heat->count; i++)
		list[i] = (int32_t)i;
	qsort_r(list, heat->count, sizeof(*list), by_values, values);
	for (size_t i = 0; i < heat->count; i++)
		ranks[list[i]] = (int32_t)i;
	return 0;
}

static int fit_heat(struct html *html, struct heat *heat)
{
	struct html_table *cells = &heat->cells;
	cleanup(free_p) int32_t *ranks = calloc(heat->count + 1, sizeof(*ranks));
	struct flat flat = { .ranks = ranks, .shown = (int32_t)heat->count };
	int err = ranks ? html_table__fit(cells) : -ENOMEM;

	if (!err)
		err = rank_histograms(heat, ranks);
	flat.bins = (cells->bins + cells->width - 1) / cells->width;
	while (!err && cells->rows.count > cells->most && flat.shown) {
		flat.shown /= 2;
		err = html_rows__change(&cells->rows, flatten, &flat);
	}
	html->folded.histograms = (int64_t)heat->count - flat.shown;
	return err;
}

static int read_heat(struct html *html, struct heat *heat)
{
	int err = html__each(html,
			     "SELECT of, key, bucket, slice_from, slice_to, count FROM histogram",
			     take_bucket, heat);

	if (!err && html->model->signals.known)
		err = html__each(html,
				 "SELECT 0, distribution, bucket, slice_from, slice_to, count"
				 " FROM distribution_slice",
				 take_distribution_bucket, heat);
	return err ? err : fit_heat(html, heat);
}

static int count_distributions(struct html *html, void *context, sqlite3_stmt *row)
{
	html->folded.distributions += sqlite3_column_int64(row, 0);
	return 0;
}

/* Writes and numbers the distributions. read_heat() reads their counts later. */
static int put_distribution_heads(struct html *html, struct heat *heat)
{
	size_t before = heat->count;
	int err = html__each(html,
			     "SELECT d.id, g.name, d.place, d.operation, m.name, m.unit, d.measure"
			     " FROM distribution d JOIN signal g ON g.id = d.signal"
			     " JOIN measure m ON m.signal = d.signal AND m.id = d.measure"
			     " ORDER BY g.name, d.place, d.operation, d.measure, d.id"
			     " LIMIT " MOST_DISTRIBUTIONS,
			     put_distribution, heat);

	html->folded.distributions -= (int64_t)(heat->count - before);
	return err ? err
		   : html__each(html, "SELECT count(*) FROM distribution", count_distributions,
				NULL);
}

int html__put_latencies(struct html *html)
{
	static const struct html_column columns[] = {
		{ "histogram", HTML_COLUMN_KEY }, { "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },      { "bucket", HTML_COLUMN_KEY },
		{ "count", HTML_COLUMN_VALUE },
	};
	struct heat heat = { .cells = { .at = 1,
					.spans = true,
					.most = MOST_HEAT_CELLS,
					.bins = (int32_t)html->bins.count } };
	int err;

	json_out__open(&html->out.json, "histograms", '[');
	err = put_own(html, &heat);
	if (!err && html->model->signals.known)
		err = put_distribution_heads(html, &heat);
	json_out__close(&html->out.json, ']');
	if (!err)
		err = read_heat(html, &heat);
	map__release(&heat.places);
	if (err)
		html_rows__release(&heat.cells.rows);
	return err ? err : html__put_table(html, "heat", &heat.cells, columns, 5);
}
