/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reported.h"

#include <errno.h>
#include <math.h>

#include "model/hump.h"
#include "model/model.h"
#include "vocabulary/histogram.h"

#define US 1000LL

static const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static const struct report_options wide = { .width = 1000 };

static json_t *signal_of(json_t *json, const char *name)
{
	json_t *signal;
	size_t i;

	json_array_foreach (json_object_get(json, "signals"), i, signal)
		if (!strcmp(text_at(signal, "name"), name))
			return signal;
	fail_msg("no signal '%s'", name);
	return NULL;
}

static json_t *row_of(json_t *signal, const char *place, const char *operation)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(signal, "rows"), i, row)
		if (!strcmp(text_at(row, "place"), place) &&
		    !strcmp(text_at(row, "operation"), operation))
			return row;
	fail_msg("no row '%s' '%s'", place, operation);
	return NULL;
}

static json_t *value_of(json_t *row, const char *measure)
{
	json_t *value = json_object_get(json_object_get(row, "values"), measure);

	assert_non_null(value);
	return value;
}

/* --- two humps ------------------------------------------------------------------------------ */

static struct bucket buckets[HISTOGRAM_BUCKETS];

static void clear(void)
{
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		buckets[i] = (struct bucket) { i, 0 };
}

/* Values spread around `middle` as a bell on the logarithmic scale, `wide` powers of two wide. */
static void add_bell(double middle, double width, int64_t count)
{
	const int steps = 1000;
	double whole = 0, added = 0;

	for (int i = -steps; i <= steps; i++)
		whole += exp(-4.5 * i * i / steps / steps);
	for (int i = -steps; i <= steps; i++) {
		double value = middle * exp2(width * i / steps);
		int64_t before = (int64_t)added;

		added += (double)count * exp(-4.5 * i * i / steps / steps) / whole;
		buckets[histogram_bucket((__u64)value)].count += (int64_t)added - before;
	}
}

static bool find(struct hump *ret)
{
	return hump__find(buckets, HISTOGRAM_BUCKETS, ret);
}

static void one_bell_has_one_hump_however_wide(void **state)
{
	struct hump hump;

	for (double width = 0.1; width < 12; width *= 1.3) {
		clear();
		add_bell(1e6, width, 100000);
		assert_false(find(&hump));
	}
	clear();
	assert_false(find(&hump));
	buckets[100].count = 1000;
	assert_false(find(&hump));
}

static void a_long_tail_is_no_hump(void **state)
{
	struct hump hump;

	/* Exponential, then one over the square: what queues and heavy tails look like. */
	clear();
	for (int i = 1; i <= 100000; i++)
		buckets[histogram_bucket((__u64)(-1e6 * log(i / 100001.0)))].count++;
	assert_false(find(&hump));
	clear();
	for (int i = 1; i <= 100000; i++)
		buckets[histogram_bucket((__u64)(1e5 / sqrt(i / 100001.0)))].count++;
	assert_false(find(&hump));
}

static void one_in_twenty_at_thirty_ms_is_a_second_hump(void **state)
{
	struct hump hump = {};

	clear();
	add_bell(200e3, 1, 95000);
	add_bell(30e6, 0.5, 5000);
	assert_true(find(&hump));
	assert_true(llabs(hump.low_count - 95000) < 10);
	assert_true(llabs(hump.high_count - 5000) < 10);
	assert_true(hump.low > 185 * US && hump.low < 215 * US);
	assert_true(hump.high > 28 * MS && hump.high < 32 * MS);
}

static void a_hump_needs_one_percent(void **state)
{
	struct hump hump;

	clear();
	add_bell(200e3, 1, 99000);
	add_bell(30e6, 0.5, 1050);
	assert_true(find(&hump));
	clear();
	add_bell(200e3, 1, 99000);
	add_bell(30e6, 0.5, 900);
	assert_false(find(&hump));
}

static void humps_are_four_times_apart(void **state)
{
	struct hump hump;

	clear();
	add_bell(1e6, 0.2, 5000);
	add_bell(5e6, 0.2, 5000);
	assert_true(find(&hump));
	clear();
	add_bell(1e6, 0.2, 5000);
	add_bell(3e6, 0.2, 5000);
	assert_false(find(&hump));
}

static void a_few_values_are_no_hump(void **state)
{
	struct hump hump;

	clear();
	buckets[histogram_bucket(200 * US)].count = 90;
	buckets[histogram_bucket(30 * MS)].count = 16;
	assert_false(find(&hump));
	buckets[histogram_bucket(30 * MS)].count = 17;
	assert_true(find(&hump));
	assert_int_equal(hump.high_count, 17);
}

/* Of a flat spread, each bucket has what chance gives it: one in a thousand may look like two. */
static void chance_hardly_makes_a_hump(void **state)
{
	struct hump hump;
	int found = 0;

	srand(11);
	for (int run = 0; run < 2000; run++) {
		clear();
		for (int i = 0; i < 50 << (run % 8); i++) {
			double value = 1e4 * exp2(10.0 * rand() / (RAND_MAX + 1.0));

			buckets[histogram_bucket((__u64)value)].count++;
		}
		found += find(&hump);
	}
	assert_in_range(found, 0, 2);
}

/* --- numbers -------------------------------------------------------------------------------- */

