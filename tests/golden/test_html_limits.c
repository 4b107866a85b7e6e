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

#include "report/html.h"
#include "report/report.h"
#include "sample.h"

static json_t *document(const char *recording, const struct report_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_non_null(out);
	assert_int_equal(html__write_data(recording, options, out), 0);
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
	const struct report_options cut = { .from_ns = 15 * SECOND, .to_ns = 30 * SECOND };
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
	page = document(path, &(struct report_options) {});
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
	page = document(path, &(struct report_options) {});
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_outside_the_cut_do_not_belong_to_nobody),
		cmocka_unit_test(series_that_stand_for_others_keep_counts_and_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
