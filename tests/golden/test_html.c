/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of the page: one recording to the byte, and its numbers held against those of the JSON
 * report. GAPLESS_GOLDEN_UPDATE=1 rewrites what is expected.
 */
#include "../harness.h"

#include <errno.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "page/html.h"
#include "page/html_out.h"
#include "page/html_rows.h"
#include "report/report.h"
#include "sample.h"

static char *path, *stacks_path, *signals_path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write(path);
	stacks_path = sample__path();
	sample__write_with_stacks(stacks_path);
	signals_path = sample__path();
	sample__write_with_signals(signals_path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	sample__remove(stacks_path);
	sample__remove(signals_path);
	return 0;
}

static char *data_of(const char *recording, const struct model_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(html__write_data(recording, options, NULL, out), 0);
	fclose(out);
	return text;
}

static void expects(const char *recording, const char *name, const struct model_options *options)
{
	char *text = data_of(recording, options);

	golden__expect(name, text);
	free(text);
}

static void data(void **state)
{
	expects(path, "html.json", &(struct model_options) {});
}

static void data_of_a_cut(void **state)
{
	expects(path, "html-cut.json",
		&(struct model_options) { .scope.from.ns = 5 * SECOND,
					  .scope.to.ns = 25 * SECOND });
}

static void data_with_stacks(void **state)
{
	expects(stacks_path, "html-stacks.json", &(struct model_options) {});
}

static void data_with_signals(void **state)
{
	expects(signals_path, "html-signals.json", &(struct model_options) {});
}