static void every_number_of_the_sample_is_right(void **state)
{
	json_t *json, *signal, *row;

	sample__write_with_signals(path);
	json = report((struct report_options) {});
	assert_int_equal(json_array_size(json_object_get(json, "signals")), 5);
	signal = signal_of(json, "block");
	assert_int_equal(number_at(signal, "count"), 12490);
	assert_int_equal(number_at(signal, "errors"), 560);
	assert_int_equal(number_at(signal, "event_count"), 12);
	assert_int_equal(json_array_size(json_object_get(signal, "slowest")), 10);
	row = row_of(signal, "vda", "read");
	assert_int_equal(number_at(row, "count"), 11200);
	assert_int_equal(number_at(value_of(row, "total"), "sum"),
			 10640 * 200 * US + 560 * 30 * MS);
	assert_int_equal(number_at(value_of(row, "queue"), "sum") +
				 number_at(value_of(row, "service"), "sum"),
			 number_at(value_of(row, "total"), "sum"));
	assert_int_equal(number_at(value_of(row, "total"), "count"), 11200);
	assert_int_equal(number_at(value_of(row, "total"), "max"), 30 * MS);
	assert_int_equal(number_at(value_of(row, "sequential"), "sum"), 560);
	assert_int_equal(number_at(json_object_get(row, "humps"), "high_count"), 560);
	assert_string_equal(text_at(json_object_get(row, "by"), "name"), "worker-*");
	row = row_of(signal_of(json, "files"), "ext4 on vda1", "fsync");
	assert_string_equal(text_at(json_object_get(row, "by"), "name"), "logger");
	assert_int_equal(number_at(json_object_get(row, "by"), "tid"), 1004);
	assert_int_equal(number_at(signal_of(json, "files"), "object_count"), 4);
	json_decref(json);
}

static void connections_become_services(void **state)
{
	json_t *json, *service, *list;

	sample__write_with_signals(path);
	json = report((struct report_options) {});
	list = json_object_get(signal_of(json, "tcp"), "services");
	assert_int_equal(json_array_size(list), 3);
	service = json_array_get(list, 0);
	assert_string_equal(text_at(service, "name"), "192.0.2.7:443");
	assert_int_equal(number_at(service, "segments"), 60000);
	assert_int_equal(number_at(service, "sent_again"), 1240);
	service = json_array_get(list, 1);
	assert_string_equal(text_at(service, "name"), "10.0.0.1:5432");
	assert_true(json_is_false(json_object_get(service, "accepts")));
	assert_int_equal(number_at(service, "connections"), 900);
	assert_int_equal(number_at(service, "opened"), 900);
	assert_int_equal(number_at(service, "lifetime_ns"), 900 * 3 * MS);
	assert_int_equal(number_at(service, "bytes"), 900 * 4000);
	service = json_array_get(list, 2);
	assert_string_equal(text_at(service, "name"), "10.0.0.9:8080");
	assert_true(json_is_true(json_object_get(service, "accepts")));
	assert_int_equal(number_at(service, "connections"), 60);
	assert_int_equal(number_at(service, "overflows"), 120);
	json_decref(json);
}

static void programs_go_by_file_and_parent(void **state)
{
	json_t *json, *program;

	sample__write_with_signals(path);
	json = report((struct report_options) {});
	program = json_array_get(json_object_get(signal_of(json, "exec"), "programs"), 1);
	assert_string_equal(text_at(program, "file"), "/bin/false");
	assert_string_equal(text_at(program, "parent"), "sh");
	assert_int_equal(number_at(program, "count"), 50);
	assert_int_equal(number_at(program, "failed"), 50);
	assert_int_equal(number_at(program, "lifetime_ns"), 100 * MS);
	json_decref(json);
}

static void view_says(sqlite3 *db, const char *sql, int64_t expected)
{
	sqlite3_stmt *row = NULL;
	int64_t found;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	found = sqlite3_column_type(row, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, 0);
	if (found != expected)
		fail_msg("%s: %lld, the report has %lld", sql, (long long)found,
			 (long long)expected);
	sqlite3_finalize(row);
}

static void compare_row(sqlite3 *db, const char *signal, json_t *row)
{
	static const char *const sums[] = { "sum", "max" }, *const shares[] = {
		"p50", "p90", "p95", "p99", "p999", "max", "count"
	};
	const char *measure;
	char sql[512], where[256];
	json_t *value;

	json_object_foreach (json_object_get(row, "values"), measure, value) {
		snprintf(where, sizeof(where),
			 "WHERE signal = '%s' AND place = '%s' AND operation = '%s' AND measure = "
			 "'%s'",
			 signal, text_at(row, "place"), text_at(row, "operation"), measure);
		for (size_t i = 0; i < 2; i++) {
			snprintf(sql, sizeof(sql), "SELECT %s(%s) FROM signal_sums %s",
				 i ? "max" : "sum", sums[i], where);
			view_says(db, sql, number_at(value, sums[i]));
		}
		for (size_t i = 0; i < 7 && json_object_get(value, "p50"); i++) {
			snprintf(sql, sizeof(sql), "SELECT %s FROM signal_percentiles %s",
				 shares[i], where);
			view_says(db, sql, number_at(value, shares[i]));
		}
		if (json_object_get(value, "buckets")) {
			snprintf(sql, sizeof(sql), "SELECT count(*) FROM signal_histograms %s",
				 where);
			view_says(db, sql,
				  (int64_t)json_array_size(json_object_get(value, "buckets")));
		}
	}
}

static void views_and_report_give_the_same_numbers(void **state)
{
	json_t *json, *signal, *row;
	sqlite3 *db = NULL;
	size_t i, j, rows = 0;

	sample__write_with_signals(path);
	json = report((struct report_options) {});
	assert_int_equal(recording__open(path, &db), 0);
	json_array_foreach (json_object_get(json, "signals"), i, signal)
		json_array_foreach (json_object_get(signal, "rows"), j, row) {
			compare_row(db, text_at(signal, "name"), row);
			rows++;
		}
	assert_int_equal(rows, 2 + 3 + 4 + 7 + 1);
	view_says(db, "SELECT count(*) FROM events WHERE signal = 'exec'", 900);
	view_says(db, "SELECT tid FROM events WHERE object = '/var/log/app.log'", 1004);
	view_says(db, "SELECT sum(count) FROM signal_sums WHERE errno = 2 AND measure = 'time'",
		  2 * 365760);
	sqlite3_close(db);
	json_decref(json);
}

