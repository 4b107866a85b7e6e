/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page has no room for is counted in it, what stands for others has their sums, and
 * nothing else is counted.
 */
#include "../harness.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/html.h"
#include "report/report.h"
#include "sample.h"

static json_t *document(const char *recording, const struct model_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_non_null(out);
	assert_int_equal(html__write_data(recording, options, NULL, out), 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

static json_int_t folded(json_t *page, const char *key)
{
	json_t *value = json_object_get(json_object_get(page, "folded"), key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/* One thread lives through the recording, the other ends in the first slice; -5 is nobody. */
static void rows_outside_the_cut_do_not_belong_to_nobody(void **state)
{
	const struct model_options cut = { .scope.from.ns = 15 * SECOND,
					   .scope.to.ns = 30 * SECOND };
	char *path = sample__path();
	struct recording *recording = sample__begin(path);
	json_t *page;

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "stays", 0);
	assert_int_equal(
		recording__put_thread(
			recording, &(struct recording_thread) { 2, 1, 1002, "ends", SAMPLE_START_NS,
								SAMPLE_START_NS + 8 * SECOND, 0,
								RECORDING_THREAD_EXITED }),
		0);
	for (int64_t i = 1; i <= 3; i++) {
		sample__account(recording, 1, SAMPLE_RUN_USER, i, i, 10 * SECOND, 1);
		sample__account(recording, -5, SAMPLE_RUN_USER, i, i, SECOND, 1);
	}
	sample__account(recording, 2, SAMPLE_RUN_USER, 1, 1, 8 * SECOND, 1);
	sample__finish(recording);
	page = document(path, &(struct model_options) {});
	assert_int_equal(folded(page, "accounts"), 3);
	json_decref(page);
	page = document(path, &cut);
	assert_int_equal(folded(page, "accounts"), 2);
	assert_int_equal(folded(page, "torn"), 0);
	json_decref(page);
	sample__remove(path);
}

/* Counts of all series of a signal; `failed`: of those with an error. */
static json_int_t counted(json_t *page, int signal, bool failed)
{
	json_int_t sum = 0;
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(page, "series"), i, row) {
		json_int_t error = json_integer_value(json_object_get(row, "errno"));

		if (json_integer_value(json_object_get(row, "signal")) == signal &&
		    (!failed || error))
			sum += json_integer_value(json_object_get(row, "count"));
	}
	return sum;
}

static json_t *find_signal(json_t *page, const char *name, int *ret)
{
	json_t *signal;
	size_t i;

	json_array_foreach (json_object_get(page, "signals"), i, signal) {
		*ret = (int)i;
		if (!strcmp(json_string_value(json_object_get(signal, "name")), name))
			return signal;
	}
	fail_msg("no signal '%s'", name);
	return NULL;
}

/* 400 on their own, 400 that each stand for one place, operation and error, and two for all else.
 */
static void series_that_stand_for_others_keep_counts_and_errors(void **state)
{
	char *path = sample__path();
	json_t *page, *block;
	int at = 0;

	sample__write_crowded(path);
	page = document(path, &(struct model_options) {});
	block = find_signal(page, "block", &at);
	assert_true(folded(page, "series") > 400);
	assert_true(folded(page, "operations") > 0);
	assert_int_equal(counted(page, at, false),
			 json_integer_value(json_object_get(block, "count")));
	/* One in three of the crowd, and the reads of the sample. */
	assert_int_equal(counted(page, at, true), SAMPLE_CROWD / 3 * 3 + 560);
	assert_int_equal(counted(page, at, true),
			 json_integer_value(json_object_get(block, "errors")));
	json_decref(page);
	sample__remove(path);
}

static void execute(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static json_int_t sum_of(json_t *page, const char *table, const char *column)
{
	json_t *rows = json_object_get(json_object_get(page, table), "rows"), *value;
	json_t *list = json_object_get(rows, column);
	json_int_t sum = 0;
	size_t i;

	assert_true(json_array_size(list) > 0);
	json_array_foreach (list, i, value)
		sum += json_integer_value(value);
	return sum;
}

static void distributions_that_have_no_room_are_counted(void **state)
{
	char *path = sample__path();
	json_t *page, *value;
	size_t i, shown = 0;

	sample__write_crowded(path);
	page = document(path, &(struct model_options) {});
	/* Those of signals have no name of their own. */
	json_array_foreach (json_object_get(page, "histograms"), i, value)
		shown += !json_object_get(value, "name");
	assert_int_equal(shown, 2000);
	/* The sample has 15. */
	assert_int_equal(folded(page, "distributions"), 2 * SAMPLE_CROWD + 15 - 2000);
	json_decref(page);
	sample__remove(path);
}

/* 3,100 threads in 45 states in each of three slices: 100 threads are one, and the 1,501 busiest
 * keep their time axis. */
static void threads_without_a_time_axis_are_counted(void **state)
{
	char *path = sample__path();
	struct recording *recording = sample__begin(path);
	json_t *page;

	sample__process(recording, 1, "crowd");
	sample__finish(recording);
	execute(path, "BEGIN;"
		      "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		      " SELECT i + 1 FROM n WHERE i < 3100) SELECT i FROM n;"
		      "INSERT INTO state SELECT 100 + i, 'wait', 'cause-' || i, 'delaying' FROM n"
		      " WHERE i <= 45;"
		      "INSERT INTO thread SELECT i, 1, 1000 + i, 'crowd-' || i, s.begin_ns,"
		      " e.end_ns, 0, 0 FROM n, slice s, slice e WHERE s.id = 1 AND e.id = 3;"
		      "INSERT INTO account SELECT s.id, n.i, t.id, s.id, 200000000, 1"
		      " FROM slice s, n, state t WHERE t.id > 100;"
		      "COMMIT");
	page = document(path, &(struct model_options) {});
	assert_int_equal(folded(page, "threads"), 100);
	assert_int_equal(folded(page, "axes"), 3100 - 1501);
	assert_int_equal(folded(page, "accounts"), 0);
	assert_int_equal(sum_of(page, "cells", "us"), 3100LL * 45 * 3 * 200000);
	json_decref(page);
	sample__remove(path);
}

/* 3,000 threads wait in six stacks in each of three slices; one sample is of no known wait. */
static void samples_of_waits_that_have_no_room_are_counted(void **state)
{
	char *path = sample__path();
	json_int_t loose, thinned;
	json_t *page;

	sample__write_with_stacks(path);
	page = document(path, &(struct model_options) {});
	loose = folded(page, "loose_samples");
	assert_int_equal(folded(page, "wait_samples"), 0);
	json_decref(page);
	execute(path, "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL"
		      " SELECT i + 1 FROM n WHERE i < 4000) SELECT i FROM n;"
		      "INSERT INTO thread SELECT i, 1, 1000 + i, 'crowd-' || i, s.begin_ns,"
		      " e.end_ns, 0, 0 FROM n, slice s, slice e WHERE s.id = 1 AND e.id = 3;"
		      "INSERT INTO wait VALUES(1001, 6, 1, 4, 'owner', 1000000000, 1, 0, '', 0, 0);"
		      "INSERT INTO sample SELECT NULL, s.end_ns, n.i, 6, k.id, 0, 4, 1, 1000000,"
		      " 1000000, 1000000, 1, 0, NULL, NULL, NULL, NULL, 0, 0,"
		      " NULL, 0, 0, NULL, 0 FROM slice s, n,"
		      " (SELECT id FROM stack ORDER BY id LIMIT 6) k;"
		      "UPDATE sample SET object = 4711 WHERE id = (SELECT max(id) FROM sample)");
	page = document(path, &(struct model_options) {});
	thinned = folded(page, "wait_samples");
	assert_true(thinned > 0);
	assert_int_equal(folded(page, "loose_samples"), loose + 1);
	/* Those that are left count for all. */
	assert_true(sum_of(page, "wait_samples", "count") >= 3000 * 3 * 6 - 1);
	json_decref(page);
	sample__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_outside_the_cut_do_not_belong_to_nobody),
		cmocka_unit_test(series_that_stand_for_others_keep_counts_and_errors),
		cmocka_unit_test(distributions_that_have_no_room_are_counted),
		cmocka_unit_test(threads_without_a_time_axis_are_counted),
		cmocka_unit_test(samples_of_waits_that_have_no_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
