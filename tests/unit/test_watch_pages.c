/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch's pages from known rows: exact numbers per interval and for the whole, and what is kept. */
#include "../harness.h"

#include <jansson.h>

#include "live/watch.h"
#include "recording/recording.h"
#include "vocabulary/histogram.h"

#define SECOND 1000000000ull

static const struct measure measures[] = { { "time", "ns" }, { "size", "bytes" }, {} };
static const struct column columns[] = {
	{ "why", COLUMN_TEXT, 10 }, { "hidden", COLUMN_NUMBER, -1 }, { "text", COLUMN_TEXT, 0 }, {}
};

static void place(uint32_t number, char *ret, size_t size)
{
	snprintf(ret, size, "place %u", number);
}

static const struct signal sample = { .name = "sample",
				      .events = "requests",
				      .measures = measures,
				      .columns = columns,
				      .place = place };

struct fixture {
	struct recording *recording;
	struct watch *watch;
	char *text;
	size_t size;
	FILE *out;
};

static int64_t ask(struct fixture *fixture, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;

	assert_int_equal(
		sqlite3_prepare_v2(recording__db(fixture->recording), sql, -1, &statement, NULL),
		0);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

static void add_thread(struct fixture *fixture, int64_t id, int64_t process, const char *comm,
		       int flags)
{
	assert_int_equal(recording__put_process(fixture->recording,
						&(struct recording_process) { .id = process,
									      .pid = (int)process,
									      .comm = comm }),
			 0);
	assert_int_equal(recording__put_thread(fixture->recording,
					       &(struct recording_thread) { .id = id,
									    .process = process,
									    .tid = (int)id,
									    .comm = comm,
									    .last_ns = SECOND,
									    .flags = flags }),
			 0);
}

static void start_with(struct fixture *fixture, const struct signal *signal,
		       struct watch_options options)
{
	*fixture = (struct fixture) {};
	fixture->out = open_memstream(&fixture->text, &fixture->size);
	options.signal = signal;
	options.out = fixture->out;
	assert_int_equal(recording__create_in_memory(&fixture->recording), 0);
	assert_int_equal(
		recording__add_signal(fixture->recording,
				      &(struct recording_signal) { .id = 1, .name = "sample" }),
		0);
	add_thread(fixture, 11, 10, "alpha", 0);
	add_thread(fixture, 12, 10, "alpha", 0);
	add_thread(fixture, 21, 20, "be\033ta", 0);
	assert_int_equal(
		watch__new(recording__db(fixture->recording), &options, SECOND, &fixture->watch),
		0);
}

static void start(struct fixture *fixture, struct watch_options options)
{
	start_with(fixture, &sample, options);
}

static void end(struct fixture *fixture)
{
	watch__free(fixture->watch);
	recording__free(fixture->recording);
	fclose(fixture->out);
	free(fixture->text);
}

/* `count` events of `ns` each. */
static void add_sum(struct fixture *fixture, int64_t id, int64_t thread, const char *operation,
		    int64_t count, int64_t ns)
{
	struct recording_series series = {
		.id = id, .signal = 1, .thread = thread, .place = "vda", .operation = operation
	};
	struct recording_sum sum = { .series = id,
				     .from = 1,
				     .to = 1,
				     .count = count,
				     .sum = { count * ns, count * 512 },
				     .max = { ns, 512 } };

	assert_int_equal(recording__add_series(fixture->recording, &series), 0);
	assert_int_equal(recording__add_sum(fixture->recording, &sum), 0);
}

static void add_bucket(struct fixture *fixture, int64_t id, const char *operation, uint64_t ns,
		       int64_t count)
{
	char known[64];

	snprintf(known, sizeof(known), "SELECT count(*) FROM distribution WHERE id = %d", (int)id);
	if (!ask(fixture, known))
		assert_int_equal(recording__add_distribution(fixture->recording,
							     &(struct recording_distribution) {
								     .id = id,
								     .signal = 1,
								     .place = "vda",
								     .operation = operation }),
				 0);
	assert_int_equal(recording__add_distributed(fixture->recording, id,
						    (int)histogram_bucket(ns), 1, 1, count),
			 0);
}

/* The last line that was printed. */
static json_t *last_line(struct fixture *fixture)
{
	char *line;
	json_t *json;

	fflush(fixture->out);
	assert_true(fixture->size > 1);
	fixture->text[fixture->size - 1] = '\0';
	line = strrchr(fixture->text, '\n');
	json = json_loads(line ? line + 1 : fixture->text, 0, NULL);
	fixture->text[fixture->size - 1] = '\n';
	assert_non_null(json);
	return json;
}

static int64_t number_of(json_t *json, const char *key)
{
	json_t *number = json_object_get(json, key);

	assert_true(json_is_integer(number));
	return json_integer_value(number);
}

static void check_page(struct fixture *fixture, const char *type, int64_t count, int64_t sum,
		       int64_t max)
{
	json_t *page = last_line(fixture), *row, *time, *histogram;

	assert_string_equal(json_string_value(json_object_get(page, "type")), type);
	assert_int_equal(number_of(page, "count"), count);
	row = json_array_get(json_object_get(page, "sums"), 0);
	time = json_object_get(json_object_get(row, "measures"), "time");
	assert_int_equal(number_of(row, "count"), count);
	assert_int_equal(number_of(time, "sum"), sum);
	assert_int_equal(number_of(time, "max"), max);
	assert_int_equal(number_of(time, "average"), sum / count);
	histogram = json_array_get(json_object_get(page, "histograms"), 0);
	assert_int_equal(number_of(histogram, "count"), count);
	assert_int_equal(number_of(histogram, "max"), max);
	json_decref(page);
}

static void an_interval_has_what_is_new_and_the_summary_has_all(void **state)
{
	struct fixture fixture;

	start(&fixture,
	      (struct watch_options) { .json = true, .intervals = true, .by = WATCH_BY_PROCESS });
	add_sum(&fixture, 1, 11, "read", 3, 1000);
	add_sum(&fixture, 2, 12, "read", 1, 9000);
	add_bucket(&fixture, 1, "read", 1000, 3);
	add_bucket(&fixture, 1, "read", 9000, 1);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__interval(fixture.watch, 2 * SECOND), 0);
	check_page(&fixture, "interval", 4, 12000, 9000);
	/* The ids may come again. */
	add_sum(&fixture, 1, 12, "read", 2, 500);
	add_bucket(&fixture, 1, "read", 500, 2);
	assert_int_equal(watch__take(fixture.watch, 3 * SECOND), 0);
	assert_int_equal(watch__interval(fixture.watch, 3 * SECOND), 0);
	check_page(&fixture, "interval", 2, 1000, 500);
	assert_int_equal(watch__summary(fixture.watch, 3 * SECOND), 0);
	check_page(&fixture, "summary", 6, 13000, 9000);
	end(&fixture);
}

