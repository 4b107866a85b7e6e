/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording in memory that forgets its begin, and what is saved of it. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/recording.h"
#include "recording/window_rows.h"
#include "sample.h"

#define SLICES 30

enum { RUN = 1, POLL };

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int64_t number;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), 0);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return number;
}

static void put_thread(struct recording *recording, int64_t id, int64_t process, int64_t last_ns,
		       int flags)
{
	struct recording_thread thread = { .id = id,
					   .process = process,
					   .tid = (int)id,
					   .comm = "thread",
					   .first_ns = 0,
					   .last_ns = last_ns,
					   .flags = flags };

	assert_int_equal(recording__put_thread(recording, &thread), 0);
	recording__put_process(recording, &(struct recording_process) { .id = process,
									.pid = (int)process,
									.comm = "process" });
}

static void account(struct recording *recording, int64_t thread, int64_t from, int64_t to,
		    int state, int64_t ns)
{
	struct recording_account row = { thread, from, to, state, ns, 10 };

	assert_int_equal(recording__add_account(recording, &row), 0);
}

/*
 * Thirty slices of a second. Thread 1 runs all the time, thread 2 is silent from slice 6 to 25,
 * thread 3 ended in slice 4; 9 is a process whose first thread is not written yet.
 */
static struct recording *begin(void)
{
	struct recording *recording = NULL;

	assert_int_equal(recording__create_in_memory(&recording), 0);
	recording__add_state(recording, &(struct recording_state) { RUN, "run", "any", NULL });
	recording__add_state(recording, &(struct recording_state) { POLL, "wait", "poll", "idle" });
	recording__set_number(recording, "start_ns", 0);
	recording__set_number(recording, "start_unix_ns", 100 * SECOND);
	recording__set_number(recording, "end_ns", SLICES * SECOND);
	recording__put_cost(recording, "own_cpu_ns", 3e9, "ns");
	put_thread(recording, 1, 1, SLICES * SECOND, 0);
	put_thread(recording, 2, 2, SLICES * SECOND, 0);
	put_thread(recording, 3, 3, 4 * SECOND, RECORDING_THREAD_EXITED);
	recording__put_process(recording, &(struct recording_process) { .id = 9, .pid = 9 });
	for (int i = 1; i <= SLICES; i++) {
		recording__add_slice(recording, i, (i - 1) * SECOND, i * SECOND);
		account(recording, 1, i, i, RUN, SECOND);
		recording__add_wait(recording, &(struct recording_wait) { .thread = 1,
									  .state = POLL,
									  .evidence = "none",
									  .ns = MS,
									  .count = 1 });
		recording__add_syscall(recording, &(struct recording_syscall) { .number = 2,
										.name = "open",
										.from = i,
										.to = i,
										.count = 10,
										.errors = 6 });
		recording__add_syscall_error(recording, 2, 2, 4);
		recording__add_syscall_error(recording, 2, 13, 2);
		assert_int_equal(recording__age_waits(recording, i), 0);
	}
	for (int i = 1; i <= 4; i++)
		account(recording, 3, i, i, RUN, SECOND);
	account(recording, 2, 1, 5, RUN, 5 * SECOND);
	account(recording, 2, 6, 25, POLL, 20 * SECOND);
	account(recording, 2, 26, 30, POLL, 5 * SECOND);
	return recording;
}

static void what_is_over_is_forgotten_and_what_reaches_over_the_edge_is_cut(void **state)
{
	struct recording *recording = begin();
	sqlite3 *db = recording__db(recording);

	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM slice"), 20);
	assert_int_equal(ask(db, "SELECT min(id) FROM slice"), 11);
	assert_int_equal(ask(db, "SELECT sum(ns) FROM account WHERE thread = 1"), 20 * SECOND);
	assert_int_equal(ask(db, "SELECT sum(ns) FROM account WHERE thread = 2"), 20 * SECOND);
	assert_int_equal(ask(db, "SELECT min(slice_from) FROM account"), 11);
	assert_int_equal(ask(db, "SELECT count(*) FROM thread WHERE id = 3"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM process WHERE id = 3"), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM process WHERE id = 9"), 1);
	assert_int_equal(ask(db, "SELECT count(*) FROM thread"), 2);
	/* Again is the same. */
	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(ask(db, "SELECT sum(ns) FROM account"), 40 * SECOND);
	recording__free(recording);
}

