/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a signal's sums and events to rows, on a recording in memory. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/publish.h"
#include "core/sessions.h"
#include "signals/registry.h"

static const char *operation(uint32_t number)
{
	return number == 1 ? "read" : number == 2 ? "write" : NULL;
}

static void place(uint32_t number, char *ret, size_t size)
{
	snprintf(ret, size, "disk%u", number);
}

static bool forget_object(struct bpf_object *half, const __u64 numbers[2]);

static const struct signal sample = {
	.name = "sample",
	.about = "for this test",
	.events = "requests",
	.measures = (const struct measure[]) { { "total", "ns" }, { "size", "bytes" }, {} },
	.columns = (const struct column[]) { { "sector", COLUMN_NUMBER, 8 },
					     { "path", COLUMN_TEXT, 0 },
					     {} },
	.operation = operation,
	.place = place,
	.object_kind = "thing",
	.forget_object = forget_object,
};

static struct recording *recording;
static struct publish *publish;

static int set_up(void **state)
{
	return recording__create_in_memory(&recording) ||
	       publish__new(&sample, 3, recording, &publish);
}

static int tear_down(void **state)
{
	publish__free(publish);
	recording__free(recording);
	return 0;
}

/* The one value that a question has, as text. */
static const char *ask(const char *question)
{
	static char answer[512];
	sqlite3_stmt *statement = NULL;

	assert_int_equal(
		sqlite3_prepare_v2(recording__db(recording), question, -1, &statement, NULL), 0);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	snprintf(answer, sizeof(answer), "%s", sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return answer;
}

static void add(const struct series_key *key, uint64_t count, uint64_t total, uint64_t most)
{
	const struct series_sum sum = { .count = count,
					.sum = { total, 4096 * count },
					.max = { most, 4096 } };

	assert_int_equal(publish__sum(publish, key, &sum), 0);
}

static void a_signal_describes_itself(void **state)
{
	assert_string_equal(ask("SELECT id || name || events FROM signal"), "3samplerequests");
	assert_string_equal(ask("SELECT group_concat(name || unit) FROM measure"),
			    "totalns,sizebytes");
}

static void sums_of_one_key_are_one_series(void **state)
{
	struct series_key key = { .thread = 7, .place = 8, .operation = 1, .error = 5 };

	publish__slices(publish, 1, 2);
	add(&key, 10, 1000, 300);
	publish__slices(publish, 3, 3);
	add(&key, 1, 900, 900);
	add(&key, 1, 1, 1);
	key.operation = 2;
	add(&key, 4, 8, 2);
	assert_string_equal(ask("SELECT count(*) FROM series"), "2");
	assert_string_equal(ask("SELECT thread || place || operation || errno || ' ' || max0"
				" || ' ' || max1 FROM series WHERE operation = 'read'"),
			    "7disk8read5 900 4096");
	assert_string_equal(ask("SELECT group_concat(slice_from || '-' || slice_to || ':' || count"
				" || ':' || sum0 || ':' || sum1, ' ') FROM series_slice"
				" JOIN series s ON s.id = series WHERE operation = 'read'"),
			    "1-2:10:1000:40960 3-3:2:901:8192");
	assert_string_equal(ask("SELECT sum FROM signal_sums WHERE operation = 'write'"
				" AND measure = 'size'"),
			    "16384");
}

static void what_has_no_name_of_its_own_is_other(void **state)
{
	const struct series_key key = { .operation = SERIES_OTHER };

	add(&key, 3, 30, 20);
	assert_string_equal(ask("SELECT operation || ' ' || count FROM signal_sums"), "other 3");
}

static void buckets_add_up_and_have_their_bounds(void **state)
{
	const struct series_place where = { .place = 8, .operation = 1 };

	publish__slices(publish, 1, 1);
	assert_int_equal(publish__bucket(publish, &where, 0, 20, 2), 0);
	publish__slices(publish, 2, 2);
	assert_int_equal(publish__bucket(publish, &where, 0, 20, 3), 0);
	assert_int_equal(publish__bucket(publish, &where, 1, 20, 9), 0);
	assert_string_equal(ask("SELECT place || operation || begin || '-' || end || ':' || count"
				" FROM signal_histograms WHERE measure = 'total'"),
			    "disk8read24-26:5");
	assert_string_equal(ask("SELECT count(*) FROM distribution"), "2");
}

static void an_object_has_its_numbers_until_it_has_a_name(void **state)
{
	const struct series_key key = { .thread = 7, .object = { 0x20, 3 }, .operation = 1 };
	struct event named = { .kind = EVENT_NAMES,
			       .object = { 0x20, 3 },
			       .object_kind = "file",
			       .object_name = "/tmp/x" };

	add(&key, 1, 1, 1);
	assert_string_equal(ask("SELECT kind || ' ' || name FROM object"), "thing 0x20:0x3");
	assert_int_equal(publish__event(publish, &named, 0), 0);
	assert_string_equal(ask("SELECT kind || ' ' || name FROM object"), "file /tmp/x");
	assert_string_equal(ask("SELECT object FROM signal_sums"), "/tmp/x");
	assert_string_equal(ask("SELECT count(*) FROM event"), "0");
}

/* Process i has 100 - i events, in two threads. */
static void add_process(int i)
{
	const struct series_owned first = {
		.thread = 2 * i + 1, .place = 8, .operation = 1, .bucket = 20
	};
	const struct series_owned second = {
		.thread = 2 * i + 2, .place = 8, .operation = 1, .bucket = 20
	};

	recording__put_process(recording, &(struct recording_process) {
						  .id = i + 1, .pid = 1000 + i, .comm = "worker" });
	for (int t = 1; t <= 2; t++)
		recording__put_thread(recording, &(struct recording_thread) { .id = 2 * i + t,
									      .process = i + 1 });
	assert_int_equal(publish__owned(publish, &first, 60), 0);
	assert_int_equal(publish__owned(publish, &second, 40 - i / 2), 0);
	assert_int_equal(publish__owned(publish, &second, 0), 0);
}

static void the_64_busiest_processes_have_their_own_distribution(void **state)
{
	const struct series_place where = { .place = 8, .operation = 1 };
	char before[64];

	publish__slices(publish, 1, 1);
	assert_int_equal(publish__bucket(publish, &where, 0, 20, 9000), 0);
	for (int i = 0; i < 70; i++)
		add_process(i);
	assert_string_equal(ask("SELECT count(DISTINCT pid) FROM process_histograms"), "64");
	assert_string_equal(ask("SELECT max(pid) FROM process_histograms"), "1063");
	assert_string_equal(ask("SELECT count || begin FROM process_histograms WHERE pid = 1000"),
			    "10024");
	/* The rest, and what has no thread. */
	snprintf(before, sizeof(before), "%s",
		 ask("SELECT sum(count) FROM process_histograms WHERE pid IS NOT NULL"));
	assert_int_equal(atoi(before) + atoi(ask("SELECT count FROM process_histograms"
						 " WHERE comm = 'other'")),
			 9000);
	/* Rows that are deleted belong to slices, and these have none. */
	assert_int_equal(publish__forget(publish, 0, NULL), 0);
	add_process(0);
	assert_string_equal(ask("SELECT count FROM process_histograms WHERE pid = 1000"), "100");
}

static void an_event_keeps_its_fields_whatever_bytes_they_have(void **state)
{
	struct event event = { .time_ns = 1000,
			       .duration_ns = 30,
			       .thread = 7,
			       .place = 8,
			       .operation = 2,
			       .error = 5 };

	event.values[0].number = 77;
	event.values[1].text = "a\"b\xff";
	assert_int_equal(publish__event(publish, &event, 41), 0);
	assert_string_equal(ask("SELECT time_ns || ' ' || duration_ns || place || operation ||"
				" errno || ' ' || stack FROM events"),
			    "1000 30disk8write5 41");
	assert_string_equal(ask("SELECT json_extract(fields, '$.sector') FROM event"), "77");
	assert_string_equal(ask("SELECT substr(json_extract(fields, '$.path'), 1, 3) FROM event"),
			    "a\"b");
}

static void objects_beyond_the_most_share_one_name_and_are_counted(void **state)
{
	struct series_key key = { .thread = 1, .operation = 1 };

	for (uint64_t i = 1; i <= 50010; i++) {
		key.object[0] = i;
		add(&key, 1, 1, 1);
	}
	assert_int_equal(publish__quality(publish).unnamed, 10);
	assert_string_equal(ask("SELECT sum(count) FROM series_slice"), "50010");
	assert_string_equal(ask("SELECT sum(c.count) FROM series_slice c JOIN series s"
				" ON s.id = c.series JOIN object o ON o.id = s.object"
				" WHERE o.kind = 'other'"),
			    "10");
}

static __u64 unforgettable;

static bool forget_object(struct bpf_object *half, const __u64 numbers[2])
{
	return numbers[0] != unforgettable;
}

static void an_object_that_is_of_no_use_goes_unless_its_name_would_not_come_again(void **state)
{
	struct series_key key = { .operation = 1 };
	uint64_t then_ns;

	for (uint64_t i = 1; i <= 4; i++) {
		key.object[0] = i;
		add(&key, 1, 1, 1);
	}
	usleep(1000);
	then_ns = clock__now_ns();
	add(&key, 1, 1, 1); /* the fourth one */
	unforgettable = 2;
	assert_int_equal(publish__forget(publish, then_ns, NULL), 0);
	assert_string_equal(ask("SELECT group_concat(name) FROM (SELECT name FROM object"
				" ORDER BY name)"),
			    "0x2:0,0x4:0");
	key.object[0] = 1;
	add(&key, 1, 1, 1);
	assert_string_equal(ask("SELECT count(*) FROM object"), "3");
}

/* It costs itself only, and the recording says so. */
static void a_signal_that_does_not_start_is_missing_by_name(void **state)
{
	const struct signal broken = { .name = "broken" };
	struct part parts[2] = { { .signal = &broken } };
	struct sessions *sessions = NULL;

	assert_int_equal(sessions__open(parts, (struct session_options) { .recording = recording },
					&sessions),
			 0);
	assert_int_equal(sessions__count(sessions), 0);
	sessions__free(sessions);
	assert_string_equal(ask("SELECT value FROM quality WHERE name = 'broken_missing'"), "1");
}

static void a_list_chooses_signals(void **state)
{
	const struct signal *chosen[SIGNALS_MOST];
	const char *bad = NULL;

	assert_int_equal(registry__choose("exec,exec", chosen, &bad), 0);
	assert_string_equal(chosen[0]->name, "exec");
	assert_null(chosen[1]);
	assert_int_equal(registry__choose("none", chosen, &bad), 0);
	assert_null(chosen[0]);
	assert_int_equal(registry__choose("all", chosen, &bad), 0);
	for (size_t i = 0, at = 0; signals[i]; i++)
		if (!signals[i]->on_request)
			assert_ptr_equal(chosen[at++], signals[i]);
	assert_int_equal(registry__choose("exec,exe", chosen, &bad), -ENOENT);
	assert_string_equal(bad, "exe");
	assert_int_equal(registry__choose("", chosen, &bad), -ENOENT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_signal_describes_itself),
		TEST(sums_of_one_key_are_one_series),
		TEST(what_has_no_name_of_its_own_is_other),
		TEST(buckets_add_up_and_have_their_bounds),
		TEST(an_object_has_its_numbers_until_it_has_a_name),
		TEST(the_64_busiest_processes_have_their_own_distribution),
		TEST(an_event_keeps_its_fields_whatever_bytes_they_have),
		TEST(objects_beyond_the_most_share_one_name_and_are_counted),
		TEST(an_object_that_is_of_no_use_goes_unless_its_name_would_not_come_again),
		TEST(a_signal_that_does_not_start_is_missing_by_name),
		cmocka_unit_test(a_list_chooses_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