static size_t rows_by(unsigned by)
{
	struct fixture fixture;
	size_t rows;
	json_t *page;

	start(&fixture, (struct watch_options) { .json = true, .by = by });
	add_sum(&fixture, 1, 11, "read", 1, 1);
	add_sum(&fixture, 2, 12, "read", 1, 1);
	add_sum(&fixture, 3, 21, "read", 1, 1);
	add_sum(&fixture, 4, 11, "write", 1, 1);
	add_sum(&fixture, 5, 0, "write", 1, 1);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 2 * SECOND), 0);
	page = last_line(&fixture);
	assert_int_equal(number_of(page, "count"), 5);
	rows = json_array_size(json_object_get(page, "sums"));
	json_decref(page);
	end(&fixture);
	return rows;
}

static void rows_are_split_by_what_was_asked_for(void **state)
{
	assert_int_equal(rows_by(WATCH_BY_THREAD), 4);
	assert_int_equal(rows_by(WATCH_BY_PROCESS), 3);
	assert_int_equal(rows_by(WATCH_BY_OPERATION), 2);
	assert_int_equal(rows_by(WATCH_BY_PLACE), 1);
	assert_int_equal(rows_by(WATCH_BY_OBJECT | WATCH_BY_ERRNO), 1);
	assert_int_equal(rows_by(WATCH_BY_THREAD | WATCH_BY_OPERATION), 5);
	assert_int_equal(rows_by(0), 4); /* process and operation */
}

