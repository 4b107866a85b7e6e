/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and calls: what the model makes of rows with known answers. */
#include "../harness.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "model/model.h"
#include "recording/window_rows.h"
#include "sample.h"
#include "vocabulary/histogram.h"

#define US 1000LL

static char *path;
static struct model model;

static int set_up(void **state)
{
	path = sample__path();
	model = (struct model) {};
	return 0;
}

static int tear_down(void **state)
{
	model__release(&model);
	sample__remove(path);
	return 0;
}

static void load(const struct model_options *options)
{
	assert_int_equal(model__load(path, options, &model), 0);
}

static void execute(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static const struct windows_row *row_of(const struct windows_service *service, const char *words)
{
	for (size_t i = 0; i < service->row_count; i++) {
		char text[200] = "";

		model_windows__say_reason(&model.windows.reasons[service->rows[i].reason], text,
					  sizeof(text));
		if (!strcmp(text, words))
			return &service->rows[i];
	}
	fail_msg("no row '%s'", words);
	return NULL;
}

/* --- a recording with known answers ------------------------------------------------------------
 */

static void a_recording_without_windows_has_none(void **state)
{
	sample__write(path);
	load(&(struct model_options) {});
	assert_int_equal(model.windows.service_count, 0);
	assert_int_equal(model.windows.kept_count, 0);
	assert_int_equal(model.windows.remainder, -1);
}

static void an_old_recording_has_none(void **state)
{
	sample__write(path);
	execute("DROP TABLE window_class; DROP TABLE window_band; DROP TABLE window_time;"
		"DROP TABLE window; DROP TABLE window_part; DROP TABLE window_wait;"
		"ALTER TABLE sample DROP COLUMN window");
	load(&(struct model_options) {});
	assert_int_equal(model.windows.service_count, 0);
}

static void classes_are_below_their_service(void **state)
{
	const struct windows *windows = &model.windows;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	assert_int_equal(windows->service_count, 2);
	assert_string_equal(windows->services[0].first->kind, "server");
	assert_string_equal(windows->services[0].first->service, "127.0.0.1:8080");
	assert_string_equal(windows->services[0].first->comm, "app");
	assert_int_equal(windows->services[0].first->pid, 1000);
	assert_int_equal(windows->services[0].class_count, 3);
	assert_int_equal(windows->services[0].count, 2000);
	assert_int_equal(windows->services[0].statuses[WORDS_STATUS_OK], 1970);
	assert_int_equal(windows->services[0].statuses[WORDS_STATUS_REFUSED], 30);
	assert_string_equal(windows->services[1].first->kind, "client");
	assert_int_equal(windows->services[1].count, 20);
	assert_int_equal(windows->remainder, 0);
	assert_int_equal(windows->remainder_ns, -1);
	/* Those with most time first. */
	assert_string_equal(windows->classes[0].name, "GET /orders/*");
	assert_int_equal(windows->classes[0].count, 970);
	assert_int_equal(windows->classes[0].length_ns, 670 * MS);
	assert_string_equal(windows->classes[1].name, "GET /");
	assert_int_equal(windows->classes[1].percentiles_ns[P99],
			 percentiles__middle((int)histogram_bucket(100 * US)));
	assert_int_equal(windows->classes[1].percentiles_ns[P999],
			 percentiles__middle((int)histogram_bucket(100 * US)));
	assert_int_equal(windows->classes[2].percentiles_ns[P50],
			 percentiles__middle((int)histogram_bucket(200 * US)));
	assert_int_equal(windows->classes[2].percentiles_ns[P99], -1);
}

static void lengths_are_exact_and_percentiles_are_of_buckets(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	assert_int_equal(service->length_ns,
			 1000 * 100 * US + 880 * 200 * US + 100 * MS + 20 * 20 * MS);
	assert_int_equal(service->percentiles_ns[P50],
			 percentiles__middle((int)histogram_bucket(100 * US)));
	assert_int_equal(service->percentiles_ns[P90],
			 percentiles__middle((int)histogram_bucket(200 * US)));
	assert_int_equal(service->percentiles_ns[P99],
			 percentiles__middle((int)histogram_bucket(MS)));
	assert_int_equal(service->percentiles_ns[P999],
			 percentiles__middle((int)histogram_bucket(20 * MS)));
}

static void bands_have_whole_buckets(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	assert_int_equal(service->bands[WINDOWS_FAST].count, 1000);
	assert_int_equal(service->bands[WINDOWS_HIGH].count, 100);
	assert_int_equal(service->bands[WINDOWS_SLOW].count, 20);
	assert_int_equal(service->bands[WINDOWS_FAST].kept, 4);
	assert_int_equal(service->bands[WINDOWS_SLOW].kept, 10);
	assert_int_equal(service->bands[WINDOWS_SLOW].length_ns, 20 * 20 * MS);
	assert_true(model_windows__is_compared(service));
	assert_true(model_windows__is_in(service, WINDOWS_SLOW, 20 * MS));
	assert_false(model_windows__is_in(service, WINDOWS_SLOW, MS));
	assert_false(model_windows__is_in(service, WINDOWS_FAST, -1 + (1LL << 40)));
}

static void rows_are_means_and_those_with_most_more_come_first(void **state)
{
	const struct windows_service *service;
	const struct windows_row *row;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	row = row_of(service, "own: wait.lock");
	assert_ptr_equal(row, &service->rows[0]);
	assert_int_equal(model_windows__mean_ns(service, row, WINDOWS_SLOW), 15 * MS);
	assert_int_equal(model_windows__mean_ns(service, row, WINDOWS_FAST), 0);
	assert_true(row->is_claimed);
	/* ±500 µs in turn, of ten. */
	assert_int_equal((int64_t)(row->error_ns * 3 + 0.5), 500 * US);
	row = row_of(service, "queued: busy with other requests");
	assert_int_equal((int64_t)row->more_ns, 2940 * US);
	assert_true(row->is_claimed);
	/* All of run.* is one row. */
	row = row_of(service, "own: running");
	assert_int_equal(row->ns, 1000 * 40 * US + 850 * 80 * US + 30 * 200 * US + 100 * 60 * US +
					  20 * 80 * US);
	/* Subtracted, and last. */
	row = row_of(service, "two threads at once");
	assert_ptr_equal(row, &service->rows[service->row_count - 1]);
	assert_int_equal((int64_t)service->all.more_ns, 20 * MS - 100 * US);
	assert_true(service->all.is_claimed);
}

static void what_kept_windows_waited_for_is_weighted(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	assert_int_equal(service->wait_count, 1);
	assert_int_equal((int64_t)service->waits[0].ns, 20 * 15 * MS);
	assert_int_equal(service->waits[0].kept, 10);
	assert_int_equal(service->waits[0].object, 1);
	assert_string_equal(service->waits[0].object_kind, "futex");
	assert_string_equal(service->waits[0].by->comm, "logger");
	assert_string_equal(service->waits[0].evidence, "owner");
}

static void without_kept_windows_nothing_is_claimed(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	execute("UPDATE window SET weight = 0");
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	assert_true(service->rows[0].more_ns > 0);
	assert_true(service->rows[0].error_ns < 0);
	for (size_t i = 0; i < service->row_count; i++)
		assert_false(service->rows[i].is_claimed);
	assert_int_equal(service->wait_count, 0);
}

/* --- options ---------------------------------------------------------------------------------- */

static void only_some_classes(void **state)
{
	struct model_options options = { .windows.only = "orders" };
	char why[SCOPE_WHY_SIZE] = "";

	sample__write_with_windows(path);
	load(&options);
	assert_int_equal(model.windows.service_count, 1);
	assert_int_equal(model.windows.services[0].count, 1000);
	model__release(&model);
	options.windows.only = "nothing";
	options.scope.why = why;
	assert_int_equal(model__load(path, &options, &model), -ESRCH);
	assert_string_equal(why, "no request or call has 'nothing' in its service or name");
}

static void the_slowest_from_a_length_on(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	load(&(struct model_options) { .windows.slower_ns = MS });
	service = &model.windows.services[0];
	assert_int_equal(service->bands[WINDOWS_FAST].count, 1000);
	assert_int_equal(service->bands[WINDOWS_SLOW].count, 120);
}

static void one_window_with_its_relatives(void **state)
{
	const struct windows_chosen *chosen;
	char why[SCOPE_WHY_SIZE] = "";
	struct model_options options = { .windows.id = 400, .scope.why = why };

	sample__write_with_windows(path);
	load(&options);
	chosen = model.windows.chosen;
	assert_int_equal(chosen->one.length_ns, 19500 * US);
	assert_string_equal(chosen->one.class->name, "GET /orders/*");
	assert_string_equal(chosen->one.thread->comm, "worker-1");
	assert_int_equal(chosen->row_count, 5);
	assert_string_equal(model.windows.reasons[chosen->rows[0].reason].part, "queued.busy");
	assert_int_equal(chosen->rows[1].ns, 14500 * US);
	assert_string_equal(model.windows.reasons[chosen->rows[4].reason].part, "overlap");
	assert_int_equal(chosen->wait_count, 1);
	assert_int_equal(chosen->relative_count, 1);
	assert_int_equal(chosen->relatives[0].id, 500);
	model__release(&model);
	options.windows.id = 500;
	load(&options);
	assert_int_equal(model.windows.chosen->relative_count, 1);
	assert_int_equal(model.windows.chosen->relatives[0].id, 400);
	model__release(&model);
	options.windows.id = 7;
	assert_int_equal(model__load(path, &options, &model), -ESRCH);
	assert_string_equal(why, "it has kept no window 7");
}

static void the_slowest_are_examples(void **state)
{
	const struct windows_one *list[3];
	const struct windows_service *service;

	sample__write_with_windows(path);
	load(&(struct model_options) {});
	service = &model.windows.services[0];
	assert_int_equal(model_windows__examples(&model.windows, service, 3, list), 3);
	assert_int_equal(list[0]->id, 401);
	assert_int_equal(list[0]->length_ns, 20500 * US);
	assert_int_equal(list[2]->id, 405);
	assert_int_equal(
		model_windows__examples(&model.windows, &model.windows.services[1], 3, list), 0);
}

static void a_cut_has_its_part(void **state)
{
	struct model_options options = { .scope.from.ns = 0, .scope.to.ns = 15 * SECOND };

	sample__write_with_windows(path);
	load(&options);
	assert_int_equal(model.windows.services[0].count, 1000);
	/* Those that ended later are gone. */
	assert_null(model_windows__find(&model.windows, 400));
	assert_non_null(model_windows__find(&model.windows, 200));
}

static void windows_of_a_process_stay_with_all_of_its_threads(void **state)
{
	static const char *const pid[] = { "1000", NULL }, *const thread[] = { "1002", NULL };
	struct model_options options = { .scope.only[SCOPE_PID] = pid };

	sample__write_with_windows(path);
	load(&options);
	assert_int_equal(model.windows.service_count, 2);
	assert_int_equal(model.windows.services[0].count, 2000);
	model__release(&model);
	options = (struct model_options) { .scope.only[SCOPE_THREAD] = thread };
	load(&options);
	assert_int_equal(model.windows.service_count, 0);
	assert_int_equal(model.windows.kept_count, 0);
}

/* --- bands -------------------------------------------------------------------------------------
 */

static struct recording *begin_served(void)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_WORKER_1, 1, "worker", 0);
	sample__account(recording, SAMPLE_WORKER_1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	assert_int_equal(
		window_rows__put_class(
			recording, &(struct recording_window_class) { 1, "server", "redis", ":6379",
								      "SET", "ok", 1 }),
		0);
	return recording;
}

