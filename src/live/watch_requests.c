/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "live/watch_requests.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/term.h"
#include "base/words.h"
#include "live/watch_internal.h"
#include "model/serving.h"
#include "report/histogram.h"
#include "report/json_percentiles.h"

/* JSON has all. */
#define MOST_LINES      20
#define MOST_HISTOGRAMS 6
#define SERVICE_COLUMNS 34
#define RATE_COLUMNS    (-9)
#define FAILED_COLUMNS  (-8)
#define TIME_COLUMNS    (-9)

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* Details of single requests are not shown. */
static const char sql_forget[] =
	"DELETE FROM window_band; DELETE FROM window_time; DELETE FROM window;"
	"DELETE FROM window_part; DELETE FROM window_wait;";

static const char sql_losses[] =
	"SELECT name, value, bias FROM quality WHERE value > 0 AND substr(name, 1, 8) = 'windows_'"
	" ORDER BY name";

struct watch_requests {
	sqlite3 *db;
	struct watch_requests_options options;
	uint64_t start_ns, since_ns;
	struct serving interval, whole;
};

struct page {
	const struct serving *serving;
	uint64_t begin_ns, end_ns;
	bool is_whole;
};

int watch_requests__new(sqlite3 *db, const struct watch_requests_options *options,
			uint64_t start_ns, struct watch_requests **ret)
{
	struct watch_requests *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->db = db;
	watch->options = *options;
	watch->start_ns = watch->since_ns = start_ns;
	*ret = watch;
	return 0;
}

void watch_requests__free(struct watch_requests *watch)
{
	if (!watch)
		return;
	serving__release(&watch->interval);
	serving__release(&watch->whole);
	free(watch);
}

int watch_requests__take(struct watch_requests *watch)
{
	cleanup(serving__release) struct serving taken = {};
	int err = serving__read(watch->db, -1, INT64_MAX, &taken);

	if (!err)
		err = serving__add(&watch->interval, &taken);
	if (!err)
		err = serving__add(&watch->whole, &taken);
	if (!err && sqlite3_exec(watch->db, sql_forget, NULL, NULL, NULL))
		err = -EIO;
	return err;
}

static double seconds_of(const struct page *page)
{
	return (double)(page->end_ns - page->begin_ns) / 1e9;
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_percentile(FILE *out, int64_t ns)
{
	words__field(out, ns < 0 ? "-" : words__brief_time(ns).text, TIME_COLUMNS);
}

static void put_line(const struct watch_requests *watch, const struct page *page,
		     const struct serving_row *row)
{
	FILE *out = watch->options.out;
	int64_t percentiles[PERCENTILES];
	char name[512] = "", rate[32], failed[32], reason[128] = "";

	serving__say_service(row, name, sizeof(name));
	serving__say_reason(row, reason, sizeof(reason));
	serving__percentiles(row, percentiles);
	snprintf(rate, sizeof(rate), "%.1f", (double)row->count / seconds_of(page));
	snprintf(failed, sizeof(failed), "%.1f %%",
		 row->count ? (double)row->failed * 100 / (double)row->count : 0);
	/* A name that is too long gets a line of its own. */
	if (words__columns(name) > SERVICE_COLUMNS)
		fprintf(out, "%s\n%*s", name, SERVICE_COLUMNS, "");
	else
		words__field(out, name, SERVICE_COLUMNS);
	words__field(out, rate, RATE_COLUMNS);
	words__field(out, failed, FAILED_COLUMNS);
	put_percentile(out, percentiles[P50]);
	put_percentile(out, percentiles[P99]);
	fprintf(out, "  %s\n", reason);
}

static void put_lines(const struct watch_requests *watch, const struct page *page)
{
	FILE *out = watch->options.out;
	size_t count = page->serving->count;

	words__field(out, "SERVICE", SERVICE_COLUMNS);
	words__field(out, "A SECOND", RATE_COLUMNS);
	words__field(out, "FAILED", FAILED_COLUMNS);
	words__field(out, "P50", TIME_COLUMNS);
	words__field(out, "P99", TIME_COLUMNS);
	fputs("  MOST OF THE TIME\n", out);
	for (size_t i = 0; i < count && i < MOST_LINES; i++)
		put_line(watch, page, &page->serving->rows[i]);
	if (count > MOST_LINES)
		fprintf(out, "and %s more [--json has all]\n",
			words__number((int64_t)(count - MOST_LINES)).text);
}

static size_t buckets_of(const struct serving_row *row, struct bucket *ret)
{
	size_t used = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (row->buckets[i])
			ret[used++] = (struct bucket) { i, row->buckets[i] };
	return used;
}

static void put_histogram(const struct watch_requests *watch, const struct serving_row *row)
{
	FILE *out = watch->options.out;
	struct bucket buckets[HISTOGRAM_BUCKETS];
	struct histogram histogram = { .label = "from begin to end",
				       .unit = "ns",
				       .buckets = buckets,
				       .size = buckets_of(row, buckets) };
	char name[512] = "";

	serving__say_service(row, name, sizeof(name));
	fprintf(out, "\n%s\n", name);
	histogram__print(out, &histogram, term__width(out));
}

static int each_loss(const struct watch_requests *watch, watch_loss_fn show, void *context)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(watch->db, sql_losses, -1, &row, NULL))
		return -EIO;
	while (!err && sqlite3_step(row) == SQLITE_ROW) {
		const char *bias = (const char *)sqlite3_column_text(row, 2);

		err = show(context, (const char *)sqlite3_column_text(row, 0),
			   sqlite3_column_int64(row, 1), bias ? bias : "");
	}
	return err;
}