static void rows_that_are_too_many_become_others_and_no_event_is_lost(void **state)
{
	struct fixture fixture;
	json_t *page, *rows, *others;

	start(&fixture, (struct watch_options) { .json = true, .by = WATCH_BY_THREAD });
	for (int64_t i = 1; i <= 6000; i++)
		add_sum(&fixture, i, 1000 + i, "read", 2, 100 + i);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	for (int64_t i = 1; i <= 6000; i++)
		add_sum(&fixture, i, 10000 + i, "read", 1, 7);
	assert_int_equal(watch__take(fixture.watch, 3 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 3 * SECOND), 0);
	page = last_line(&fixture);
	assert_int_equal(number_of(page, "count"), 3 * 6000);
	rows = json_object_get(page, "sums");
	assert_int_equal(json_array_size(rows), 5001);
	others = json_array_get(rows, 5000);
	assert_true(json_is_true(json_object_get(others, "others")));
	assert_int_equal(number_of(others, "count"), 3 * 6000 - 2 * 5000);
	json_decref(page);
	end(&fixture);
}

static void what_was_taken_is_gone_from_the_recording(void **state)
{
	struct fixture fixture;

	start(&fixture, (struct watch_options) { .json = true, .events = true });
	add_thread(&fixture, 31, 30, "gone", RECORDING_THREAD_EXITED);
	recording__add_name(fixture.recording, 31, 5, "gone");
	recording__add_slice(fixture.recording, 1, 0, 1);
	recording__add_account(fixture.recording,
			       &(struct recording_account) { .thread = 11, .from = 1, .to = 1 });
	recording__add_event(fixture.recording, &(struct recording_event) { .signal = 1,
									    .time_ns = 5,
									    .thread = 11,
									    .place = "",
									    .operation = "",
									    .fields = "{}" });
	add_sum(&fixture, 1, 31, "read", 1, 1);
	assert_int_equal(watch__events(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(ask(&fixture, "SELECT (SELECT count(*) FROM series) +"
				       " (SELECT count(*) FROM series_slice) +"
				       " (SELECT count(*) FROM account) +"
				       " (SELECT count(*) FROM slice) +"
				       " (SELECT count(*) FROM event)"),
			 0);
	/* A thread that ended is named for a while. */
	assert_int_equal(ask(&fixture, "SELECT count(*) FROM thread"), 4);
	assert_int_equal(watch__take(fixture.watch, 20 * SECOND), 0);
	assert_int_equal(ask(&fixture, "SELECT count(*) FROM thread"), 3);
	assert_int_equal(ask(&fixture, "SELECT count(*) FROM thread_name"), 0);
	assert_int_equal(ask(&fixture, "SELECT count(*) FROM process"), 2);
	end(&fixture);
}

static void add_event(struct fixture *fixture, uint64_t time_ns, int64_t thread)
{
	recording__add_event(
		fixture->recording,
		&(struct recording_event) {
			.signal = 1,
			.time_ns = (int64_t)time_ns,
			.duration_ns = 1500,
			.thread = thread,
			.place = "vda",
			.operation = "read",
			.error = 5,
			.fields = "{\"why\": null, \"hidden\": 3, \"text\": \"a\\u001b[2Jb\"}" });
}

static void an_event_waits_for_its_threads_name_but_not_for_ever(void **state)
{
	struct fixture fixture;

	start(&fixture, (struct watch_options) { .json = true, .events = true });
	add_event(&fixture, 1 * SECOND, 11);
	add_event(&fixture, 2 * SECOND, 99);
	add_event(&fixture, 3 * SECOND, 12);
	assert_int_equal(watch__events(fixture.watch, 3 * SECOND), 0);
	assert_int_equal(watch__event_count(fixture.watch), 1);
	add_thread(&fixture, 99, 98, "late", 0);
	assert_int_equal(watch__events(fixture.watch, 3 * SECOND), 0);
	assert_int_equal(watch__event_count(fixture.watch), 3);
	add_event(&fixture, 4 * SECOND, 77);
	assert_int_equal(watch__events(fixture.watch, 5 * SECOND), 0);
	assert_int_equal(watch__event_count(fixture.watch), 3);
	assert_int_equal(watch__events(fixture.watch, 7 * SECOND), 0);
	assert_int_equal(watch__event_count(fixture.watch), 4);
	end(&fixture);
}

static void text_is_this_and_foreign_names_do_not_steer_the_terminal(void **state)
{
	struct fixture fixture;

	start(&fixture, (struct watch_options) { .events = true,
						 .target = "process 20",
						 .by = WATCH_BY_THREAD | WATCH_BY_OPERATION });
	add_event(&fixture, SECOND, 21);
	assert_int_equal(watch__events(fixture.watch, SECOND), 0);
	add_sum(&fixture, 1, 21, "read", 2, 1000);
	add_bucket(&fixture, 1, "read", 1000, 2);
	recording__put_quality(fixture.recording, "sample_events_lost", 3, "they are missing", "");
	recording__put_quality(fixture.recording, "other_events_lost", 4, "not ours", "");
	recording__put_quality(fixture.recording, "sample_unpaired", 0, "", "");
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 2 * SECOND), 0);
	fflush(fixture.out);
	assert_string_equal(
		fixture.text,
		"    TOOK OPERATION           TID COMM            PLACE        WHY        TEXT\n"
		" 1.50 µs read EIO             21 be?ta           vda                     a?[2Jb\n"
		"\n"
		"sample, all 1.00 s: 2 requests\n"
		"\n"
		"read\n"
		"                  time :     count  distribution\n"
		"   512 ns ->   1.02 µs :         2 |****************************************|\n"
		"p50 992 ns, max 1.00 µs, of 2\n"
		"\n"
		"      TID THREAD          OPERATION            COUNT MEASURE           SUM    AVERAGE"
		"        MAX\n"
		"       21 be?ta           read                     2 time          2.00 µs    1.00 µs"
		"    1.00 µs\n"
		"                                                     size          1.02 kB      512 B"
		"      512 B\n"
		"sample_events_lost: 3 (they are missing)\n");
	end(&fixture);
}