static json_t *document(const char *recording)
{
	char *text = data_of(recording, &(struct model_options) {});
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static json_t *report(const char *recording)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_non_null(out);
	assert_int_equal(report__print(recording, &(struct report_options) { .json = true }, out),
			 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

static json_int_t number_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static json_int_t sum_of(json_t *list)
{
	json_int_t sum = 0;
	json_t *value;
	size_t i;

	json_array_foreach (list, i, value)
		sum += json_integer_value(value);
	return sum;
}

/* Lists of the same things in the same order have the same number under a key. */
static void agree(json_t *ours, json_t *theirs, const char *key)
{
	json_t *value;
	size_t i;

	assert_true(json_array_size(ours) > 0);
	assert_int_equal(json_array_size(ours), json_array_size(theirs));
	json_array_foreach (ours, i, value)
		assert_int_equal(number_of(value, key), number_of(json_array_get(theirs, i), key));
}

/* The JSON report leaves out what is nothing. */
static json_t *used_states(json_t *states)
{
	json_t *used = json_array(), *value;
	size_t i;

	json_array_foreach (states, i, value)
		if (number_of(value, "ns") || number_of(value, "count"))
			json_array_append(used, value);
	return used;
}

static void numbers_are_those_of_the_json_report(void **state)
{
	static const char *const heads[] = { "wall_ns", "threads_ns", "unexplained_ns",
					     "remainder_ns" };
	static const char *const calls[] = { "count",  "errors", "total_ns", "run_ns",
					     "p50_ns", "p99_ns", "p999_ns",  "max_ns" };
	json_t *page = document(stacks_path), *json = report(stacks_path);
	json_t *used = used_states(json_object_get(page, "states"));

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		assert_int_equal(number_of(page, heads[i]), number_of(json, heads[i]));
	agree(json_object_get(page, "findings"), json_object_get(json, "findings"), "ns");
	agree(used, json_object_get(json, "states"), "ns");
	agree(used, json_object_get(json, "states"), "count");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		agree(json_object_get(page, "syscalls"), json_object_get(json, "syscalls"),
		      calls[i]);
	assert_true(
		json_equal(json_object_get(page, "sampling"), json_object_get(json, "samples")));
	json_decref(used);
	json_decref(page);
	json_decref(json);
}

/* Bins are microseconds, with less than one lost per state. */
static void what_is_over_time_adds_up_to_the_sums(void **state)
{
	json_t *page = document(stacks_path), *value;
	json_t *cells = json_object_get(json_object_get(page, "cells"), "rows");
	json_t *samples = json_object_get(json_object_get(page, "samples"), "rows");
	json_int_t threads_us = number_of(page, "threads_ns") / 1000, kinds = 0;
	size_t i;

	assert_true(json_array_size(json_object_get(page, "states")) > 0);
	assert_int_equal(json_array_size(json_object_get(page, "totals_us")),
			 json_array_size(json_object_get(page, "states")));
	json_array_foreach (json_object_get(page, "totals_us"), i, value) {
		json_t *one = json_array_get(json_object_get(page, "states"), i);

		assert_in_range(sum_of(value) - number_of(one, "ns") / 1000 + 1, 0, 2);
	}
	assert_in_range(sum_of(json_object_get(cells, "us")) - threads_us + 1, 0, 2);
	assert_int_equal(sum_of(json_object_get(json_object_get(page, "thread_states"), "ns")),
			 number_of(page, "threads_ns"));
	json_array_foreach (json_object_get(json_object_get(page, "sampling"), "kinds"), i, value)
		kinds += number_of(value, "weight_ns");
	assert_in_range(sum_of(json_object_get(samples, "us")) - kinds / 1000 + 1, 0, 2);
	assert_int_equal(sum_of(json_object_get(samples, "count")),
			 number_of(json_object_get(page, "sampling"), "count"));
	json_decref(page);
}

/* What somebody could have written into a recording; none of it may do harm. */
static const char *const wrongs[] = {
	"DELETE FROM slice",
	"UPDATE slice SET begin_ns = end_ns, end_ns = begin_ns",
	"UPDATE slice SET begin_ns = -9223372036854775808, end_ns = 9223372036854775807",
	"UPDATE slice SET end_ns = begin_ns",
	"INSERT INTO slice VALUES(-9223372036854775808, 0, 1), (9223372036854775807, 5, 6)",
	"UPDATE meta SET value = 9223372036854775807 WHERE key = 'end_ns'",
	"UPDATE meta SET value = 0 WHERE key = 'end_ns'",
	"UPDATE account SET ns = 9223372036854775807",
	"UPDATE account SET ns = -9223372036854775808, count = -1",
	"UPDATE account SET slice_from = slice_to + 1",
	"UPDATE OR REPLACE account SET thread = 4711",
	"UPDATE OR REPLACE account SET slice_to = 9223372036854775807",
	"UPDATE histogram SET count = 9223372036854775807, slice_from = -1",
	"UPDATE syscall_slice SET total_ns = -1, slice_from = 99",
	"UPDATE sample SET weight_ns = 9223372036854775807",
	"UPDATE sample SET time_ns = 9223372036854775807",
	"UPDATE sample SET time_ns = -9223372036854775808, thread = 4711, by = -4711",
	"UPDATE sample SET stack = 9223372036854775807, waker_stack = -1, none = NULL",
	"UPDATE sample SET none = hex(randomblob(500)), stack = 0",
	"UPDATE stack SET parent = id",
	"UPDATE thread SET first_ns = last_ns, last_ns = first_ns, process = 9223372036854775807",
	"UPDATE thread SET comm = NULL; UPDATE process SET comm = x'ff00ff', cgroup = NULL",
	"DELETE FROM thread; DELETE FROM process",
	"UPDATE wait SET object = 9223372036854775807",
	"INSERT INTO signal(id, name, about, events) VALUES(9223372036854775807, NULL, NULL, NULL)",
	"INSERT INTO signal(id, name, about, events) VALUES(1, 's', '', 'e'); INSERT INTO measure VALUES(1, 7, 'm', NULL),"
	" (1, -1, 'n', 'ns'); INSERT INTO series(id, signal, thread, object, errno, max0)"
	" VALUES(1, 1, 1, 9223372036854775807, -9223372036854775808, 9223372036854775807);"
	"INSERT INTO series_slice VALUES(1, 1, 1, 9223372036854775807, 9223372036854775807, -1,"
	" NULL, 'x', 0, 0), (2, 1, 2, 9223372036854775807, 9223372036854775807, 0, 0, 0, 0, 0);"
	"INSERT INTO distribution VALUES(1, 1, 7, NULL, NULL);"
	"INSERT INTO distribution_slice VALUES(1, 1, 288, 1, 1), (1, 1, 289, 1, 1), (1, 1, -1, 1, 1);"
	"INSERT INTO event VALUES(1, 1, 9223372036854775807, -1, 4711, 4711, NULL, NULL, -1, NULL, -5)",
	("DROP VIEW events; DROP VIEW signal_sums; DROP VIEW signal_histograms; DROP TABLE signal;"
	 "DROP TABLE series; UPDATE meta SET value = 2 WHERE key = 'schema_version'"),
};

static void a_hostile_recording_gives_a_page_or_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		char *hostile = sample__path(), *text = NULL;
		FILE *out;
		sqlite3 *db = NULL;
		size_t size = 0;
		int err;

		sample__write_with_stacks(hostile);
		assert_int_equal(sqlite3_open(hostile, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, wrongs[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		out = open_memstream(&text, &size);
		err = html__write_data(hostile, &(struct model_options) {}, NULL, out);
		fclose(out);
		if (err && err != -EBADMSG)
			fail_msg("%s: %d", wrongs[i], err);
		if (!err) {
			json_t *json = json_loads(text, 0, NULL);

			assert_non_null(json);
			json_decref(json);
		}
		free(text);
		sample__remove(hostile);
	}
}

static char *written(void (*write)(struct html_out *out))
{
	struct html_out out = { .json.in_page = true };
	char *text = NULL;
	size_t size = 0;

	out.json.file = open_memstream(&text, &size);
	assert_non_null(out.json.file);
	write(&out);
	assert_int_equal(out.json.err, 0);
	html_out__release(&out);
	fclose(out.json.file);
	return text;
}

static void write_hostile_names(struct html_out *out)
{
	json_out__open(&out->json, NULL, '[');
	html_out__text(out, NULL, "</script><script>alert(1)</script>");
	html_out__text(out, NULL, "<!--<script>");
	html_out__text(out, NULL, "a\xe2\x80\xa8z");
	html_out__text(out, NULL, "\"\\\n\x01");
	html_out__text(out, NULL, "\xff\xc3");
	html_out__text(out, NULL, "a\xe2\x80\xaez");
	json_out__number(&out->json, NULL, html_out__keep(out, "<b>"));
	json_out__number(&out->json, NULL, html_out__keep(out, "<i>"));
	json_out__number(&out->json, NULL, html_out__keep(out, "<b>"));
	json_out__number(&out->json, NULL, html_out__keep(out, NULL));
	html_out__texts(out, NULL);
	json_out__close(&out->json, ']');
}

static void no_name_can_leave_the_script_that_it_is_in(void **state)
{
	char *text = written(write_hostile_names);
	json_t *json = json_loads(text, 0, NULL);

	assert_null(strchr(text, '<'));
	for (const char *at = text; *at; at++)
		assert_true((unsigned char)*at < 0x80);
	assert_non_null(json);
	assert_string_equal(json_string_value(json_array_get(json, 0)),
			    "</script><script>alert(1)</script>");
	assert_string_equal(json_string_value(json_array_get(json, 1)), "<!--<script>");
	/* What would steer a reader's eye is gone. */
	assert_string_equal(json_string_value(json_array_get(json, 5)), "a?z");
	assert_int_equal(json_integer_value(json_array_get(json, 6)), 1);
	assert_int_equal(json_integer_value(json_array_get(json, 7)), 2);
	assert_int_equal(json_integer_value(json_array_get(json, 8)), 1);
	assert_int_equal(json_integer_value(json_array_get(json, 9)), 0);
	assert_string_equal(json_string_value(json_array_get(json_array_get(json, 10), 2)), "<i>");
	json_decref(json);
	free(text);
}

static void write_too_many_names(struct html_out *out)
{
	char name[300];

	for (int i = 0; i < 40000; i++) {
		snprintf(name, sizeof(name), "%d%0200d", i, 0);
		html_out__keep(out, name);
	}
	assert_true(out->texts.bytes < 5 << 20);
	assert_true(out->texts.left_out > 0);
	assert_int_equal(out->texts.count - 1 + (size_t)out->texts.left_out, 40000);
	fputs("x", out->json.file);
}

static void names_stop_at_their_budget_and_are_counted(void **state)
{
	free(written(write_too_many_names));
}

static void write_rows(struct html_out *out)
{
	static const struct html_column columns[] = { { "thread", HTML_COLUMN_KEY },
						      { "us", HTML_COLUMN_MICROSECONDS } };
	struct html_rows rows = {};

	for (int i = 0; i < 3; i++)
		html_rows__add(&rows, &(struct html_row) { .key = { 7 - i }, .value = { 1400 } });
	html_rows__add(&rows, &(struct html_row) { .key = { 5 }, .value = { INT64_MAX } });
	html_rows__add(&rows, &(struct html_row) { .key = { 6 }, .value = { 200 } });
	html_rows__write(&rows, out, NULL, columns, 2);
	html_rows__release(&rows);
}

/* 1.4 + 0.2 and 1.4: what is cut from one is in the next. A sum that is too large stays. */
static void rows_are_sorted_and_their_microseconds_add_up(void **state)
{
	char *text = written(write_rows);

	assert_string_equal(text, "{\n\"thread\":[5,1,1],\n\"us\":[9223372036854775,2,1]}");
	free(text);
}

static void write_thinned_rows(struct html_out *out)
{
	struct html_rows rows = {};
	int64_t all[2] = {}, heavy = 0;

	/* One row of half the weight among 10,000 light ones. */
	for (int i = 0; i < 10000; i++)
		html_rows__add(&rows, &(struct html_row) { .key = { i }, .value = { 100, 1 } });
	html_rows__add(&rows, &(struct html_row) { .key = { 5000, 1 }, .value = { 1000000, 7 } });
	assert_int_equal(html_rows__thin(&rows, 100), 0);
	assert_in_range(rows.count, 40, 101);
	for (size_t i = 0; i < rows.count; i++) {
		all[0] += rows.list[i].value[0];
		all[1] += rows.list[i].value[1];
		if (rows.list[i].key[1])
			heavy = rows.list[i].value[0];
	}
	assert_int_equal(all[0], 2000000);
	assert_int_equal(all[1], 10007);
	/* To one step of 20,000. */
	assert_in_range(heavy, 980000, 1020000);
	html_rows__release(&rows);
	fputs("x", out->json.file);
}

static void thinned_rows_stand_for_all(void **state)
{
	free(written(write_thinned_rows));
}

static void write_weightless_rows(struct html_out *out)
{
	for (int heavy = 0; heavy <= 1; heavy++) {
		struct html_rows rows = {};
		int64_t all[2] = {};

		/* Where one has all the weight, no step ends in the others. */
		for (int i = 0; i < 10000; i++)
			html_rows__add(&rows, &(struct html_row) {
						      .key = { i },
						      .value = { heavy && !i ? 1000000 : 0, 1 } });
		assert_int_equal(html_rows__thin(&rows, 100), 0);
		assert_in_range(rows.count, 1, 101);
		for (size_t i = 0; i < rows.count; i++) {
			all[0] += rows.list[i].value[0];
			all[1] += rows.list[i].value[1];
		}
		assert_int_equal(all[0], heavy * 1000000);
		assert_int_equal(all[1], 10000);
		html_rows__release(&rows);
	}
	fputs("x", out->json.file);
}

static void thinned_rows_without_weight_are_counted(void **state)
{
	free(written(write_weightless_rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data),
		cmocka_unit_test(data_of_a_cut),
		cmocka_unit_test(data_with_stacks),
		cmocka_unit_test(data_with_signals),
		cmocka_unit_test(numbers_are_those_of_the_json_report),
		cmocka_unit_test(what_is_over_time_adds_up_to_the_sums),
		cmocka_unit_test(a_hostile_recording_gives_a_page_or_is_refused),
		cmocka_unit_test(no_name_can_leave_the_script_that_it_is_in),
		cmocka_unit_test(names_stop_at_their_budget_and_are_counted),
		cmocka_unit_test(rows_are_sorted_and_their_microseconds_add_up),
		cmocka_unit_test(thinned_rows_stand_for_all),
		cmocka_unit_test(thinned_rows_without_weight_are_counted),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
