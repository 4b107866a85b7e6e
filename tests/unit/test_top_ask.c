/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top asks a recording that is being written. */
#include "../harness.h"

#include <stdio.h>

#include "base/clock.h"
#include "recording/recording.h"
#include "tui/ask.h"

#define SECOND 1000000000LL
#define MS     1000000LL

enum { RUN = 1, POLL, LOCK };

static int open_state(void *context, int64_t thread)
{
	return thread == 2 ? POLL : thread == 3 ? RUN : 0;
}

static void add_thread(struct recording *recording, int64_t id, const char *comm, int flags)
{
	struct recording_thread thread = { .id = id,
					   .process = 1,
					   .tid = (int)(100 + id),
					   .comm = comm,
					   .last_ns = flags & RECORDING_THREAD_EXITED ? 3500 * MS
										      : 4 * SECOND,
					   .flags = flags };

	assert_int_equal(recording__put_thread(recording, &thread), 0);
}

static void account(struct recording *recording, int64_t thread, int64_t from, int64_t to,
		    int state, int64_t ns)
{
	struct recording_account row = { thread, from, to, state, ns, 3 };

	assert_int_equal(recording__add_account(recording, &row), 0);
}

/* Four slices of a second: one that runs and waits, one silent since slice 1, one that spins. */
static struct recording *begin(void)
{
	struct recording *recording = NULL;

	assert_int_equal(recording__create_in_memory(&recording), 0);
	recording__add_state(recording, &(struct recording_state) { RUN, "run", "any", NULL });
	recording__add_state(recording, &(struct recording_state) { POLL, "wait", "poll", "idle" });
	recording__add_state(recording,
			     &(struct recording_state) { LOCK, "wait", "lock", "delaying" });
	recording__set_number(recording, "start_ns", 0);
	recording__set_number(recording, "start_unix_ns", 5 * SECOND);
	recording__set_number(recording, "end_ns", 4 * SECOND);
	recording__put_process(recording,
			       &(struct recording_process) { .id = 1, .pid = 101, .comm = "app" });
	for (int i = 1; i <= 4; i++)
		recording__add_slice(recording, i, (i - 1) * SECOND, i * SECOND);
	add_thread(recording, 1, "both", 0);
	add_thread(recording, 2, "silent", 0);
	add_thread(recording, 3, "spins", 0);
	add_thread(recording, 4, "gone", RECORDING_THREAD_EXITED);
	for (int i = 1; i <= 4; i++) {
		account(recording, 1, i, i, RUN, 400 * MS);
		account(recording, 1, i, i, LOCK, 600 * MS);
	}
	account(recording, 2, 1, 1, POLL, SECOND);
	account(recording, 3, 1, 3, RUN, 3 * SECOND);
	account(recording, 4, 4, 4, RUN, 500 * MS);
	return recording;
}

