/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the slowest requests take longer, in words, and what is known of them. */
#include "../harness.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "findings/requests.h"
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

static void load(void)
{
	const struct model_options options = { .history = true };

	assert_int_equal(model__load(path, &options, &model), 0);
}

static void execute(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* The sentence on the first service. */
static void says(const char *expected)
{
	struct requests_slow slow;
	char text[2048] = "";

	load();
	assert_true(requests_words__slow(&model.windows, &model.windows.services[0], &slow));
	requests_words__say(&slow, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void says_nothing(void)
{
	struct requests_slow slow;

	load();
	assert_false(requests_words__slow(&model.windows, &model.windows.services[0], &slow));
}

static struct recording *begin(const char *kind, const char *protocol, const char *service)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_WORKER_1, 1, "worker", 0);
	sample__account(recording, SAMPLE_WORKER_1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	assert_int_equal(window_rows__put_class(recording,
						&(struct recording_window_class) {
							1, kind, protocol, service, "", "ok", 1 }),
			 0);
	return recording;
}

static void add(struct recording *recording, int64_t count, int64_t n,
		const struct sample_part parts[SAMPLE_PARTS])
{
	static int64_t id = 1000;
	struct sample_windows windows = {
		.class = 1, .from = 1, .to = 3, .count = count, .n = n, .kept = 10, .first_id = id
	};

	memcpy(windows.parts, parts, sizeof(windows.parts));
	sample__windows(recording, &windows);
	id += 10;
}

/* --- the sentence ----------------------------------------------------------------------------- */

static void reasons_have_their_shares(void **state)
{
	sample__write_with_windows(path);
	says("The slowest 1.0 % of requests to app (HTTP, 127.0.0.1:8080) take on average 19.9 ms "
	     "longer than the fastest half: 75 % waiting for a lock or a condition variable, 15 % "
	     "because the thread that read them served other requests first, 10 % because they "
	     "waited for another server's answer. Running time is 0.2 % of that (80.0 µs instead "
	     "of 40.0 µs).");
}

static void running_longer_is_a_reason(void **state)
{
	static const struct sample_part fast[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 20 * US } };
	static const struct sample_part slow[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 9000 * US } };
	struct recording *recording = begin("call", "", "app:handle");

	add(recording, 70, 70, fast);
	add(recording, 30, 30, slow);
	sample__finish(recording);
	says("The slowest 30 % of calls of app:handle take on average 8.98 ms longer than the "
	     "fastest 70 %: 100 % because their threads ran longer.");
}

static void windows_of_several_requests_are_named(void **state)
{
	static const struct sample_part fast[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 20 * US } };
	static const struct sample_part slow[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER, 10 * US },
							       { "queued.ready", 0, 2000 * US } };
	struct recording *recording = begin("server", "redis", "127.0.0.1:6379");

	add(recording, 50, 800, fast);
	add(recording, 50, 800, slow);
	sample__finish(recording);
	says("The slowest 50 % of windows of requests to app (Redis, 127.0.0.1:6379) take on "
	     "average 1.99 ms longer than the fastest half: 101 % because the thread that read "
	     "them had no CPU. They do not run longer (10.0 µs and 20.0 µs).");
}

static void what_a_client_waits_for_is_the_other_server(void **state)
{
	static const struct sample_part fast[SAMPLE_PARTS] = { { "downstream", 0, 20 * US } };
	static const struct sample_part slow[SAMPLE_PARTS] = { { "downstream", 0, 1020 * US } };
	struct recording *recording = begin("client", "postgresql", "10.0.0.2:5432");

	add(recording, 50, 50, fast);
	add(recording, 50, 50, slow);
	sample__finish(recording);
	says("The slowest 50 % of requests of app to 10.0.0.2:5432 (PostgreSQL) take on average "
	     "1.00 ms longer than the fastest half: 100 % because the other server answered "
	     "later.");
}

static void parts_of_newer_versions_have_their_keys(void **state)
{
	static const struct sample_part fast[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 20 * US } };
	static const struct sample_part slow[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER, 20 * US },
							       { "teleported", 0, 1000 * US } };
	struct recording *recording = begin("server", "http", "127.0.0.1:80");

	add(recording, 50, 50, fast);
	add(recording, 50, 50, slow);
	sample__finish(recording);
	says("The slowest 50 % of requests to app (HTTP, 127.0.0.1:80) take on average 1.00 ms "
	     "longer than the fastest half: 100 % teleported. They do not run longer (20.0 µs "
	     "and 20.0 µs).");
}

static void too_few_are_not_compared(void **state)
{
	static const struct sample_part fast[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 20 * US } };
	static const struct sample_part slow[SAMPLE_PARTS] = { { "own", SAMPLE_RUN_USER,
								 9000 * US } };
	struct recording *recording = begin("server", "http", "127.0.0.1:80");

	add(recording, 15, 15, fast);
	add(recording, 10, 10, slow);
	sample__finish(recording);
	says_nothing();
}