static void serve(struct recording *recording, int64_t count, int64_t us)
{
	sample__windows(recording, &(struct sample_windows) {
					   .class = 1,
					   .from = 1,
					   .to = 3,
					   .count = count,
					   .n = count * 16,
					   .parts = { { "own", SAMPLE_RUN_USER, us * US } } });
}

static void windows_of_one_length_are_not_compared(void **state)
{
	struct recording *recording = begin_served();

	serve(recording, 5000, 100);
	sample__finish(recording);
	load(&(struct model_options) {});
	assert_int_equal(model.windows.services[0].count, 5000);
	assert_int_equal(model.windows.services[0].n, 80000);
	assert_int_equal(model.windows.services[0].bands[WINDOWS_FAST].count, 5000);
	assert_int_equal(model.windows.services[0].bands[WINDOWS_SLOW].count, 0);
	assert_false(model_windows__is_compared(&model.windows.services[0]));
}

static void the_slowest_are_at_least_twenty(void **state)
{
	struct recording *recording = begin_served();

	serve(recording, 180, 100);
	serve(recording, 12, 1000);
	serve(recording, 10, 9000);
	sample__finish(recording);
	load(&(struct model_options) {});
	assert_int_equal(model.windows.services[0].bands[WINDOWS_SLOW].count, 22);
	assert_true(model_windows__is_compared(&model.windows.services[0]));
}