static const struct table_row *row_of(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->rows[i].name, name))
			return &table->rows[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

static void a_window_has_all_time_of_everybody(void **state)
{
	struct recording *recording = begin();
	struct ask_window window;
	struct table table = {};
	struct ask *ask;

	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_int_equal(ask__after(ask, 2, &window), 0);
	assert_int_equal(window.from, 3);
	assert_int_equal(window.to, 4);
	assert_int_equal(ask__table(ask, &window, true, &table), 0);
	assert_int_equal(table.count, 4);
	assert_int_equal(row_of(&table, "both")->ns[SLOT_RUN_ANY], 800 * MS);
	assert_int_equal(row_of(&table, "both")->ns[SLOT_WAIT_LOCK_OWNED], 1200 * MS);
	assert_int_equal(row_of(&table, "both")->switches, 6);
	/* No row since slice 1: it is where it was. */
	assert_int_equal(row_of(&table, "silent")->ns[SLOT_WAIT_POLL], 2 * SECOND);
	/* A third of its row lies inside, the rest it did not tell yet. */
	assert_int_equal(row_of(&table, "spins")->ns[SLOT_RUN_ANY], 2 * SECOND);
	assert_int_equal(row_of(&table, "gone")->ns[SLOT_RUN_ANY], 500 * MS);
	assert_int_equal(table.all.threads, 3);
	assert_int_equal(table.all.ended, 1);
	assert_int_equal(ask__after(ask, 4, &window), 0);
	assert_int_equal(window.from, 0);
	assert_int_equal(ask__last(ask, 1500 * MS, &window), 0);
	assert_int_equal(window.from, 4);
	ask__free(ask);
	table__release(&table);
	recording__free(recording);
}

static void calls_by_thread_are_there_if_the_signal_is(void **state)
{
	struct recording *recording = begin();
	struct ask_window window = { 3, 4, 2 * SECOND, 4 * SECOND };
	struct table table = {};
	struct ask *ask;

	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_false(ask__has_calls(ask));
	ask__free(ask);
	recording__add_signal(recording,
			      &(struct recording_signal) { 1, "syscalls", "", "calls", "calls" });
	for (int i = 1; i <= 2; i++)
		recording__add_series(recording,
				      &(struct recording_series) { .id = i,
								   .signal = 1,
								   .thread = 1,
								   .place = "",
								   .operation = "read" });
	for (int i = 2; i <= 4; i++)
		for (int j = 1; j <= 2; j++)
			recording__add_sum(recording,
					   &(struct recording_sum) {
						   .series = j, .from = i, .to = i, .count = 10 });
	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_true(ask__has_calls(ask));
	assert_int_equal(ask__table(ask, &window, true, &table), 0);
	assert_int_equal(row_of(&table, "both")->calls, 40);
	assert_int_equal(row_of(&table, "silent")->calls, 0);
	ask__free(ask);
	table__release(&table);
	recording__free(recording);
}

static void add_calls(struct recording *recording, int64_t id, int64_t thread, const char *name,
		      int error, int64_t count)
{
	struct recording_series series = { .id = id,
					   .signal = 1,
					   .thread = thread,
					   .place = "",
					   .operation = name,
					   .error = error };

	assert_int_equal(recording__add_series(recording, &series), 0);
	recording__add_sum(
		recording,
		&(struct recording_sum) {
			.series = id, .from = 3, .to = 3, .count = count, .sum = { count * MS } });
}

static void calls_say_how_they_fail_and_are_those_of_a_thread(void **state)
{
	struct recording *recording = begin();
	struct ask_window window = { 3, 4, 2 * SECOND, 4 * SECOND };
	static struct ask_lines lines;
	struct ask *ask;

	recording__add_signal(recording,
			      &(struct recording_signal) { 1, "syscalls", "", "calls", "calls" });
	add_calls(recording, 1, 1, "open", 0, 5);
	add_calls(recording, 2, 1, "open", 13, 2);
	add_calls(recording, 3, 1, "open", 2, 3);
	add_calls(recording, 4, 2, "read", 0, 4);
	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_int_equal(ask__calls(ask, &window, &lines), 0);
	assert_int_equal(lines.count, 2);
	assert_int_equal(lines.total_count, 14);
	assert_string_equal(lines.lines[0].name, "open");
	assert_string_equal(lines.lines[0].more, "2");
	assert_int_equal(lines.lines[0].ns, 10 * MS);
	assert_int_equal(lines.lines[0].errors, 5);
	assert_string_equal(lines.lines[1].name, "read");
	assert_string_equal(lines.lines[1].more, "");
	ask__only(ask, 102);
	assert_int_equal(ask__calls(ask, &window, &lines), 0);
	assert_int_equal(lines.count, 1);
	assert_string_equal(lines.lines[0].name, "read");
	ask__free(ask);
	recording__free(recording);
}

static void add_wait(struct recording *recording, int64_t by, const char *evidence, int64_t ns)
{
	struct recording_wait wait = { 1, LOCK, 1, by, evidence, ns, 2 };

	assert_int_equal(recording__add_wait(recording, &wait), 0);
}

static void waits_say_who_and_for_what_and_age(void **state)
{
	struct recording *recording = begin();
	struct ask_window window = { 3, 4, 2 * SECOND, 4 * SECOND };
	static struct ask_lines lines;
	struct ask *ask;

	recording__put_object(recording, &(struct recording_object) { 1, "futex", "0x10" });
	add_wait(recording, 2, "waker", 70 * MS);
	assert_int_equal(recording__age_waits(recording, 2), 0);
	add_wait(recording, 2, "waker", 10 * MS);
	add_wait(recording, 3, "owner", 30 * MS);
	assert_int_equal(recording__age_waits(recording, 3), 0);
	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_int_equal(ask__waits(ask, &window, &lines), 0);
	assert_int_equal(lines.count, 2);
	assert_string_equal(lines.lines[0].name, "lock, held by spins/103");
	assert_string_equal(lines.lines[0].more, "futex 0x10");
	assert_int_equal(lines.lines[0].ns, 30 * MS);
	assert_string_equal(lines.lines[1].name, "lock, ended by silent/102");
	assert_int_equal(lines.lines[1].ns, 10 * MS);
	assert_int_equal(lines.total_ns, 40 * MS);
	ask__free(ask);
	recording__free(recording);
}

static void functions_without_a_name_are_a_file_and_an_offset(void **state)
{
	struct recording *recording = begin();
	struct ask_window window = { 3, 4, 2 * SECOND, 4 * SECOND };
	static struct ask_lines lines;
	struct ask *ask;

	recording__add_module(recording,
			      &(struct recording_module) { 1, "file", "/usr/lib/libx.so", NULL });
	recording__add_frame(recording, 1, 1, 0x1234);
	recording__add_frame(recording, 2, 1, 0x2000);
	recording__add_function(
		recording, &(struct recording_function) { .id = 1, .module = 1, .name = "work" });
	recording__add_line(recording, &(struct recording_line) { .frame = 2, .function = 1 });
	recording__add_stack(recording, 1, 0, 1);
	recording__add_stack(recording, 2, 1, 2);
	for (int i = 0; i < 6; i++)
		recording__add_sample(recording, &(struct recording_sample) {
							 .time_ns = i < 1 ? SECOND : 3 * SECOND,
							 .thread = 1,
							 .state = i < 5 ? RUN : POLL,
							 .stack = i == 1 ? 1 : 2,
							 .weight_ns = 10 * MS,
							 .count = 1 });
	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_int_equal(ask__functions(ask, &window, &lines), 0);
	assert_int_equal(lines.count, 2);
	assert_string_equal(lines.lines[0].name, "work");
	assert_string_equal(lines.lines[0].more, "libx.so");
	assert_int_equal(lines.lines[0].count, 3);
	assert_string_equal(lines.lines[1].name, "libx.so+0x1234");
	assert_int_equal(lines.total_count, 4);
	ask__free(ask);
	recording__free(recording);
}

static void add_samples(struct recording *recording, int64_t time_ns, int count)
{
	for (int i = 0; i < count; i++)
		recording__add_sample(recording, &(struct recording_sample) { .time_ns = time_ns,
									      .thread = 1,
									      .state = RUN,
									      .weight_ns = 10 * MS,
									      .count = 1 });
}

static int64_t count_samples(struct ask *ask, int64_t begin_ns)
{
	struct ask_window window = { 3, 4, begin_ns, begin_ns + SECOND };
	static struct ask_lines lines;

	assert_int_equal(ask__functions(ask, &window, &lines), 0);
	return lines.total_count;
}

/* As after a minute without a CPU: SQLite gives the next sample the id 1 again. */
static void samples_are_seen_though_all_before_them_were_forgotten(void **state)
{
	struct recording *recording = begin();
	int64_t now_ns = (int64_t)clock__now_ns();
	struct ask *ask;

	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	add_samples(recording, now_ns, 5);
	assert_int_equal(count_samples(ask, now_ns), 5);
	add_samples(recording, now_ns + 100 * SECOND, 3);
	assert_int_equal(count_samples(ask, now_ns + 100 * SECOND), 3);
	/* Fewer than there were, and more. */
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(sqlite3_exec(recording__db(recording), "DELETE FROM sample", NULL,
					      NULL, NULL),
				 0);
		add_samples(recording, now_ns + (100 + i) * SECOND, i * 6);
		assert_int_equal(count_samples(ask, now_ns + (100 + i) * SECOND), i * 6);
	}
	ask__free(ask);
	recording__free(recording);
}