static void what_is_saved_adds_up_and_goes_on_in_memory(void **state)
{
	char *path = sample__path();
	struct recording *recording = begin();
	struct stat info;
	sqlite3 *db = NULL;

	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(recording__save(recording, path), 0);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'complete'"), 1);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'start_ns'"), 10 * SECOND);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'start_unix_ns'"),
			 110 * SECOND);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'end_ns'"), 30 * SECOND);
	assert_int_equal(ask(db, "SELECT value FROM cost WHERE name = 'own_cpu_ns'"), 2 * SECOND);
	assert_int_equal(ask(db, "SELECT sum(abs(remainder_ns)) FROM threads"), 0);
	assert_int_equal(ask(db, "SELECT sum(lifetime_ns) FROM threads"), 40 * SECOND);
	assert_int_equal(ask(db, "SELECT sum(ns) FROM wait"), 20 * MS);
	assert_int_equal(ask(db, "SELECT sum(count) FROM wait"), 20);
	assert_int_equal(ask(db, "SELECT count FROM syscall_error WHERE errno = 2"), 80);
	assert_int_equal(ask(db, "SELECT count FROM syscall_error WHERE errno = 13"), 40);
	sqlite3_close(db);
	/* The one in memory did not change. */
	db = recording__db(recording);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'complete'"), 0);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'start_ns'"), 0);
	assert_int_equal(
		recording__add_slice(recording, SLICES + 1, SLICES * SECOND, (SLICES + 1) * SECOND),
		0);
	recording__free(recording);
	sample__remove(path);
}

static void count_calls(struct recording *recording, int64_t id, int64_t slice, int64_t count)
{
	struct recording_sum sum = { .series = id,
				     .from = slice,
				     .to = slice,
				     .count = count,
				     .sum = { count * MS, count },
				     .max = { id * MS, 100 - id } };

	assert_int_equal(recording__add_sum(recording, &sum), 0);
}

static void add_series(struct recording *recording, int64_t id, int64_t thread, const char *name)
{
	struct recording_series series = {
		.id = id, .signal = 1, .thread = thread, .place = "", .operation = name
	};

	assert_int_equal(recording__add_series(recording, &series), 0);
}

/* Who writes forgot its series in slice 20, and made new ones: 4 is 1 again, 5 is 2. */
static void begin_series(struct recording *recording)
{
	recording__add_signal(recording, &(struct recording_signal) { 1, "syscalls", "", "calls" });
	recording__add_measure(recording, 1, 0, "time", "ns");
	recording__add_measure(recording, 1, 1, "running", "ns");
	add_series(recording, 1, 1, "read");
	add_series(recording, 2, 2, "read");
	add_series(recording, 3, 1, "open");
	for (int i = 1; i <= 20; i++) {
		count_calls(recording, 1, i, 10);
		count_calls(recording, 2, i, 100);
	}
	count_calls(recording, 3, 10, 7);
	add_series(recording, 4, 1, "read");
	add_series(recording, 5, 2, "read");
	/* The first one is saved before there is another slice. */
	for (int i = 20; i <= SLICES; i++)
		count_calls(recording, 4, i, 1);
	count_calls(recording, 5, 21, 1000);
}

static void series_go_with_their_last_row_and_are_one_again_in_a_file(void **state)
{
	char *path = sample__path();
	struct recording *recording = begin();
	sqlite3 *db = recording__db(recording);

	begin_series(recording);
	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM series"), 4);
	assert_int_equal(ask(db, "SELECT count(*) FROM series WHERE id = 3"), 0);
	assert_int_equal(recording__save(recording, path), 0);
	/* The one in memory still has both. */
	assert_int_equal(ask(db, "SELECT count(*) FROM series"), 4);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(ask(db, "SELECT count(*) FROM series"), 2);
	assert_int_equal(ask(db, "SELECT sum(count) FROM series_slice"), 100 + 1000 + 11 + 1000);
	assert_int_equal(
		ask(db, "SELECT count FROM signal_sums WHERE tid = 1 AND measure = 'time'"), 111);
	assert_int_equal(ask(db, "SELECT sum FROM signal_sums WHERE tid = 1 AND measure = 'time'"),
			 111 * MS);
	assert_int_equal(ask(db, "SELECT max FROM signal_sums WHERE tid = 1 AND measure = 'time'"),
			 4 * MS);
	assert_int_equal(
		ask(db, "SELECT max FROM signal_sums WHERE tid = 1 AND measure = 'running'"), 99);
	assert_int_equal(
		ask(db, "SELECT count FROM signal_sums WHERE tid = 2 AND measure = 'time'"), 2000);
	assert_int_equal(ask(db, "SELECT count FROM series_slice WHERE slice_to = 20"
				 " AND series = 1"),
			 11);
	sqlite3_close(db);
	assert_int_equal(recording__forget(recording, 25), 0);
	db = recording__db(recording);
	assert_int_equal(ask(db, "SELECT group_concat(id) FROM series"), 4);
	recording__free(recording);
	sample__remove(path);
}