static void too_few_windows_are_not_compared(void **state)
{
	struct recording *recording = begin_served();

	serve(recording, 19, 100);
	serve(recording, 15, 9000);
	sample__finish(recording);
	load(&(struct model_options) {});
	assert_int_equal(model.windows.services[0].bands[WINDOWS_FAST].count, 19);
	assert_false(model_windows__is_compared(&model.windows.services[0]));
}

/* --- hostile files ---------------------------------------------------------------------------- */

#define HUGE "9223372036854775807"

static void loads_after(const char *sql)
{
	struct model_options options = { .windows.id = 400 };

	model__release(&model);
	unlink(path);
	sample__write_with_windows(path);
	execute(sql);
	load(&options);
	for (size_t i = 0; i < model.windows.service_count; i++) {
		const struct windows_service *service = &model.windows.services[i];

		assert_true(service->count >= 0 && service->n >= 0);
		for (size_t j = 0; j < service->row_count; j++) {
			assert_true(service->rows[j].ns >= 0);
			assert_true(isfinite(service->rows[j].more_ns));
			assert_true(isfinite(service->rows[j].error_ns));
		}
	}
}

static void hostile_numbers_do_no_harm(void **state)
{
	loads_after("UPDATE window_band SET count = " HUGE ", n = -" HUGE);
	loads_after("UPDATE window_band SET count = -1");
	loads_after("UPDATE window_time SET ns = " HUGE);
	loads_after("UPDATE window_time SET ns = -" HUGE);
	loads_after("UPDATE window_time SET ns = " HUGE " WHERE part = 'overlap'");
	loads_after("UPDATE window_part SET ns = " HUGE);
	loads_after("UPDATE window SET weight = 9e999, ready_ns = -" HUGE);
	loads_after("UPDATE window SET weight = 'x', end_ns = " HUGE ", n = -1, left = 'y'");
	loads_after("UPDATE window SET parent = id");
	loads_after("UPDATE window_wait SET ns = " HUGE ", by = -77, object = 12345");
	loads_after("UPDATE window_class SET kind = NULL, service = NULL, name = NULL");
	loads_after("UPDATE window_class SET id = id + 100");
	loads_after("DELETE FROM window_class");
	assert_int_equal(model.windows.service_count, 1);
	assert_string_equal(model.windows.services[0].first->service, "(various)");
}

