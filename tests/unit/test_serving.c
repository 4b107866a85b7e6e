/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of services in a recording that is being written. */
#include "../harness.h"

#include <string.h>

#include "model/serving.h"
#include "recording/recording.h"
#include "recording/window_rows.h"
#include "sample.h"

#define BUCKET_1MS ((int)histogram_bucket(MS))

enum { GOOD = 1, BAD, ASKED };

static void add(struct recording *recording, int64_t class, int slice, int64_t count)
{
	const struct recording_window_band band = { .class = class,
						    .from = slice,
						    .to = slice,
						    .bucket = BUCKET_1MS,
						    .count = count,
						    .n = count };
	const struct recording_window_time own = { .class = class,
						   .from = slice,
						   .to = slice,
						   .bucket = BUCKET_1MS,
						   .part = "own",
						   .state = 1,
						   .ns = count * MS * 3 / 10 };
	struct recording_window_time busy = own;

	busy.part = "queued.busy";
	busy.state = 0;
	busy.ns = count * MS * 7 / 10;
	assert_int_equal(window_rows__add_band(recording, &band), 0);
	assert_int_equal(window_rows__add_time(recording, &own), 0);
	assert_int_equal(window_rows__add_time(recording, &busy), 0);
}

static struct recording *begin(void)
{
	static const struct recording_window_class classes[] = {
		{ GOOD, "server", "http", "127.0.0.1:80", "GET /", "ok", 1 },
		{ BAD, "server", "http", "127.0.0.1:80", "GET /", "failed", 1 },
		{ ASKED, "client", "redis", "10.0.0.2:6379", "GET", "ok", 1 },
	};
	struct recording *recording = NULL;

	assert_int_equal(recording__create_in_memory(&recording), 0);
	recording__add_state(recording, &(struct recording_state) { 1, "run", "user", NULL });
	recording__put_process(recording,
			       &(struct recording_process) { .id = 1, .pid = 42, .comm = "app" });
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		assert_int_equal(window_rows__put_class(recording, &classes[i]), 0);
	return recording;
}

static void slice(struct recording *recording, int id)
{
	assert_int_equal(recording__add_slice(recording, id, (id - 1) * SECOND, id * SECOND), 0);
}

static void a_service_has_all_its_classes(void **state)
{
	struct recording *recording = begin();
	struct serving serving = {}, sum = {};
	int64_t percentiles[PERCENTILES];
	char reason[128] = "", name[128] = "";

	slice(recording, 1);
	add(recording, GOOD, 1, 75);
	add(recording, BAD, 1, 25);
	add(recording, ASKED, 1, 1000);
	assert_int_equal(serving__read(recording__db(recording), 0, 1, &serving), 0);
	/* What is served comes first. */
	assert_int_equal(serving.count, 2);
	assert_string_equal(serving.rows[1].kind, "client");
	assert_int_equal(serving.rows[0].count, 100);
	assert_int_equal(serving.rows[0].failed, 25);
	assert_int_equal(serving.rows[0].length_ns, 100 * MS);
	serving__percentiles(&serving.rows[0], percentiles);
	assert_int_equal(percentiles[P99], percentiles__middle(BUCKET_1MS));
	serving__say_reason(&serving.rows[0], reason, sizeof(reason));
	assert_string_equal(reason, "queued: busy with other requests 70 %");
	serving__say_service(&serving.rows[0], name, sizeof(name));
	assert_string_equal(name, "to app (HTTP, 127.0.0.1:80)");
	assert_int_equal(serving__add(&sum, &serving), 0);
	assert_int_equal(serving__add(&sum, &serving), 0);
	assert_int_equal(sum.count, 2);
	assert_int_equal(sum.rows[0].count, 200);
	assert_int_equal(sum.rows[0].reasons[0].ns, 140 * MS);
	serving__release(&serving);
	serving__release(&sum);
	recording__free(recording);
}

static void only_final_sums_are_read(void **state)
{
	struct recording *recording = begin();
	sqlite3 *db = recording__db(recording);
	int64_t to, ns;

	assert_int_equal(serving__until(db, 0, &to, &ns), 0);
	assert_int_equal(to, 0);
	slice(recording, 1);
	slice(recording, 2);
	add(recording, GOOD, 2, 10);
	/* More may be added to the newest slice. */
	assert_int_equal(serving__until(db, 0, &to, &ns), 0);
	assert_int_equal(to, 0);
	slice(recording, 3);
	assert_int_equal(serving__until(db, 0, &to, &ns), 0);
	assert_int_equal(to, 2);
	assert_int_equal(ns, 2 * SECOND);
	slice(recording, 4);
	assert_int_equal(serving__until(db, 2, &to, &ns), 0);
	assert_int_equal(to, 0);
	/* After a while without sums, there were no requests. */
	slice(recording, 5);
	slice(recording, 6);
	assert_int_equal(serving__until(db, 2, &to, &ns), 0);
	assert_int_equal(to, 5);
	assert_int_equal(ns, 3 * SECOND);
	recording__free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_has_all_its_classes),
		cmocka_unit_test(only_final_sums_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
