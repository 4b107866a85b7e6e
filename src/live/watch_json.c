/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/clock.h"
#include "base/json.h"
#include "live/watch_internal.h"
#include "report/json_percentiles.h"
#include "vocabulary/histogram.h"

static int print_line(const struct watch *watch, json_t *line)
{
	FILE *out = watch->options.out;
	bool ok;

	line = json__versioned(line);
	ok = line && !json_dumpf(line, out, JSON_COMPACT) && fputc('\n', out) != EOF;

	json_decref(line);
	return ok ? 0 : -EIO;
}

static json_t *thread_of(bool known, int64_t pid, int64_t tid, const char *comm)
{
	return known ? json_pack("{s:I, s:I, s:o}", "pid", (json_int_t)pid, "tid", (json_int_t)tid,
				 "comm", json__text(comm))
		     : json_null();
}

static json_t *text_or_null(const char *text)
{
	return *text ? json__text(text) : json_null();
}

static json_t *unix_ns(uint64_t time_ns)
{
	uint64_t wall_ns = time_ns + clock__wall_offset_ns();

	return json_integer((json_int_t)wall_ns);
}

/* The fields of all events, then those of this signal only. */
int watch_json__event(struct watch *watch, const struct watch_event *event)
{
	json_t *line = json_pack("{s:s, s:s, s:I, s:I, s:o}", "type", "event", "signal",
				 watch->options.signal->name, "time_ns", (json_int_t)event->time_ns,
				 "duration_ns", (json_int_t)event->duration_ns, "thread",
				 thread_of(event->known, event->pid, event->tid, event->comm));

	json_object_set_new(line, "unix_ns", unix_ns(event->time_ns));
	json_object_set_new(line, "object", text_or_null(event->object));
	json_object_set_new(line, "place", text_or_null(event->place));
	json_object_set_new(line, "operation", text_or_null(event->operation));
	json_object_set_new(line, "errno", json_integer(event->error));
	json_object_update_missing(line, event->fields);
	return print_line(watch, line);
}

struct page {
	struct watch *watch;
	json_t *list;
};

static json_t *buckets_of(const struct histogram *histogram)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i < histogram->size; i++) {
		__u32 bucket = (__u32)histogram->buckets[i].number;
		bool last = bucket >= HISTOGRAM_BUCKETS - 1;

		json_array_append_new(
			buckets, json_pack("{s:I, s:o, s:I}", "begin",
					   (json_int_t)histogram_bucket_start(bucket), "end",
					   last ? json_null()
						: json_integer((json_int_t)histogram_bucket_start(
							  bucket + 1)),
					   "count", (json_int_t)histogram->buckets[i].count));
	}
	return buckets;
}

static int add_histogram(void *context, const char *place, const char *operation,
			 const struct histogram *histogram)
{
	struct page *page = context;
	int64_t total = histogram__total(histogram), percentiles[PERCENTILES];
	json_t *one = json_pack("{s:o, s:o, s:s, s:s, s:I}", "place", text_or_null(place),
				"operation", text_or_null(operation), "measure", histogram->label,
				"unit", histogram->unit, "count", (json_int_t)total);

	percentiles__find(histogram->buckets, histogram->size, total, histogram->max, percentiles);
	json_percentiles__put(one, "", percentiles);
	json_object_set_new(one, "max", json_integer((json_int_t)histogram->max));
	json_object_set_new(one, "buckets", buckets_of(histogram));
	json_array_append_new(page->list, one);
	return 0;
}

static json_t *measures_of(const struct signal *signal, const struct watch_row *row)
{
	json_t *measures = json_object();

	for (size_t i = 0; i < signal__values(signal); i++)
		json_object_set_new(
			measures, signal->measures[i].name,
			json_pack("{s:s, s:I, s:I, s:I}", "unit", signal->measures[i].unit, "sum",
				  (json_int_t)row->sum[i], "average",
				  (json_int_t)(row->count ? row->sum[i] / row->count : 0), "max",
				  (json_int_t)row->max[i]));
	return measures;
}

/* Contains only the keys that rows are split by. */
static int add_row(void *context, const struct watch_row *row)
{
	struct page *page = context;
	unsigned by = watch__by(page->watch);
	json_t *line = json_object();

	if (row->others)
		json_object_set_new(line, "others", json_true());
	if (by & WATCH_BY_THREAD)
		json_object_set_new(line, "thread",
				    thread_of(row->known, row->pid, row->tid, row->comm));
	else if (by & WATCH_BY_PROCESS)
		json_object_set_new(line, "process",
				    row->known
					    ? json_pack("{s:I, s:o}", "pid", (json_int_t)row->pid,
							"comm", json__text(row->comm))
					    : json_null());
	if (by & WATCH_BY_OBJECT)
		json_object_set_new(line, "object", text_or_null(row->object));
	if (by & WATCH_BY_PLACE)
		json_object_set_new(line, "place", text_or_null(row->place));
	if (by & WATCH_BY_OPERATION)
		json_object_set_new(line, "operation", text_or_null(row->operation));
	if (by & WATCH_BY_ERRNO)
		json_object_set_new(line, "errno", json_integer(row->error));
	json_object_set_new(line, "count", json_integer(row->count));
	json_object_set_new(line, "measures", measures_of(page->watch->options.signal, row));
	json_array_append_new(page->list, line);
	return 0;
}

static int add_loss(void *context, const char *name, int64_t value, const char *bias)
{
	struct page *page = context;

	json_array_append_new(page->list,
			      json_pack("{s:o, s:I, s:o}", "name", json__text(name), "value",
					(json_int_t)value, "bias", json__text(bias)));
	return 0;
}

int watch_json__page(struct watch *watch, const struct watch_page *of)
{
	struct page histograms = { watch, json_array() }, rows = { watch, json_array() };
	struct page losses = { watch, of->span == WATCH_WHOLE ? json_array() : NULL };
	int err = watch__each_histogram(watch, of->span, add_histogram, &histograms);
	json_t *line;

	if (!err)
		err = watch__each_row(watch, of->span, -1, add_row, &rows);
	if (!err && losses.list)
		err = watch__each_loss(watch, add_loss, &losses);
	line = json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:o, s:o}", "type",
			 of->span == WATCH_WHOLE ? "summary" : "interval", "signal",
			 watch->options.signal->name, "begin_ns", (json_int_t)of->begin_ns,
			 "end_ns", (json_int_t)of->end_ns, "events", watch->options.signal->events,
			 "count", (json_int_t)of->count, "histograms", histograms.list, "sums",
			 rows.list);
	json_object_set_new(line, "end_unix_ns", unix_ns(of->end_ns));
	if (losses.list)
		json_object_set_new(line, "quality", losses.list);
	if (!err)
		return print_line(watch, line);
	json_decref(line);
	return err;
}
