/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording with requests: in every format that shows them, and on the page. */
#include "../harness.h"

#include <errno.h>
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

static void execute(const char *recording, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(recording, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/*
 * Window 500 is a query from 10.0.0.1:40002. The database has it too, 1 ms later (600), and another
 * one after it has ended (601); 602 is of another connection.
 */
static void both_halves_of_a_request_are_joined(void **state)
{
	char *both = sample__path();
	struct profile *profile = NULL;
	int seen = 0;

	sample__write_with_requests(both);
	execute(both,
		"INSERT INTO window SELECT 600 + n.i, 2, 4, w.ready_ns + 1000000 + n.i % 2 * 2000000,"
		" 0, 0, w.end_ns + n.i % 2 * 2000000, 1, 0, 1, 1, 0, '', '', 'SELECT',"
		" '10.0.0.2:5432 ↔ 10.0.0.1:4000' || (2 + n.i / 2), 0, 1,"
		" NULL, NULL, NULL"
		" FROM window w, (SELECT 0 i UNION SELECT 1 UNION SELECT 2) n WHERE w.id = 500");
	assert_int_equal(profile__load(both, &(struct profile_options) {}, &profile), 0);
	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->id < 600)
			continue;
		seen++;
		assert_int_equal(window->parent_id, window->id == 600 ? 500 : 0);
		if (window->id == 600)
			assert_string_equal(window->evidence, PROFILE_BY_ENDS);
		else
			assert_int_equal(window->parent, PROFILE_NONE);
	}
	assert_int_equal(seen, 3);
	profile__free(profile);
	sample__remove(both);
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
			 " w.end_ns + i * 1000, w.n, w.left, 2, 1, 0, '', '', 'GET /', NULL, 0, 1,"
			 " NULL, NULL, NULL"
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

#define MOST  "9223372036854775807"
#define LEAST "-9223372036854775808"

/* What somebody could have written into a recording; none of it may do harm. */
static const char *const wrongs[] = {
	"UPDATE window SET parent = id",
	"UPDATE window SET parent = 901 - id",
	"UPDATE window SET parent = id + 1; UPDATE window SET has_details = 1",
	"UPDATE window SET ready_ns = " MOST ", end_ns = " LEAST,
	"UPDATE window SET ready_ns = 0, read_ns = 0, answer_ns = " MOST,
	"UPDATE window SET ready_ns = 1, end_ns = end_ns",
	"UPDATE window SET thread = 4711, class = 4711 WHERE id % 2",
	"UPDATE window SET thread = 4711",
	"UPDATE window SET n = " MOST ", left = " LEAST ", weight = -1",
	"UPDATE window SET weight = 1e308 * 10",
	"UPDATE window SET weight = 'x', text = x'ff00fe', ends = hex(randomblob(5000))",
	"UPDATE window SET text = NULL, ends = NULL, evidence = NULL, worker = NULL",
	"UPDATE window_class SET kind = NULL, protocol = NULL, service = NULL, name = NULL,"
	" status = NULL",
	"UPDATE window_class SET kind = 'x', protocol = 'y', status = 'z', process = " MOST,
	"DELETE FROM window_class",
	"DELETE FROM window_class WHERE id = 1",
	"UPDATE window_part SET ns = " MOST,
	"UPDATE window_part SET ns = " LEAST,
	"UPDATE OR REPLACE window_part SET state = 4711",
	"UPDATE OR REPLACE window_part SET part = 'own', state = window",
	"INSERT INTO window_part SELECT w.window, hex(randomblob(4)), s.id, 1 FROM window_part w,"
	" state s, state t",
	"UPDATE window_wait SET ns = " MOST ", object = " MOST ", by = " LEAST ", evidence = NULL",
	"UPDATE window_time SET ns = " MOST,
	"UPDATE window_band SET count = " MOST ", n = -1",
	"UPDATE OR REPLACE window_band SET bucket = 0",
	"DELETE FROM window_band",
	"DELETE FROM window_part; DELETE FROM window_wait; DELETE FROM window_time",
	"DELETE FROM thread; DELETE FROM process",
	"UPDATE sample SET window = " MOST,
	"UPDATE meta SET value = " MOST " WHERE key = 'start_unix_ns'",
};

static void try_exports(const char *recording, const char *wrong)
{
	for (size_t i = 0; exporters[i]; i++) {
		const struct profile_options options = { .accounts = exporters[i]->accounts };
		struct profile *profile = NULL;
		char *bytes = NULL;
		size_t size;
		FILE *out = open_memstream(&bytes, &size);
		int err = profile__load(recording, &options, &profile);

		if (!err)
			err = exporters[i]->write(profile, out);
		if (err && err != -EBADMSG)
			fail_msg("%s: %s: %d", exporters[i]->name, wrong, err);
		fclose(out);
		free(bytes);
		profile__free(profile);
	}
}

static void try_page(const char *recording, const char *wrong)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = html__write_data(recording, &(struct model_options) {}, NULL, out);

	fclose(out);
	if (err && err != -EBADMSG)
		fail_msg("page: %s: %d", wrong, err);
	if (!err) {
		json_t *json = json_loads(text, 0, NULL);

		if (!json)
			fail_msg("page: %s", wrong);
		json_decref(json);
	}
	free(text);
}

static void a_hostile_recording_does_no_harm(void **state)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		char *hostile = sample__path();

		sample__write_with_requests(hostile);
		execute(hostile, wrongs[i]);
		try_exports(hostile, wrongs[i]);
		try_page(hostile, wrongs[i]);
		sample__remove(hostile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox),
		cmocka_unit_test(chrome),
		cmocka_unit_test(otlp_traces),
		cmocka_unit_test(every_kept_window_is_a_span),
		cmocka_unit_test(a_cut_has_the_windows_that_end_in_it),
		cmocka_unit_test(both_halves_of_a_request_are_joined),
		cmocka_unit_test(page),
		cmocka_unit_test(sums_of_the_page_are_exact),
		cmocka_unit_test(a_hostile_recording_does_no_harm),
		cmocka_unit_test(windows_beyond_the_room_are_counted_and_stood_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