static int put_loss(void *context, const char *name, int64_t value, const char *bias)
{
	fprintf(context, "%s: %s (%s)\n", words__clean(name, 60).text, words__number(value).text,
		words__clean(bias, 200).text);
	return 0;
}

static int64_t count_of(const struct serving *serving)
{
	int64_t count = 0;

	for (size_t i = 0; i < serving->count; i++)
		count += serving->rows[i].count;
	return count;
}

static int put_text(const struct watch_requests *watch, const struct page *page)
{
	FILE *out = watch->options.out;

	fputc('\n', out);
	if (watch->options.times) {
		watch_text__time(out, page->end_ns);
		fputs("  ", out);
	}
	fprintf(out, "requests, %s %s: ", page->is_whole ? "all" : "the last",
		words__time((int64_t)(page->end_ns - page->begin_ns)).text);
	if (page->serving->count) {
		fprintf(out, "%s\n", words__count(count_of(page->serving), "requests").text);
		put_lines(watch, page);
	} else {
		fprintf(out, "none%s%s ended\n", watch->options.target ? " of " : "",
			watch->options.target ? words__clean(watch->options.target, 60).text : "");
	}
	for (size_t i = 0; page->is_whole && i < page->serving->count && i < MOST_HISTOGRAMS; i++)
		put_histogram(watch, &page->serving->rows[i]);
	return page->is_whole ? each_loss(watch, put_loss, out) : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
	return *text ? json__text(text) : json_null();
}

static json_t *buckets_json(const struct serving_row *row)
{
	struct bucket buckets[HISTOGRAM_BUCKETS];
	size_t count = buckets_of(row, buckets);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		__u32 bucket = (__u32)buckets[i].number;
		bool is_last = bucket >= HISTOGRAM_BUCKETS - 1;

		json_array_append_new(
			list, json_pack("{s:I, s:o, s:I}", "begin",
					(json_int_t)histogram_bucket_start(bucket), "end",
					is_last ? json_null()
						: json_integer((json_int_t)histogram_bucket_start(
							  bucket + 1)),
					"count", (json_int_t)buckets[i].count));
	}
	return list;
}

static json_t *reasons_json(const struct serving_row *row)
{
	json_t *list = json_array();

	for (size_t i = 0; i < row->reason_count; i++) {
		const struct serving_reason *reason = &row->reasons[i];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:I}", "part", json__text(reason->part),
					"state", text_or_null(reason->state), "cause",
					text_or_null(reason->cause), "ns", (json_int_t)reason->ns));
	}
	return list;
}

static json_t *row_json(const struct serving_row *row)
{
	int64_t percentiles[PERCENTILES];
	json_t *json =
		json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "kind", json__text(row->kind),
			  "protocol", text_or_null(row->protocol), "service",
			  text_or_null(row->service), "count", (json_int_t)row->count, "requests",
			  (json_int_t)row->n, "failed", (json_int_t)row->failed, "refused",
			  (json_int_t)row->refused, "length_ns", (json_int_t)row->length_ns);

	json_object_set_new(json, "process",
			    row->pid ? json_pack("{s:I, s:o}", "pid", (json_int_t)row->pid, "comm",
						 json__text(row->comm))
				     : json_null());
	serving__percentiles(row, percentiles);
	json_percentiles__put(json, "", percentiles);
	json_object_set_new(json, "reasons", reasons_json(row));
	json_object_set_new(json, "buckets", buckets_json(row));
	return json;
}

static int add_loss(void *context, const char *name, int64_t value, const char *bias)
{
	json_array_append_new(context,
			      json_pack("{s:o, s:I, s:o}", "name", json__text(name), "value",
					(json_int_t)value, "bias", json__text(bias)));
	return 0;
}

static int put_json(const struct watch_requests *watch, const struct page *page)
{
	FILE *out = watch->options.out;
	json_t *list = json_array(), *losses = json_array(), *line;
	int err = page->is_whole ? each_loss(watch, add_loss, losses) : 0;
	uint64_t end_unix_ns = page->end_ns + clock__wall_offset_ns();
	bool ok;

	for (size_t i = 0; i < page->serving->count; i++)
		json_array_append_new(list, row_json(&page->serving->rows[i]));
	line = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "type",
			 page->is_whole ? "summary" : "interval", "signal", "requests", "begin_ns",
			 (json_int_t)page->begin_ns, "end_ns", (json_int_t)page->end_ns,
			 "end_unix_ns", (json_int_t)end_unix_ns, "count",
			 (json_int_t)count_of(page->serving), "services", list);
	if (page->is_whole)
		json_object_set(line, "quality", losses);
	json_decref(losses);
	line = json__versioned(line);
	ok = line && !err && !json_dumpf(line, out, JSON_COMPACT) && fputc('\n', out) != EOF;
	json_decref(line);
	return ok ? 0 : err ? err : -EIO;
}

static int show(const struct watch_requests *watch, const struct page *page)
{
	int err = watch->options.json ? put_json(watch, page) : put_text(watch, page);

	return fflush(watch->options.out) && !err ? -EIO : err;
}

int watch_requests__interval(struct watch_requests *watch, uint64_t now_ns)
{
	const struct page page = { &watch->interval, watch->since_ns, now_ns, false };
	int err = show(watch, &page);

	watch->since_ns = now_ns;
	serving__release(&watch->interval);
	return err;
}

int watch_requests__summary(struct watch_requests *watch, uint64_t now_ns)
{
	const struct page page = { &watch->whole, watch->start_ns, now_ns, true };

	return show(watch, &page);
}