static void what_is_lost_is_counted_and_comes_first(void **state)
{
	static const char *const losses[] = {
		"lost_map_full",     "lost_ring_full",        "malformed_records",
		"malformed_samples", "mapping_events_lost",   "never_closed",
		"no_storage",        "recursion_misses",      "stacks_lost",
		"syscalls_missing",  "syscalls_sums_unnamed", "unnamed_waits",
		"vanished_threads",
	};
	const size_t count = sizeof(losses) / sizeof(*losses);
	struct recording *recording = begin();
	static struct ask_lines lines;
	struct ask_head head;
	struct ask *ask;

	assert_int_equal(ask__new(recording__db(recording), open_state, NULL, &ask), 0);
	assert_int_equal(ask__head(ask, &head), 0);
	assert_int_equal(head.lost, 0);
	/* What is made up for is not lost, and nanoseconds are not counted. */
	recording__put_quality(recording, "repaired_wakeups", 5, "", "");
	recording__put_quality(recording, "samples_lost_ns", 1000, "", "");
	for (size_t i = 0; i < count; i++)
		recording__put_quality(recording, losses[i], 1 << i, "", "");
	assert_int_equal(ask__head(ask, &head), 0);
	assert_int_equal(head.lost, (1 << count) - 1);
	assert_int_equal(ask__quality(ask, &lines), 0);
	assert_int_equal(lines.count, count + 2);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(lines.lines[i].name, losses[i]);
	ask__free(ask);
	recording__free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_all_time_of_everybody),
		cmocka_unit_test(calls_by_thread_are_there_if_the_signal_is),
		cmocka_unit_test(calls_say_how_they_fail_and_are_those_of_a_thread),
		cmocka_unit_test(waits_say_who_and_for_what_and_age),
		cmocka_unit_test(functions_without_a_name_are_a_file_and_an_offset),
		cmocka_unit_test(what_is_lost_is_counted_and_comes_first),
		cmocka_unit_test(samples_are_seen_though_all_before_them_were_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