static void what_chance_may_have_made_is_not_said(void **state)
{
	sample__write_with_windows(path);
	execute("DELETE FROM window_part WHERE window BETWEEN 402 AND 409;"
		"DELETE FROM window WHERE id BETWEEN 402 AND 409;"
		"UPDATE window_part SET ns = ns * 100 WHERE window = 400 AND part = 'own'");
	says_nothing();
}

/* --- what is known of the slowest ------------------------------------------------------------- */

static void names_have_all_their_classes(void **state)
{
	const struct windows_service *service;

	sample__write_with_windows(path);
	load();
	service = &model.windows.services[0];
	assert_int_equal(service->name_count, 2);
	assert_string_equal(service->names[0].name, "GET /orders/*");
	assert_int_equal(service->names[0].count, 1000);
	assert_int_equal(service->names[0].statuses[WORDS_STATUS_REFUSED], 30);
	assert_int_equal(service->names[0].statuses[WORDS_STATUS_OK], 970);
	assert_int_equal(service->names[0].percentiles_ns[P50],
			 percentiles__middle((int)histogram_bucket(200 * US)));
	assert_int_equal(service->names[0].percentiles_ns[P99],
			 percentiles__middle((int)histogram_bucket(20 * MS)));
	assert_string_equal(service->names[1].name, "GET /");
	assert_int_equal(service->names[1].length_ns, 100 * MS);
}

static void waits_of_some_have_an_error(void **state)
{
	const struct windows_wait *wait;

	sample__write_with_windows(path);
	/* Five of ten, each for two, waited: 150 ± 35 ms. */
	execute("DELETE FROM window_wait WHERE window > 404");
	load();
	wait = &model.windows.services[0].waits[0];
	assert_int_equal(model.windows.services[0].wait_count, 1);
	assert_int_equal(wait->kept, 5);
	assert_int_equal((int64_t)wait->ns, 150 * MS);
	assert_int_equal(llround(sqrt(wait->variance)), llround(sqrt(1250.0) * 1e6));
	assert_false(wait->by_many);
}

static void waits_of_one_window_for_a_group_are_one(void **state)
{
	const struct windows_wait *wait;
	char text[200] = "";

	sample__write_with_windows(path);
	execute("UPDATE window_wait SET by = 2 WHERE window % 2;"
		"UPDATE window_wait SET by = 3 WHERE NOT window % 2;"
		"UPDATE window_wait SET evidence = 'waker'");
	load();
	wait = &model.windows.services[0].waits[0];
	assert_int_equal(model.windows.services[0].wait_count, 1);
	assert_true(wait->by_many);
	assert_int_equal((int64_t)wait->ns, 300 * MS);
	assert_true(wait->variance < 1);
	requests_words__say_wait(&model, wait, text, sizeof(text));
	assert_string_equal(text,
			    "own: wait.lock, futex 0x7f0000001000, woken by threads worker-*");
}

static void samples_of_the_slowest_are_by_state_and_path(void **state)
{
	const struct windows_service *service;
	struct windows_path *paths;
	int64_t sum_ns = 0;
	size_t count;

	sample__write_with_requests(path);
	execute("UPDATE sample SET window = 400 WHERE thread = 2;"
		"UPDATE sample SET window = 300 WHERE thread = 3");
	load();
	service = &model.windows.services[0];
	assert_int_equal(model_windows__paths(&model, service, &paths, &count), 0);
	assert_true(count > 2);
	for (size_t i = 0; i < count; i++) {
		assert_true(!i || paths[i].sum.ns <= paths[i - 1].sum.ns);
		sum_ns += paths[i].sum.ns;
	}
	assert_string_equal(paths[0].state->cause, "lock");
	/* All time of one worker in three slices, but for a tick after the window's end. */
	assert_int_equal(sum_ns, 30 * SECOND - 100 * MS);
	free(paths);
}

static void gapless_itself_is_no_finding(void **state)
{
	sample__write_with_windows(path);
	execute("UPDATE thread SET flags = 4 WHERE process = 1");
	says_nothing();
	assert_true(model.windows.services[0].is_own);
	assert_int_equal(model.windows.services[0].count, 2000);
}

static void services_of_several_processes_are_one(void **state)
{
	sample__write_with_windows(path);
	execute("INSERT INTO process(id, pid, start_ns, comm) VALUES (77, 77, 0, 'app'); UPDATE window_class SET process = 77 WHERE id = 2");
	load();
	assert_int_equal(model.windows.service_count, 2);
	assert_true(model.windows.services[0].many_processes);
	assert_int_equal(model.windows.services[0].count, 2000);
	assert_false(model.windows.services[1].many_processes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reasons_have_their_shares),
		TEST(running_longer_is_a_reason),
		TEST(windows_of_several_requests_are_named),
		TEST(what_a_client_waits_for_is_the_other_server),
		TEST(parts_of_newer_versions_have_their_keys),
		TEST(too_few_are_not_compared),
		TEST(what_chance_may_have_made_is_not_said),
		TEST(names_have_all_their_classes),
		TEST(waits_of_some_have_an_error),
		TEST(waits_of_one_window_for_a_group_are_one),
		TEST(samples_of_the_slowest_are_by_state_and_path),
		TEST(gapless_itself_is_no_finding),
		TEST(services_of_several_processes_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