/* 12 windows in each slice, and one in each that was kept; one row reaches over the edge. */
static void requests_are_forgotten_with_their_slices(void **state)
{
	struct recording *recording = begin();
	sqlite3 *db = recording__db(recording);

	for (int i = 1; i <= SLICES; i++) {
		const struct recording_window_band band = {
			.class = 1, .from = i, .to = i, .bucket = 40, .count = 12, .n = 12
		};
		const struct recording_window_time time = { .class = 1,
							    .from = i,
							    .to = i,
							    .bucket = 40,
							    .part = "handed",
							    .ns = 12 * MS };
		const struct recording_window window = {
			.id = i, .class = 1, .end_ns = i * SECOND - MS, .n = 1, .weight = 12
		};
		const struct recording_window_part part = { i, "handed", 0, MS };
		const struct recording_window_wait wait = { .window = i, .ns = MS };

		assert_int_equal(window_rows__add_band(recording, &band), 0);
		assert_int_equal(window_rows__add_time(recording, &time), 0);
		assert_int_equal(window_rows__put(recording, &window), 0);
		assert_int_equal(window_rows__add_part(recording, &part), 0);
		assert_int_equal(window_rows__add_wait(recording, &wait), 0);
	}
	assert_int_equal(window_rows__add_band(
				 recording,
				 &(struct recording_window_band) {
					 .class = 2, .from = 9, .to = 12, .count = 40, .n = 80 }),
			 0);
	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(ask(db, "SELECT sum(count) FROM window_band WHERE class = 1"), 20 * 12);
	assert_int_equal(ask(db, "SELECT sum(ns) FROM window_time"), 20 * 12 * MS);
	assert_int_equal(ask(db, "SELECT count FROM window_band WHERE class = 2"), 20);
	assert_int_equal(ask(db, "SELECT min(id) FROM window"), 11);
	assert_int_equal(ask(db, "SELECT count(*) FROM window_part"), 20);
	assert_int_equal(ask(db, "SELECT count(*) FROM window_wait"), 20);
	recording__free(recording);
}

#define MANY 20000

/* A minute with many rows must not determine the size of the database for ever. */
static void forgetting_returns_memory(void **state)
{
	struct recording *recording = begin();
	sqlite3 *db = recording__db(recording);
	int64_t pages = ask(db, "PRAGMA main.page_count");
	int64_t aged = ask(db, "PRAGMA temp.page_count");

	for (int i = 0; i < MANY; i++) {
		account(recording, 4 + i, 1, 1, RUN, SECOND);
		recording__add_wait(recording, &(struct recording_wait) { .thread = 4 + i,
									  .state = POLL,
									  .evidence = "none",
									  .ns = MS,
									  .count = 1 });
	}
	assert_int_equal(recording__age_waits(recording, 1), 0);
	assert_true(ask(db, "PRAGMA main.page_count") > pages + 50);
	assert_true(ask(db, "PRAGMA temp.page_count") > aged + 50);
	assert_int_equal(recording__forget(recording, 11), 0);
	assert_int_equal(recording__commit(recording), 0);
	assert_in_range(ask(db, "PRAGMA main.page_count"), 1, pages);
	assert_in_range(ask(db, "PRAGMA temp.page_count"), 1, aged);
	recording__free(recording);
}

static void nothing_is_overwritten(void **state)
{
	char *path = sample__path();
	struct recording *recording = begin();

	assert_int_equal(recording__save(recording, path), 0);
	assert_int_equal(recording__save(recording, path), -EEXIST);
	assert_int_equal(recording__save(recording, "/no/such/folder/x"), -ENOENT);
	recording__free(recording);
	sample__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_over_is_forgotten_and_what_reaches_over_the_edge_is_cut),
		cmocka_unit_test(what_is_saved_adds_up_and_goes_on_in_memory),
		cmocka_unit_test(series_go_with_their_last_row_and_are_one_again_in_a_file),
		cmocka_unit_test(requests_are_forgotten_with_their_slices),
		cmocka_unit_test(forgetting_returns_memory),
		cmocka_unit_test(nothing_is_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