static void a_cut_counts_what_is_inside(void **state)
{
	json_t *json, *row, *service;

	sample__write_with_signals(path);
	json = report((struct report_options) { .model.scope.from.ns = 10 * SECOND,
						.model.scope.to.ns = 20 * SECOND });
	row = row_of(signal_of(json, "block"), "vda", "write");
	assert_int_equal(number_at(row, "count"), 400);
	assert_int_equal(number_at(value_of(row, "total"), "sum"), 400 * 12 * MS);
	assert_int_equal(number_at(value_of(row, "total"), "count"), 400);
	/* Every second of them ended at 11 s, 13 s, … */
	assert_int_equal(number_at(signal_of(json, "block"), "event_count"), 5);
	json_decref(json);
	/* Half of a slice, with one event in most series: half of the events, as long as all. */
	json = report((struct report_options) { .model.scope.to.ns = 5 * SECOND });
	service = json_array_get(json_object_get(signal_of(json, "tcp"), "services"), 1);
	assert_string_equal(text_at(service, "name"), "10.0.0.1:5432");
	assert_int_equal(number_at(service, "opened"), 450);
	assert_int_equal(number_at(service, "lifetime_ns"), number_at(service, "ended") * 3 * MS);
	json_decref(json);
}

static void change(const char *sql)
{
	char *error = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error))
		fail_msg("%s: %s", sql, error);
	sqlite3_close(db);
}

/* --- sentences ------------------------------------------------------------------------------ */

static struct recording *begin(void)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 3 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_POLL, 1, 3, 27 * SECOND, 1);
	return recording;
}

static void add_signal(struct recording *recording, const char *name, const char *const *measures)
{
	assert_int_equal(recording__add_signal(
				 recording, &(struct recording_signal) { 1, name, "", "things" }),
			 0);
	for (int i = 0; measures[2 * i]; i++)
		assert_int_equal(recording__add_measure(recording, 1, i, measures[2 * i],
							measures[2 * i + 1]),
				 0);
}

static void add_series(struct recording *recording, struct recording_series series, int64_t count,
		       const int64_t values[RECORDING_MEASURES])
{
	struct recording_sum sum = { .series = series.id, .from = 1, .to = 1, .count = count };

	series.signal = 1;
	series.place = series.place ? series.place : "";
	series.operation = series.operation ? series.operation : "";
	assert_int_equal(recording__add_series(recording, &series), 0);
	for (int i = 0; i < RECORDING_MEASURES; i++) {
		sum.sum[i] = values[i] * count;
		sum.max[i] = values[i];
	}
	assert_int_equal(recording__add_sum(recording, &sum), 0);
}

static void add_value(struct recording *recording, int64_t id, int measure, const char *place,
		      const char *operation, int64_t value, int64_t count)
{
	assert_int_equal(recording__add_distribution(
				 recording, &(struct recording_distribution) { id, 1, measure,
									       place, operation }),
			 0);
	assert_int_equal(recording__add_distributed(
				 recording, id, (int)histogram_bucket((__u64)value), 1, 1, count),
			 0);
}

static void put_object(struct recording *recording, int64_t id, const char *name)
{
	assert_int_equal(
		recording__put_object(recording, &(struct recording_object) { id, "thing", name }),
		0);
}

static const char *const block_measures[] = { "total",   "ns",       "queue", "ns",
					      "service", "ns",       "size",  "bytes",
					      "depth",   "requests", NULL };
static const char *const time_measures[] = { "time", "ns", NULL };
static const char *const tcp_measures[] = { "time",     "ns",  "bytes", "bytes", "segments",
					    "segments", "rtt", "ns",    NULL };

/* `count` reads of vda, all alike. */
static void write_reads(int64_t count, int64_t total_ns, int64_t queue_ns, int flags)
{
	struct recording *recording = begin();

	sample__thread(recording, 7, 1, "reader", flags);
	add_signal(recording, "block", block_measures);
	add_series(recording,
		   (struct recording_series) {
			   .id = 1, .thread = 7, .place = "vda", .operation = "read" },
		   count, (int64_t[6]) { total_ns, queue_ns, total_ns - queue_ns, 4096, 8 });
	add_value(recording, 1, 0, "vda", "read", total_ns, count);
	add_value(recording, 2, 2, "vda", "read", total_ns - queue_ns, count);
	sample__finish(recording);
}

static void a_slow_disk_is_a_finding(void **state)
{
	write_reads(200, 20 * MS, 19 * MS, 0);
	text_has(&wide,
		 "1. 200 of 200 reads on vda took 18.9 ms or longer (p50 19.9 ms), most of them by "
		 "thread reader (tid 1007); 95 % of that time is queueing (8.0 requests in flight "
		 "on average), the device itself took 1.00 ms (p50).\n");
}

static void a_slow_disk_with_few_requests_is_a_finding(void **state)
{
	write_reads(50, 20 * MS, 19 * MS, 0);
	text_has(&wide,
		 "1. 50 of 50 reads on vda took 18.9 ms or longer (p50 19.9 ms), most of them by ");
}

static void a_slow_device_is_told_from_a_queue(void **state)
{
	write_reads(200, 20 * MS, 1 * MS, 0);
	text_has(&wide, "; the device itself took 95 % of that time.\n");
}

static void what_is_rare_fast_or_our_own_is_no_slow_disk(void **state)
{
	write_reads(19, 40 * MS, 0, 0);
	text_lacks(&wide, "reads on vda took");
	sample__remove(path);
	path = sample__path();
	write_reads(20000, 9 * MS, 0, 0);
	text_lacks(&wide, "reads on vda took");
	sample__remove(path);
	path = sample__path();
	write_reads(200, 20 * MS, 0, RECORDING_THREAD_OWN);
	text_has(&wide, "read vda");
	text_lacks(&wide, "reads on vda took");
}