/* The path comes last and whole; what is a time is called so by its unit. */
static void the_object_of_an_event_has_the_rest_of_its_line(void **state)
{
	static const struct column own[] = { { "queue_ns", COLUMN_NS, 8 },
					     { "offset", COLUMN_TEXT, 0 },
					     {} };
	static const struct signal files = { .name = "sample",
					     .events = "requests",
					     .measures = measures,
					     .columns = own,
					     .object_kind = "file" };
	struct fixture fixture;

	start_with(&fixture, &files, (struct watch_options) { .events = true });
	recording__put_object(fixture.recording,
			      &(struct recording_object) { 7, "file", "/a/path/that/is/long" });
	recording__add_event(
		fixture.recording,
		&(struct recording_event) { .signal = 1,
					    .time_ns = SECOND,
					    .duration_ns = 1500,
					    .thread = 12,
					    .object = 7,
					    .place = "",
					    .operation = "stat",
					    .error = 2,
					    .fields = "{\"queue_ns\": 2000, \"offset\": \"12\"}" });
	assert_int_equal(watch__events(fixture.watch, SECOND), 0);
	fflush(fixture.out);
	assert_string_equal(
		fixture.text,
		"    TOOK OPERATION           TID COMM               QUEUE OFFSET     OBJECT\n"
		" 1.50 µs stat ENOENT          12 alpha            2.00 µs 12         "
		"/a/path/that/is/long\n");
	end(&fixture);
}

