/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and calls in the report: text and JSON, to the byte. */
#include "../harness.h"

#include <errno.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "golden.h"
#include "report/report.h"
#include "sample.h"

static char *path;

static void execute(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int set_up(void **state)
{
	char sql[200];

	path = sample__path();
	sample__write_with_requests(path);
	snprintf(sql, sizeof(sql), "UPDATE sample SET window = 400 WHERE thread = %d",
		 SAMPLE_WORKER_1);
	execute(sql);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

static char *print(const struct report_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report__print(path, options, out), 0);
	fclose(out);
	return text;
}

static void prints(const char *name, const struct report_options *options)
{
	char *text = print(options);

	golden__expect(name, text);
	free(text);
}

/* The sections on requests of the full report. */
static void prints_requests(const char *name, const struct report_options *options)
{
	char *text = print(options), *begin = strstr(text, "\nrequests to "), *end;

	assert_non_null(begin);
	end = strstr(begin, "\nhot code");
	assert_non_null(end);
	*end = '\0';
	golden__expect(name, begin + 1);
	free(text);
}

/* The value of one key of the JSON. */
static void prints_json(const char *name, const char *key, const struct report_options *options)
{
	char *text = print(options), *dumped;
	json_t *all = json_loads(text, 0, NULL), *value = json_object_get(all, key);
	char line[1 << 16];

	assert_non_null(value);
	dumped = json_dumps(value, JSON_INDENT(1) | JSON_ENCODE_ANY);
	assert_non_null(dumped);
	assert_true((size_t)snprintf(line, sizeof(line), "%s\n", dumped) < sizeof(line));
	golden__expect(name, line);
	free(dumped);
	json_decref(all);
	free(text);
}

static void text_at_80_columns(void **state)
{
	prints_requests("requests-80.txt", &(struct report_options) { .full = true, .width = 80 });
}

static void text_at_120_columns_with_a_few_rows(void **state)
{
	prints_requests("requests-120.txt",
			&(struct report_options) { .full = true, .width = 120, .top = 2 });
}

static void text_of_one_class_by_length(void **state)
{
	prints_requests("requests-class.txt",
			&(struct report_options) { .full = true,
						   .width = 100,
						   .model.windows.only = "orders",
						   .model.windows.slower_ns = 10 * MS });
}

static void short_text(void **state)
{
	prints("requests-short.txt", &(struct report_options) { .width = 100 });
}

static void one_window(void **state)
{
	prints("requests-window.txt",
	       &(struct report_options) { .width = 80, .model.windows.id = 400 });
}

static void one_window_that_is_part_of_another(void **state)
{
	prints("requests-child.txt",
	       &(struct report_options) { .width = 100, .model.windows.id = 500 });
}

static void json(void **state)
{
	prints_json("requests.json", "requests", &(struct report_options) { .json = true });
}

static void json_of_one_window(void **state)
{
	prints_json("requests-window.json", "window",
		    &(struct report_options) { .json = true, .model.windows.id = 400 });
}

#define HUGE "9223372036854775807"

/* Of a recording that is not sound: prints something, and does not stop or hang. */
static void prints_after(const char *sql)
{
	static const struct report_options ways[] = {
		{ .full = true, .width = 80 },
		{ .json = true },
		{ .width = 40, .model.windows.id = 400 },
		{ .json = true, .model.windows.id = 400 },
	};
	char *sound = path;

	path = sample__path();
	sample__write_with_requests(path);
	execute(sql);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char *text = print(&ways[i]);

		assert_true(strlen(text) > 100);
		free(text);
	}
	sample__remove(path);
	path = sound;
}

static void hostile_numbers_do_no_harm(void **state)
{
	prints_after("UPDATE window_band SET count = " HUGE ", n = -" HUGE);
	prints_after("UPDATE window_time SET ns = " HUGE);
	prints_after("UPDATE window_part SET ns = " HUGE ", part = part || char(27)");
	prints_after("UPDATE window_wait SET ns = " HUGE ", evidence = NULL, by = 99");
	prints_after("UPDATE window SET weight = 1e300, ready_ns = -" HUGE ", n = " HUGE
		     ", left = -1, class = 99");
	prints_after("UPDATE window_class SET kind = NULL, protocol = NULL, service = NULL,"
		     " status = 'odd', process = 99");
	prints_after("DELETE FROM window_class");
	prints_after("UPDATE sample SET window = 400, weight_ns = " HUGE " / 2");
}

static void a_window_that_was_not_kept_has_no_report(void **state)
{
	char why[SCOPE_WHY_SIZE] = "";
	struct report_options options = { .model.windows.id = 77777, .model.scope.why = why };
	FILE *out = fopen("/dev/null", "we");

	assert_int_equal(report__print(path, &options, out), -ESRCH);
	assert_string_equal(why, "it has kept no window 77777");
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_at_80_columns),
		cmocka_unit_test(text_at_120_columns_with_a_few_rows),
		cmocka_unit_test(text_of_one_class_by_length),
		cmocka_unit_test(short_text),
		cmocka_unit_test(one_window),
		cmocka_unit_test(one_window_that_is_part_of_another),
		cmocka_unit_test(json),
		cmocka_unit_test(json_of_one_window),
		cmocka_unit_test(a_window_that_was_not_kept_has_no_report),
		cmocka_unit_test(hostile_numbers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