static void a_wait_for_the_disk_names_device_and_file(void **state)
{
	char *text;

	sample__write_with_signals(path);
	text_has(&wide, "for the disk, with file /var/log/app.log; 1,200 writes "
			"on vda took p50 12.0 ms, p99 12.0 ms; 98 % of that time is queueing (32.0 "
			"requests in flight on average), the device itself took 300 µs (p50).\n");
	text = print(&wide);
	/* Three of the account come first. */
	assert_non_null(strstr(text, "\n3. 2 threads worker-* of app ran"));
	assert_non_null(strstr(text, "\n5. 2.1 % of the 60,000 segments"));
	assert_null(strstr(text, "\n6. "));
	free(text);
}

/* 20 s of waiting, in which the thread's requests took no more than 4 s. */
static void a_wait_is_not_blamed_on_requests_that_do_not_explain_it(void **state)
{
	struct recording *recording = begin();

	sample__thread(recording, 7, 1, "writer", 0);
	sample__account(recording, 7, SAMPLE_RUN_USER, 1, 3, 10 * SECOND, 1);
	sample__account(recording, 7, SAMPLE_DISK, 1, 3, 20 * SECOND, 1);
	add_signal(recording, "block", block_measures);
	add_series(recording,
		   (struct recording_series) {
			   .id = 1, .thread = 7, .place = "vda", .operation = "write" },
		   200, (int64_t[6]) { 20 * MS, 0, 20 * MS });
	add_value(recording, 1, 0, "vda", "write", 20 * MS, 200);
	sample__finish(recording);
	text_has(&wide,
		 "1. writer of app (tid 1007) waited 67 % of the time that it had work (20.0 s of "
		 "30.0 s) for the disk; 200 writes on vda took p50 19.9 ms, p99 19.9 ms, and all "
		 "requests made from there 4.00 s: the rest of the waiting was not spent in "
		 "requests that it submitted itself.\n");
	text_lacks(&wide, "or longer");
}

static void write_missing(int64_t count)
{
	struct recording *recording = begin();

	add_signal(recording, "files", time_measures);
	put_object(recording, 1, "/etc/x\x1b[2J");
	add_series(
		recording,
		(struct recording_series) {
			.id = 1, .thread = 1, .object = 1, .operation = "stat", .error = ENOENT },
		count, (int64_t[6]) { 5 * US });
	sample__finish(recording);
}

static void a_file_that_is_not_there_is_a_finding(void **state)
{
	write_missing(12000);
	text_has(&wide,
		 "1. Thread app (tid 1001) looked for /etc/x?[2J 12,000 times (400 a second) and "
		 "did not find it, which took 60.0 ms.\n");
	sample__remove(path);
	path = sample__path();
	write_missing(999);
	text_lacks(&wide, "looked for");
	text_has(&wide, "not found: /etc/x?[2J 999 times, by thread app (tid 1001)");
}

/* Connections to one peer, 3 ms each, and how many of them were reset. */
static void write_connections(int64_t count, int64_t life_ns, int64_t resets)
{
	struct recording *recording = begin();
	int64_t id = 0;

	add_signal(recording, "tcp", tcp_measures);
	for (int64_t i = 1; i <= count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "[::1]:%lld ↔ [fd00::1]:5432", (long long)i + 30000);
		put_object(recording, i, name);
		add_series(recording,
			   (struct recording_series) {
				   .id = ++id, .thread = 1, .object = i, .operation = "connect" },
			   1, (int64_t[6]) { MS });
		add_series(recording,
			   (struct recording_series) {
				   .id = ++id, .thread = 1, .object = i, .operation = "lifetime" },
			   1, (int64_t[6]) { life_ns });
		if (i > resets)
			continue;
		add_series(recording,
			   (struct recording_series) {
				   .id = ++id, .thread = 1, .object = i, .operation = "reset" },
			   1, (int64_t[6]) {});
	}
	sample__finish(recording);
}

static void connections_without_a_pool_are_a_finding(void **state)
{
	write_connections(1200, 3 * MS, 0);
	text_has(&wide,
		 "1. Thread app (tid 1001) opened 40 new connections a second to [fd00::1]:5432 "
		 "(1,200 in all), each of which lived 3.00 ms on average: keep them in a pool.\n");
	sample__remove(path);
	path = sample__path();
	write_connections(1200, 200 * MS, 0);
	text_lacks(&wide, "in a pool");
}

/* Connections that come one by one and those that come summed up are of one service. */
static void a_service_may_come_as_such(void **state)
{
	struct recording *recording = begin();
	static const char *const names[] = { "to 10.0.0.1:5432", "10.0.0.9:33000 ↔ 10.0.0.1:5432",
					     "10.0.0.9:80 ↔ 10.0.0.1:44000", "at 10.0.0.9:80",
					     "10.0.0.9:45000 ↔ 10.0.0.1:5432" };
	static const int64_t counts[] = { 70, 1, 3, 40, 0 };
	json_t *json, *list;

	add_signal(recording, "tcp", tcp_measures);
	for (int64_t i = 0; i < 5; i++) {
		put_object(recording, i + 1, names[i]);
		add_series(
			recording,
			(struct recording_series) { .id = i + 1,
						    .thread = 1,
						    .object = i + 1,
						    .operation = counts[i] ? "lifetime" : "send" },
			counts[i] ? counts[i] : 1, (int64_t[6]) { MS, counts[i] ? 0 : 100 });
	}
	sample__finish(recording);
	json = report((struct report_options) {});
	list = json_object_get(signal_of(json, "tcp"), "services");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(text_at(json_array_get(list, 0), "name"), "10.0.0.1:5432");
	assert_int_equal(number_at(json_array_get(list, 0), "ended"), 71);
	assert_int_equal(number_at(json_array_get(list, 0), "bytes"), 100);
	assert_int_equal(number_at(json_array_get(list, 1), "ended"), 43);
	json_decref(json);
}

