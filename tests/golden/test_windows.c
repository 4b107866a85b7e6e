/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording with requests: in every format that shows them, and on the page. */
#include "../harness.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/exporter.h"
#include "golden.h"
#include "page/html.h"
#include "sample.h"

static char *path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write_with_requests(path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/* What an exporter writes. */
static char *export(const struct exporter *exporter, const struct profile_options *more)
{
	struct profile_options options = more ? *more : (struct profile_options) {};
	struct profile *profile = NULL;
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	options.accounts = exporter->accounts;
	assert_int_equal(profile__load(path, &options, &profile), 0);
	assert_int_equal(exporter->write(profile, out), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(profile);
	return bytes;
}

static void expect(const char *name, const struct exporter *exporter)
{
	char *text = export(exporter, NULL);

	golden__expect(name, text);
	free(text);
}

static json_t *json_of(const struct exporter *exporter, const struct profile_options *options)
{
	char *text = export(exporter, options);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static void firefox(void **state)
{
	expect("export-windows.firefox.json", &export_firefox);
}

static void chrome(void **state)
{
	expect("export-windows.chrome.json", &export_chrome);
}

static void otlp_traces(void **state)
{
	struct profile *profile = NULL;
	char *bytes = NULL, *text;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	assert_int_equal(
		profile__load(path, &(struct profile_options) { .accounts = true }, &profile), 0);
	assert_int_equal(export_otlp_traces.write(profile, out), 0);
	fclose(out);
	profile__free(profile);
	text = golden__proto_text((unsigned char *)bytes, size);
	golden__expect("export-windows.otlp-traces.txt", text);
	free(text);
	free(bytes);
}

/* How many events of a phase are windows. */
static int count_windows(json_t *json, const char *phase)
{
	json_t *event;
	size_t i;
	int count = 0;

	json_array_foreach (json_object_get(json, "traceEvents"), i, event) {
		const char *category = json_string_value(json_object_get(event, "cat"));

		count += category && !strcmp(category, "window") &&
			 !strcmp(json_string_value(json_object_get(event, "ph")), phase);
	}
	return count;
}

/* 22 requests and a query. */
static void every_kept_window_is_a_span(void **state)
{
	json_t *json = json_of(&export_chrome, NULL);

	assert_int_equal(count_windows(json, "b"), 23);
	assert_int_equal(count_windows(json, "e"), 23);
	json_decref(json);
}

/* Those that end within 11 s to 17 s: of 200 and up at 50 ms each from 1 s on. */
static void a_cut_has_the_windows_that_end_in_it(void **state)
{
	json_t *json =
		json_of(&export_chrome, &(struct profile_options) { .scope.from.ns = 11 * SECOND,
								    .scope.to.ns = 17 * SECOND });

	assert_int_equal(count_windows(json, "b"), 8);
	json_decref(json);
}

static char *page_of(const char *recording)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(html__write_data(recording, &(struct model_options) {}, NULL, out), 0);
	fclose(out);
	return text;
}

static void page(void **state)
{
	char *text = page_of(path);

	golden__expect("html-windows.json", text);
	free(text);
}

static json_t *document(const char *recording)
{
	char *text = page_of(recording);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static json_t *part_of(json_t *page, const char *key)
{
	json_t *part = json_object_get(json_object_get(page, "windows"), key);

	assert_non_null(part);
	return part;
}

static json_int_t number_of(json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

/* 2,000 requests in 1,000 × 100 µs, 850 × 200 µs, 30 × 200 µs, 100 × 1 ms, 20 × 20 ms. */
static void sums_of_the_page_are_exact(void **state)
{
	json_t *page = document(path), *service, *row;
	json_int_t sum = 0, count = 0;
	size_t i;

	service = json_array_get(part_of(page, "services"), 0);
	assert_int_equal(number_of(service, "count"), 2000);
	assert_int_equal(number_of(service, "length_ns"),
			 (1000 * 100 + 880 * 200 + 100 * 1000 + 20 * 20000) * 1000LL);
	json_array_foreach (json_object_get(service, "rows"), i, row) {
		json_t *reason =
			json_array_get(part_of(page, "reasons"), (size_t)number_of(row, "reason"));

		sum += number_of(row, "ns") *
		       (json_is_true(json_object_get(reason, "overlap")) ? -1 : 1);
	}
	assert_int_equal(sum, number_of(service, "length_ns"));
	json_array_foreach (json_object_get(service, "bands"), i, row)
		count += number_of(row, "count");
	assert_in_range(count, 1000, 2000);
	json_decref(page);
}

static void execute(const char *recording, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(recording, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* 20,000 more windows of 200 µs, which stand for 2 each. */
static void windows_beyond_the_room_are_counted_and_stood_for(void **state)
{
	char *crowded = sample__path();
	json_t *page, *weights, *value;
	double sum = 0;
	size_t i;

	sample__write_with_requests(crowded);
	execute(crowded, "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE"
			 " i < 20999) INSERT INTO window SELECT i, w.class, w.thread,"
			 " w.ready_ns + i * 1000, w.read_ns + i * 1000, w.answer_ns + i * 1000,"
			 " w.end_ns + i * 1000, w.n, w.left, 2, 1, 0, '', '', 'GET /', NULL, 0, 1"
			 " FROM n, window w WHERE w.id = 200");
	page = document(crowded);
	weights = json_object_get(part_of(page, "kept"), "weight");
	assert_in_range(json_array_size(weights), 5000, 6000);
	assert_int_equal(number_of(json_object_get(page, "folded"), "windows"),
			 20023 - json_array_size(weights));
	json_array_foreach (weights, i, value)
		sum += json_number_value(value);
	/* 1,970 of the sample and 40,000 more; each is rounded to a thousandth. */
	assert_in_range((long)(sum + 0.5), 41970 - 6, 41970 + 6);
	json_decref(page);
	sample__remove(crowded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox),
		cmocka_unit_test(chrome),
		cmocka_unit_test(otlp_traces),
		cmocka_unit_test(every_kept_window_is_a_span),
		cmocka_unit_test(a_cut_has_the_windows_that_end_in_it),
		cmocka_unit_test(page),
		cmocka_unit_test(sums_of_the_page_are_exact),
		cmocka_unit_test(windows_beyond_the_room_are_counted_and_stood_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