static void what_gapless_does_itself_has_no_events_and_comes_last(void **state)
{
	struct fixture fixture;
	json_t *page, *row;

	start(&fixture,
	      (struct watch_options) { .json = true, .events = true, .by = WATCH_BY_THREAD });
	add_thread(&fixture, 41, 40, "gapless", RECORDING_THREAD_OWN);
	add_event(&fixture, SECOND, 41);
	add_event(&fixture, SECOND, 11);
	assert_int_equal(watch__events(fixture.watch, SECOND), 0);
	assert_int_equal(watch__event_count(fixture.watch), 1);
	assert_int_equal(ask(&fixture, "SELECT count(*) FROM event"), 0);
	add_sum(&fixture, 1, 41, "read", 1, 9000);
	add_sum(&fixture, 2, 11, "read", 1, 10);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 2 * SECOND), 0);
	page = last_line(&fixture);
	assert_int_equal(number_of(page, "count"), 2);
	row = json_array_get(json_object_get(page, "sums"), 1);
	assert_int_equal(number_of(json_object_get(row, "thread"), "tid"), 41);
	json_decref(page);
	end(&fixture);
}

static void text_has_the_largest_histograms_only(void **state)
{
	struct fixture fixture;
	char operation[2] = "a";

	start(&fixture, (struct watch_options) { .by = WATCH_BY_OPERATION });
	for (int i = 0; i < 9; i++, ++*operation) {
		add_sum(&fixture, i + 1, 11, operation, 1, 1000 + i);
		add_bucket(&fixture, i + 1, operation, (uint64_t)(1000 + i), 1);
	}
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 2 * SECOND), 0);
	fflush(fixture.out);
	assert_non_null(strstr(fixture.text, "9 requests\n\ni\n"));
	assert_non_null(strstr(fixture.text, "\nd\n"));
	assert_null(strstr(fixture.text, "\nc\n"));
	assert_non_null(strstr(fixture.text, "\nand 3 more histograms [--json has all]\n"));
	end(&fixture);
}

static void text_has_the_largest_rows_and_says_how_many_more_there_are(void **state)
{
	struct fixture fixture;
	char operation[2] = "a";

	start(&fixture, (struct watch_options) { .by = WATCH_BY_OPERATION });
	for (int i = 0; i < 23; i++, ++*operation)
		add_sum(&fixture, i + 1, 11, operation, 1, 1000 + i);
	assert_int_equal(watch__take(fixture.watch, 2 * SECOND), 0);
	assert_int_equal(watch__summary(fixture.watch, 2 * SECOND), 0);
	fflush(fixture.out);
	assert_non_null(strstr(fixture.text, "\nand 3 more [--json has all]\n"));
	end(&fixture);
}

static void nothing_says_so_and_why(void **state)
{
	struct fixture fixture;

	start(&fixture, (struct watch_options) { .target = "process 20" });
	assert_int_equal(watch__interval(fixture.watch, 2 * SECOND), 0);
	fflush(fixture.out);
	assert_string_equal(fixture.text, "\nsample, the last 1.00 s: no requests of process 20: "
					  "'sample' is attached, but nothing happened\n");
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_has_what_is_new_and_the_summary_has_all),
		cmocka_unit_test(rows_are_split_by_what_was_asked_for),
		cmocka_unit_test(rows_that_are_too_many_become_others_and_no_event_is_lost),
		cmocka_unit_test(what_was_taken_is_gone_from_the_recording),
		cmocka_unit_test(an_event_waits_for_its_threads_name_but_not_for_ever),
		cmocka_unit_test(text_is_this_and_foreign_names_do_not_steer_the_terminal),
		cmocka_unit_test(the_object_of_an_event_has_the_rest_of_its_line),
		cmocka_unit_test(what_gapless_does_itself_has_no_events_and_comes_last),
		cmocka_unit_test(text_has_the_largest_histograms_only),
		cmocka_unit_test(text_has_the_largest_rows_and_says_how_many_more_there_are),
		cmocka_unit_test(nothing_says_so_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