static void resets_are_a_finding(void **state)
{
	write_connections(100, SECOND, 10);
	text_has(
		&wide,
		"1. 10 connections to [fd00::1]:5432 were reset, of 100 in all, by thread app (tid "
		"1001).\n");
	sample__remove(path);
	path = sample__path();
	write_connections(100, SECOND, 9);
	text_lacks(&wide, "were reset");
	text_has(&wide, "trouble: 9 resets\n");
}

static void slow_accepts_are_a_finding(void **state)
{
	struct recording *recording = begin();

	add_signal(recording, "tcp", tcp_measures);
	put_object(recording, 1, "127.0.0.1:80 ↔ 127.0.0.1:55555");
	add_series(recording,
		   (struct recording_series) {
			   .id = 1, .thread = 1, .object = 1, .operation = "accept" },
		   15, (int64_t[6]) { 50 * MS });
	add_value(recording, 1, 0, "", "accept", MS, 13);
	assert_int_equal(
		recording__add_distributed(recording, 1, (int)histogram_bucket(50 * MS), 1, 1, 2),
		0);
	sample__finish(recording);
	text_has(&wide,
		 "1. 2 of 15 new connections waited 46.1 ms or longer to be accepted (p50 1.02 "
		 "ms), most of them by thread app (tid 1001), as 127.0.0.1:80 ↔ 127.0.0.1:55555.");
}

/* 100 segments of one connection, 50 of them sent again; and another one that only was there. */
static void write_again(const char *connection, const char *other)
{
	struct recording *recording = begin();

	add_signal(recording, "tcp", tcp_measures);
	put_object(recording, 1, connection);
	add_series(recording,
		   (struct recording_series) {
			   .id = 1, .thread = 1, .object = 1, .operation = "send" },
		   10, (int64_t[6]) { 0, 1000, 100 });
	add_series(recording,
		   (struct recording_series) {
			   .id = 2, .thread = 1, .object = 1, .operation = "retransmit" },
		   50, (int64_t[6]) { 0, 500, 1 });
	if (other) {
		put_object(recording, 2, other);
		add_series(recording,
			   (struct recording_series) {
				   .id = 3, .thread = 1, .object = 2, .operation = "send" },
			   1, (int64_t[6]) { 0, 10, 1 });
	}
	sample__finish(recording);
}

#define LOCAL   "): both ends are on this machine"
#define AWAY    "): they or their answers are lost or late on the way"
#define UNKNOWN "sent again (50), by thread app (tid 1001).\n"