static void unknown_parts_and_states_have_rows_of_their_own(void **state)
{
	loads_after("UPDATE window_time SET part = 'of.tomorrow' WHERE part = 'downstream'");
	row_of(&model.windows.services[0], "of.tomorrow");
	loads_after("UPDATE window_time SET state = 99 WHERE part = 'own' AND state = 6");
	row_of(&model.windows.services[0], "own: unknown");
	loads_after("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 999)"
		    " INSERT INTO window_time SELECT 3, 1, 100, 'p' || i, 0, 1, 5 FROM c");
	assert_int_equal(model.windows.reason_count, 256);
	loads_after("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 999)"
		    " INSERT INTO window_part SELECT 400, 'p' || i, 0, 5 FROM c");
}

static void a_bucket_that_does_not_exist_is_refused(void **state)
{
	sample__write_with_windows(path);
	execute("UPDATE window_band SET bucket = 289 WHERE class = 4");
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), -EBADMSG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_recording_without_windows_has_none),
		TEST(an_old_recording_has_none),
		TEST(classes_are_below_their_service),
		TEST(lengths_are_exact_and_percentiles_are_of_buckets),
		TEST(bands_have_whole_buckets),
		TEST(rows_are_means_and_those_with_most_more_come_first),
		TEST(what_kept_windows_waited_for_is_weighted),
		TEST(without_kept_windows_nothing_is_claimed),
		TEST(only_some_classes),
		TEST(the_slowest_from_a_length_on),
		TEST(one_window_with_its_relatives),
		TEST(the_slowest_are_examples),
		TEST(a_cut_has_its_part),
		TEST(windows_of_a_process_stay_with_all_of_its_threads),
		TEST(windows_of_one_length_are_not_compared),
		TEST(the_slowest_are_at_least_twenty),
		TEST(too_few_windows_are_not_compared),
		TEST(hostile_numbers_do_no_harm),
		TEST(unknown_parts_and_states_have_rows_of_their_own),
		TEST(a_bucket_that_does_not_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