/* A sum of short connections and a listener know their own end only, and have no say. */
static void the_network_is_not_blamed_for_what_never_left_the_machine(void **state)
{
	static const struct {
		const char *connection, *other, *expected;
	} known[] = {
		{ "127.0.0.1:40000 ↔ 127.0.0.1:80", NULL, LOCAL },
		{ "[::1]:40000 ↔ [::1]:80", NULL, LOCAL },
		{ "10.0.0.1:40000 ↔ 10.0.0.1:80", NULL, LOCAL },
		{ "10.0.0.1:40000 ↔ 10.0.0.12:80", NULL, AWAY },
		{ "[fd00::1]:40000 ↔ [fd00::2]:80", NULL, AWAY },
		{ "10.0.0.1:40000 ↔ 10.0.0.1:80", "to 10.0.0.1:80", LOCAL },
		{ "10.0.0.1:80 ↔ 10.0.0.1:40000", "10.0.0.1:80", LOCAL },
		{ "10.0.0.1:80 ↔ 10.0.0.1:40000", "10.0.0.1:80 ↔ 10.0.0.2:40000", AWAY },
		{ "to 127.0.0.1:80", NULL, LOCAL },
		{ "to 10.0.0.1:80", NULL, UNKNOWN },
		{ "at 10.0.0.1:80", "10.0.0.1:80", UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (i) {
			sample__remove(path);
			path = sample__path();
		}
		write_again(known[i].connection, known[i].other);
		text_has(&wide, known[i].expected);
	}
}

static void add_program_event(struct recording *recording, const char *operation,
			      const char *fields, int64_t time_ns, int64_t life_ns)
{
	assert_int_equal(
		recording__add_event(recording, &(struct recording_event) { .signal = 1,
									    .time_ns = time_ns,
									    .duration_ns = life_ns,
									    .place = "",
									    .operation = operation,
									    .fields = fields }),
		0);
}

/* A process that starts a program and, after a time that is not 0, ends with status 0. */
static void add_program(struct recording *recording, int pid, const char *file, int64_t time_ns,
			int64_t life_ns)
{
	char fields[256];

	snprintf(fields, sizeof(fields), "{\"pid\":%d,\"file\":\"%s\",\"parent_comm\":\"bash\"}",
		 pid, file);
	add_program_event(recording, "exec", fields, time_ns, 0);
	snprintf(fields, sizeof(fields),
		 "{\"pid\":%d,\"file\":null,\"parent_comm\":\"bash\",\"status\":0}", pid);
	if (life_ns)
		add_program_event(recording, "exit", fields, time_ns + 1, life_ns);
}

static void write_programs(int count, int64_t life_ns)
{
	struct recording *recording = begin();

	add_signal(recording, "exec", (const char *const[]) { "lifetime", "ns", NULL });
	add_series(recording, (struct recording_series) { .id = 1, .thread = 1 }, count,
		   (int64_t[6]) { life_ns });
	for (int i = 0; i < count; i++)
		add_program(recording, 100 + i % 3, i % 4 ? "/bin/true" : "/bin/ls",
			    SAMPLE_START_NS + 2 * i, life_ns);
	sample__finish(recording);
}

/* A shell that starts a program 50 times a second; each lives for `life_ns`. */
static void write_children(int count, int64_t life_ns)
{
	struct recording *recording = begin();

	assert_int_equal(recording__put_process(recording,
						&(struct recording_process) {
							.id = 5, .pid = 5000, .comm = "bash" }),
			 0);
	assert_int_equal(recording__put_thread(recording,
					       &(struct recording_thread) {
						       .id = 5,
						       .process = 5,
						       .tid = 5000,
						       .comm = "bash",
						       .first_ns = SAMPLE_START_NS,
						       .last_ns = SAMPLE_START_NS + 30 * SECOND }),
			 0);
	sample__account(recording, 5, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	for (int i = 0; i < count; i++) {
		const struct recording_process child = {
			.id = 10 + i, .pid = 6000 + i, .parent_pid = 5000, .comm = "true"
		};
		const struct recording_thread thread = { .id = 10 + i,
							 .process = 10 + i,
							 .tid = 6000 + i,
							 .comm = "true",
							 .first_ns = SAMPLE_START_NS + 1 + i * MS,
							 .last_ns = SAMPLE_START_NS + 1 + i * MS +
								    life_ns,
							 .flags = RECORDING_THREAD_EXITED };

		assert_int_equal(recording__put_process(recording, &child), 0);
		assert_int_equal(recording__put_thread(recording, &thread), 0);
		sample__account(recording, 10 + i, SAMPLE_RUN_USER, 1, 3, life_ns, 1);
	}
	sample__finish(recording);
}

static void many_short_processes_are_a_finding(void **state)
{
	write_children(1500, 20 * MS);
	text_has(&wide,
		 "1. bash started 1,500 processes (50 a second, mostly true), which lived 20.0 ms "
		 "on average, 30.0 s in all.\n");
	sample__remove(path);
	path = sample__path();
	write_children(1500, 200 * MS);
	text_lacks(&wide, " started ");
}

/* A file that is known by two numbers is one; what is done to it are two lines. */
static void one_name_is_one_object_for_each_operation(void **state)
{
	struct recording *recording = begin();

	add_signal(recording, "files", time_measures);
	put_object(recording, 1, "/var/data");
	put_object(recording, 2, "/var/data");
	for (int64_t i = 0; i < 4; i++)
		add_series(recording,
			   (struct recording_series) { .id = i + 1,
						       .thread = 1,
						       .object = i % 2 + 1,
						       .place = "ext4",
						       .operation = i < 2 ? "read" : "fsync" },
			   10, (int64_t[6]) { (i < 2 ? 20 : 10) * MS });
	sample__finish(recording);
	text_lacks(&wide, "in short\n1. Thread app (tid 1001) spent");
	text_has(&wide, "\n    400 ms        20  20.0 ms  read /var/data, thread app (tid 1001)\n"
			"    200 ms        20  10.0 ms  fsync /var/data, thread app (tid 1001)\n");
}

static void a_file_that_takes_a_tenth_of_the_time_is_a_finding(void **state)
{
	struct recording *recording = begin();

	add_signal(recording, "files", time_measures);
	put_object(recording, 1, "/var/wal");
	add_series(recording,
		   (struct recording_series) { .id = 1,
					       .thread = 1,
					       .object = 1,
					       .place = "ext4 on vda",
					       .operation = "fsync" },
		   300, (int64_t[6]) { 10 * MS });
	sample__finish(recording);
	text_has(&wide,
		 "1. Thread app (tid 1001) spent 3.00 s in 300 fsyncs (ext4 on vda) of /var/wal: "
		 "10.0 ms on average, 10.0 ms at most.\n");
}

static void what_gapless_does_itself_is_counted_but_not_shown(void **state)
{
	struct recording *recording = begin();

	sample__process(recording, 2, "gapless");
	sample__thread(recording, 5, 2, "gapless", RECORDING_THREAD_OWN);
	add_signal(recording, "files", time_measures);
	put_object(recording, 1, "/proc/own");
	add_series(
		recording,
		(struct recording_series) {
			.id = 1, .thread = 5, .object = 1, .operation = "open", .error = ENOENT },
		5000, (int64_t[6]) { 1 * MS });
	assert_int_equal(recording__add_event(
				 recording, &(struct recording_event) { .signal = 1,
									.time_ns = SAMPLE_START_NS,
									.duration_ns = SECOND,
									.thread = 5,
									.place = "",
									.operation = "slowly",
									.fields = "{}" }),
			 0);
	sample__finish(recording);
	text_has(&wide, "files (5,000 things, 5.00 s in all)\n");
	text_lacks(&wide, "/proc/own");
	text_lacks(&wide, "slowly");
}

/* A disk that is read from directly has nothing to do with a file that is looked at meanwhile. */
static void a_file_that_took_no_time_is_no_reason(void **state)
{
	struct recording *recording = begin();

	add_signal(recording, "block", (const char *const[]) { "total", "ns", NULL });
	put_object(recording, 1, "/tmp/status");
	for (int64_t i = 0; i < 2; i++) {
		add_series(recording,
			   (struct recording_series) { .id = i + 1,
						       .thread = 1,
						       .place = "loop0",
						       .operation = i ? "write" : "read" },
			   200, (int64_t[6]) { (20 + i) * MS });
		add_value(recording, i + 1, 0, "loop0", i ? "write" : "read", (20 + i) * MS, 200);
	}
	add_series(recording,
		   (struct recording_series) {
			   .id = 3, .thread = 1, .object = 1, .operation = "stat" },
		   100, (int64_t[6]) { 1 * MS });
	sample__finish(recording);
	change("INSERT INTO signal(id, name, about, events) VALUES (2, 'files', '', 'things');"
	       "INSERT INTO measure VALUES (2, 0, 'time', 'ns');"
	       "UPDATE series SET signal = 2 WHERE id = 3");
	text_has(&wide,
		 "1. 200 of 200 writes on loop0 took 21.0 ms or longer (p50 21.0 ms), most of them "
		 "by thread app (tid 1001); 200 reads on loop0 likewise (p99 19.9 ms).\n");
	text_lacks(&wide, "2. 1 %");
}

static void a_signal_that_took_no_time_has_one_line(void **state)
{
	struct recording *recording = begin();

	add_signal(recording, "files", time_measures);
	put_object(recording, 1, "/etc/passwd");
	add_series(recording,
		   (struct recording_series) { .id = 1,
					       .thread = 1,
					       .object = 1,
					       .place = "ext4 on vda",
					       .operation = "open" },
		   152, (int64_t[6]) { 2 * US });
	add_value(recording, 1, 0, "ext4 on vda", "open", 2 * US, 100);
	add_value(recording, 2, 0, "ext4 on vda", "open", 50 * US, 52);
	sample__finish(recording);
	text_has(&wide,
		 "files (152 things, 304 µs in all, 100 % of it by thread app (tid 1001))\n"
		 "  most of it: 152 opens (ext4 on vda), p50 1.98 µs, p99 2.00 µs, 304 µs in all "
		 "[--top]\n\n");
}

/* A shell that turns into another program, a process killed, one that only forked, one left. */
static void a_program_lives_until_its_process_ends(void **state)
{
	struct recording *recording = begin();
	int64_t at = SAMPLE_START_NS;

	add_signal(recording, "exec", (const char *const[]) { "lifetime", "ns", NULL });
	add_program(recording, 7, "/bin/sh", at, 0);
	add_program(recording, 7, "/bin/date", at + 10, 5 * MS);
	add_program(recording, 7, "/bin/date", at + 20, 7 * MS);
	add_program(recording, 8, "/bin/left", at + 30, 0);
	add_program(recording, 9, "/bin/killed", at + 40, 0);
	add_program_event(recording, "exit", "{\"pid\":9,\"killed_by\":\"SIGKILL\"}", at + 41,
			  3 * MS);
	add_program_event(recording, "exit", "{\"pid\":10,\"status\":1,\"forked\":1}", at + 42,
			  4 * MS);
	sample__finish(recording);
	text_has(&wide, "         2   6.00 ms  7.00 ms  /bin/date, started by bash\n"
			"         1   3.00 ms  3.00 ms  /bin/killed, started by bash, 1 failed\n"
			"         1         -        -  /bin/left, started by bash\n"
			"  … 1 more program [--top]\n");
}

/* A signal may have nothing but events. */
static void events_without_sums_are_shown(void **state)
{
	write_programs(8, 0);
	change("DELETE FROM series; DELETE FROM series_slice");
	text_has(&wide, "exec (8 things)\n     count     lives  longest  program\n"
			"         6         -        -  /bin/true, started by bash\n");
}

static void a_hook_that_is_missing_is_told_with_its_signal(void **state)
{
	struct recording *recording = begin();

	assert_int_equal(
		recording__set_text(recording, "hooks",
				    "[{\"signal\": \"block\", \"event\": \"block_rq_issue\","
				    " \"kind\": null, \"why_not\": \"no BTF\"}]"),
		0);
	sample__finish(recording);
	text_has(&wide, "block without block_rq_issue: no BTF\n");
}

/* --- recordings that are not as they should be ---------------------------------------------- */

/* Both ways to print come to an end, in whichever way. */
static int print_all(void)
{
	struct report_options ways[] = {
		{ .width = 80, .top = 100000 },
		{ .json = true },
		{ .json = true, .model.scope.from.ns = 1, .model.scope.to.ns = 15 * SECOND }
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		FILE *out = fopen("/dev/null", "we");

		assert_non_null(out);
		err = report__print(path, &ways[i], out);
		assert_true(!err || err == -EBADMSG);
		fclose(out);
	}
	return err;
}

static void a_share_of_a_time_that_is_none_is_not_shown(void **state)
{
	sample__write_with_signals(path);
	change("UPDATE measure SET unit = 'parrots'");
	assert_int_equal(print_all(), 0);
}

static void figures_have_no_bounds_in_a_hostile_recording(void **state)
{
	sample__write_with_signals(path);
	change("UPDATE quality SET value = -1e308; UPDATE cost SET value = 9e999");
	assert_int_equal(print_all(), 0);
}

static void an_old_recording_has_no_signals(void **state)
{
	sample__write(path);
	change("UPDATE meta SET value = 2 WHERE key = 'schema_version';"
	       "DROP VIEW signal_sums; DROP VIEW signal_histograms; DROP VIEW events;"
	       "DROP VIEW signal_percentiles; DROP TABLE signal; DROP TABLE measure;"
	       "DROP TABLE series; DROP TABLE series_slice; DROP TABLE distribution;"
	       "DROP TABLE distribution_slice; DROP TABLE event");
	text_has(&wide, "top syscalls");
	json_decref(report((struct report_options) {}));
	change("UPDATE meta SET value = 3 WHERE key = 'schema_version'");
	assert_int_equal(print_all(), -EBADMSG);
}

static void sums_that_are_too_large_do_no_harm(void **state)
{
	sample__write_with_signals(path);
	change("UPDATE series_slice SET count = 9223372036854775807, sum0 = 9223372036854775807,"
	       " sum1 = -1, sum2 = 'many', sum3 = NULL, sum4 = 1e300, sum5 = x'ff'"
	       " WHERE slice_to = 1;"
	       "DELETE FROM series_slice WHERE slice_to > 1;"
	       "UPDATE series SET max0 = 9223372036854775807, max1 = -5, max2 = 'x';"
	       "UPDATE distribution_slice SET count = 9223372036854775807 WHERE slice_to = 1;"
	       "DELETE FROM distribution_slice WHERE slice_to > 1");
	assert_int_equal(print_all(), 0);
}

static void rows_of_any_type_do_no_harm(void **state)
{
	static const char *const changes[] = {
		"UPDATE signal SET name = NULL, events = NULL",
		"UPDATE signal SET name = x'ff00ff', about = 5, events = 1.5",
		"UPDATE measure SET name = NULL, unit = NULL",
		"UPDATE measure SET unit = 'ns'",
		"DELETE FROM measure WHERE id < 2",
		"DELETE FROM measure",
		"UPDATE series SET place = NULL, operation = NULL, errno = 'x', thread = 1.5",
		"UPDATE series SET place = id, operation = x'e2', object = -id",
		"UPDATE series SET errno = -9223372036854775808, object = 9223372036854775807",
		"UPDATE object SET name = NULL, kind = NULL",
		"UPDATE object SET name = ' ↔ '",
		"UPDATE object SET name = ':::' || printf('%.4000c', 'x') || ' ↔ ' WHERE id % 2",
		"UPDATE distribution SET place = id, operation = NULL",
		"UPDATE event SET fields = '[1]', place = NULL, operation = 7",
		"UPDATE event SET fields = 'not json', duration_ns = 'long', time_ns = -1",
		"UPDATE event SET fields = '{\"file\": {\"a\": 1}, \"status\": [], \"args\": 3}'",
		"UPDATE event SET time_ns = 9223372036854775807, duration_ns = 9223372036854775807",
		"UPDATE event SET thread = 'x', object = 'y', errno = 1e99",
		"UPDATE slice SET begin_ns = NULL",
		"UPDATE slice SET end_ns = begin_ns",
		"DELETE FROM slice",
		"DELETE FROM thread",
		"DELETE FROM signal",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		sample__write_with_signals(path);
		change(changes[i]);
		assert_int_equal(print_all(), 0);
		sample__remove(path);
		path = sample__path();
	}
}

static void numbers_out_of_range_are_refused(void **state)
{
	static const char *const changes[] = {
		"UPDATE measure SET id = 6 WHERE id = 0",
		"UPDATE measure SET id = -1 WHERE id = 0",
		"UPDATE distribution SET measure = 6",
		"UPDATE OR REPLACE distribution_slice SET bucket = 289 WHERE distribution = 1",
		"UPDATE OR REPLACE distribution_slice SET bucket = -1 WHERE distribution = 1",
		"DROP TABLE event",
		"ALTER TABLE series RENAME COLUMN max5 TO x",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		sample__write_with_signals(path);
		change("DROP VIEW signal_sums; DROP VIEW signal_histograms; DROP VIEW events;"
		       "DROP VIEW signal_percentiles");
		change(changes[i]);
		assert_int_equal(print_all(), -EBADMSG);
		sample__remove(path);
		path = sample__path();
	}
	sample__write_with_signals(path);
}

static void a_view_in_a_tables_place_is_refused(void **state)
{
	sqlite3 *db = NULL;

	sample__write_with_signals(path);
	change("DROP VIEW events; DROP TABLE event;"
	       "CREATE VIEW event AS SELECT 1 AS id, 1 AS signal");
	assert_int_equal(recording__open(path, &db), -EBADMSG);
}

static void hostile_names_cannot_steer_the_terminal(void **state)
{
	char *text;

	sample__write_with_signals(path);
	change("UPDATE signal SET events = events || char(27) || '[2J' || char(13, 10);"
	       "UPDATE measure SET name = name || char(27) WHERE signal = 3;"
	       "UPDATE series SET place = place || char(27), operation = operation || char(10);"
	       "UPDATE object SET name = name || char(27, 155, 8238);"
	       "UPDATE event SET fields = json_object('args', char(27) || 'x', 'file',"
	       " char(27), 'parent_comm', char(10)), operation = char(27), place = char(27)");
	text = print(&(struct report_options) { .width = 80, .top = 1000 });
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bell_has_one_hump_however_wide),
		cmocka_unit_test(a_long_tail_is_no_hump),
		cmocka_unit_test(one_in_twenty_at_thirty_ms_is_a_second_hump),
		cmocka_unit_test(a_hump_needs_one_percent),
		cmocka_unit_test(humps_are_four_times_apart),
		cmocka_unit_test(a_few_values_are_no_hump),
		cmocka_unit_test(chance_hardly_makes_a_hump),
		TEST(every_number_of_the_sample_is_right),
		TEST(connections_become_services),
		TEST(programs_go_by_file_and_parent),
		TEST(views_and_report_give_the_same_numbers),
		TEST(a_cut_counts_what_is_inside),
		TEST(a_slow_disk_is_a_finding),
		TEST(a_slow_disk_with_few_requests_is_a_finding),
		TEST(a_slow_device_is_told_from_a_queue),
		TEST(what_is_rare_fast_or_our_own_is_no_slow_disk),
		TEST(a_wait_for_the_disk_names_device_and_file),
		TEST(a_wait_is_not_blamed_on_requests_that_do_not_explain_it),
		TEST(a_file_that_is_not_there_is_a_finding),
		TEST(connections_without_a_pool_are_a_finding),
		TEST(a_service_may_come_as_such),
		TEST(resets_are_a_finding),
		TEST(slow_accepts_are_a_finding),
		TEST(the_network_is_not_blamed_for_what_never_left_the_machine),
		TEST(one_name_is_one_object_for_each_operation),
		TEST(a_file_that_takes_a_tenth_of_the_time_is_a_finding),
		TEST(what_gapless_does_itself_is_counted_but_not_shown),
		TEST(a_file_that_took_no_time_is_no_reason),
		TEST(a_signal_that_took_no_time_has_one_line),
		TEST(a_program_lives_until_its_process_ends),
		TEST(many_short_processes_are_a_finding),
		TEST(events_without_sums_are_shown),
		TEST(a_hook_that_is_missing_is_told_with_its_signal),
		TEST(a_share_of_a_time_that_is_none_is_not_shown),
		TEST(figures_have_no_bounds_in_a_hostile_recording),
		TEST(an_old_recording_has_no_signals),
		TEST(sums_that_are_too_large_do_no_harm),
		TEST(rows_of_any_type_do_no_harm),
		TEST(numbers_out_of_range_are_refused),
		TEST(a_view_in_a_tables_place_is_refused),
		TEST(hostile_names_cannot_steer_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
