/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says of calls that were only counted, because of the budget. */
#include "reported.h"

#include "model/model.h"
#include "page/html.h"
#include "vocabulary/histogram.h"

#define BETWEEN(from_s, to_s)                                                                      \
	{                                                                                          \
		.width = 1000, .model.scope = {                                                    \
			.from.ns = (from_s) * SECOND,                                              \
			.to.ns = (to_s) * SECOND                                                   \
		}                                                                                  \
	}

static const struct report_options wide = { .width = 1000 };
static const struct report_options first_slice = BETWEEN(0, 10);
static const struct report_options half_of_it = BETWEEN(0, 5);
static const char *const main_only[] = { "1001", NULL };
static const struct report_options one_thread = { .width = 1000,
						  .model.scope.only[SCOPE_THREAD] = main_only };

static void add_estimate(struct recording *recording, int64_t thread, int number, int64_t slice,
			 int64_t untimed, double error_ns)
{
	const struct recording_estimate estimate = {
		.thread = thread,
		.number = number,
		.from = slice,
		.to = slice,
		.untimed = untimed,
		.variance = error_ns * error_ns / 4,
	};

	assert_int_equal(recording__add_estimate(recording, &estimate), 0);
}

static void add_step(struct recording *recording, int64_t ms, const char *what, int64_t value,
		     int64_t threads)
{
	const struct recording_budget_step step = { SAMPLE_START_NS + ms * MS, what, value,
						    threads };

	assert_int_equal(recording__add_budget_step(recording, &step), 0);
}

static void add_calls(struct recording *recording, int number, const char *name, int64_t slice,
		      int64_t count, int64_t ns)
{
	const struct recording_syscall call = {
		number, name, slice, slice, count, 0, ns, 2000, ns
	};

	assert_int_equal(recording__add_syscall(recording, &call), 0);
}

static void add_bucket(struct recording *recording, int number, int64_t slice, int64_t count)
{
	const struct recording_bucket bucket = { RECORDING_HISTOGRAM_SYSCALL, number, slice, slice,
						 (int)histogram_bucket(1000), count };

	assert_int_equal(recording__add_bucket(recording, &bucket), 0);
}

/* Two threads of the target with 10 s in the kernel and 20 s outside. */
static struct recording *begin_with(int64_t budget_ppm)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	for (int64_t thread = 1; thread <= 2; thread++) {
		sample__thread(recording, thread, 1, "app", 0);
		for (int64_t i = 1; i <= 3; i++) {
			sample__account(recording, thread, SAMPLE_RUN_USER, i, i, 7 * SECOND, 1);
			sample__account(recording, thread, SAMPLE_RUN_KERNEL, i, i, 3 * SECOND, 1);
		}
	}
	assert_int_equal(recording__put_quality(recording, "lost_ring_full", 0, "none", ""), 0);
	if (budget_ppm >= 0)
		assert_int_equal(recording__set_number(recording, "budget_ppm", budget_ppm), 0);
	return recording;
}

/*
 * 6,400 calls of getppid, of which 100 were timed, in each of slices 1 and 2; 1,000 of read, all of
 * them timed, in slice 3. Errors: 30 ms and 40 ms of getppid, so 50 ms of 6 s together.
 */
static struct recording *begin_reached(void)
{
	struct recording *recording = begin_with(50000);

	for (int64_t i = 1; i <= 2; i++) {
		add_calls(recording, 110, "getppid", i, 6400, 3 * SECOND);
		add_bucket(recording, 110, i, 6400);
		add_estimate(recording, 0, 110, i, 6300, i == 1 ? 30e6 : 40e6);
		add_estimate(recording, 1, -1, i, 0, i == 1 ? 30e6 : 40e6);
	}
	add_calls(recording, 0, "read", 3, 1000, SECOND);
	add_bucket(recording, 0, 3, 1000);
	add_step(recording, 410, "calls", 64, 1);
	add_step(recording, 20000, "calls", 1, 0);
	return recording;
}

static void short_text_has(const char *words)
{
	char *text = print_as(&wide);

	if (!strstr(text, words))
		fail_msg("no '%s' in:\n%s", words, text);
	free(text);
}

/* The entry of a list whose `key` is `value`. */
static json_t *entry(json_t *list, const char *key, const char *value)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!strcmp(json_string_value(json_object_get(one, key)), value))
			return one;
	fail_msg("no '%s'", value);
	return NULL;
}

static void errors_are_two_standard_errors(void **state)
{
	struct recording *recording = begin_reached();
	json_t *json, *call, *thread;

	sample__finish(recording);
	json = report((struct report_options) {});
	assert_int_equal(number_at(json, "budget_ppm"), 50000);
	assert_int_equal(number_at(json, "untimed_calls"), 12600);
	assert_int_equal(number_at(json_object_get(json, "outside_syscalls"), "error_ns"), 50 * MS);
	call = entry(json_object_get(json, "syscalls"), "name", "getppid");
	assert_int_equal(number_at(call, "count"), 12800);
	assert_int_equal(number_at(call, "untimed"), 12600);
	assert_int_equal(number_at(call, "error_ns"), 50 * MS);
	call = entry(json_object_get(json, "syscalls"), "name", "read");
	assert_null(json_object_get(call, "untimed"));
	assert_null(json_object_get(call, "error_ns"));
	for (int i = 0; i < 2; i++) {
		const char *cause = i ? "kernel" : "user";

		assert_int_equal(number_at(entry(json_object_get(json, "states"), "cause", cause),
					   "error_ns"),
				 50 * MS);
		thread = json_array_get(json_object_get(json, "threads"), 0);
		assert_int_equal(number_at(entry(json_object_get(thread, "states"), "cause", cause),
					   "error_ns"),
				 50 * MS);
		thread = json_array_get(json_object_get(json, "threads"), 1);
		assert_null(json_object_get(
			entry(json_object_get(thread, "states"), "cause", cause), "error_ns"));
	}
	json_decref(json);
}

static void the_text_says_how_good_estimates_are(void **state)
{
	struct recording *recording = begin_reached();

	sample__finish(recording);
	text_has(&wide,
		 "\nrun.kernel and run.user are right within ±50.0 ms: 1,200 of 13,800 calls "
		 "were timed, the others only counted (budget 5 %)\n");
	text_has(&wide,
		 "\ntimes are estimated: getppid ±0.8 %; 91 % of all calls were only counted "
		 "[--budget none]\n");
	text_has(&wide, "quality      by 410 ms the budget of 5 % was reached: one call in 64 was "
			"timed, in 1 thread\n"
			"             from 20.0 s on every call was timed again\n");
	text_lacks(&wide, "nothing lost");
	short_text_has("the budget of 5 % was reached: times of calls are estimates, 91 % of them "
		       "were only counted [--full explains]");
}

static void the_text_says_if_the_budget_was_not_kept(void **state)
{
	struct recording *recording = begin_reached();

	recording__put_cost(recording, "hooks_target_ns", 1e12, "ns");
	sample__finish(recording);
	short_text_has("were only counted; the hooks took ");
	short_text_has(" of the target's running time all the same [--full explains]");
}

static void a_cut_has_its_part_of_the_errors(void **state)
{
	struct recording *recording = begin_reached();

	sample__finish(recording);
	text_has(&first_slice, "within ±30.0 ms: 100 of 6,400 calls were timed");
	text_has(&first_slice, "getppid ±1.0 %; 98 % of all calls");
	text_lacks(&first_slice, "every call was timed again");
	/* Half of the slice has half of the calls and of the variance: 30 ms / √2. */
	text_has(&half_of_it, "within ±21.2 ms: 50 of 3,200 calls were timed");
}

static void a_cut_after_all_of_it_says_nothing(void **state)
{
	const struct report_options last = BETWEEN(21, 30);
	struct recording *recording = begin_reached();
	json_t *json;

	sample__finish(recording);
	text_lacks(&last, "budget");
	text_has(&last, "nothing lost");
	json = report(last);
	assert_null(json_object_get(json, "budget_ppm"));
	assert_null(json_object_get(json, "budget_steps"));
	json_decref(json);
}

static void a_cut_has_the_step_that_was_in_force_at_its_beginning(void **state)
{
	const struct report_options later = BETWEEN(15, 19);
	struct recording *recording = begin_reached();

	sample__finish(recording);
	text_has(&later, "by 410 ms the budget of 5 % was reached");
	text_lacks(&later, "every call was timed again");
}

/* Numbers of calls are not kept by thread. */
static void chosen_threads_have_their_errors_without_counts(void **state)
{
	struct recording *recording = begin_reached();
	json_t *json;

	add_estimate(recording, 2, -1, 1, 0, 70e6);
	sample__finish(recording);
	text_has(&one_thread,
		 "run.user are right within ±50.0 ms: not every call was timed (budget 5 %)");
	text_lacks(&one_thread, "only counted");
	json = report(one_thread);
	assert_true(json_is_null(json_object_get(json, "untimed_calls")));
	json_decref(json);
	text_has(&wide, "within ±86.0 ms"); /* √(50² + 70²) */
}

static void outside_threads_are_in_no_sum(void **state)
{
	struct recording *recording = begin_reached();

	sample__thread(recording, 3, 1, "helper", RECORDING_THREAD_OUTSIDE);
	sample__account(recording, 3, SAMPLE_RUN_KERNEL, 1, 3, 30 * SECOND, 1);
	add_estimate(recording, 3, -1, 1, 0, 900e6);
	sample__finish(recording);
	text_has(&wide, "within ±50.0 ms");
}

static void a_budget_that_was_never_reached_is_not_mentioned(void **state)
{
	struct recording *recording = begin_with(50000);
	char *with, *without;

	sample__finish(recording);
	with = print(&wide);
	sample__remove(path);
	path = sample__path();
	recording = begin_with(-1);
	sample__finish(recording);
	without = print(&wide);
	/* Only the path differs. */
	assert_string_equal(strstr(with, "in short"), strstr(without, "in short"));
	free(with);
	free(without);
}

static void an_older_recording_is_read(void **state)
{
	struct recording *recording = begin_reached();
	sqlite3 *db = NULL;
	json_t *json;

	sample__finish(recording);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "DROP VIEW estimates; DROP VIEW syscalls; DROP TABLE estimate;"
			     " DROP TABLE budget_step;"
			     " DELETE FROM meta WHERE key = 'budget_ppm'",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	text_lacks(&wide, "budget");
	text_lacks(&first_slice, "budget");
	text_lacks(&one_thread, "budget");
	json = report((struct report_options) {});
	assert_int_equal(
		number_at(entry(json_object_get(json, "syscalls"), "name", "getppid"), "count"),
		12800);
	json_decref(json);
}

static void every_kind_of_step_has_its_sentence(void **state)
{
	struct recording *recording = begin_with(12500);

	add_step(recording, 500, "calls", 8, 3);
	add_step(recording, 1500, "stacks", 4, 0);
	add_step(recording, 2500, "files", 0, 0);
	add_step(recording, 3500, "files", 1, 0);
	add_step(recording, 4500, "stacks", 1, 0);
	add_step(recording, 5500, "calls", 1, 0);
	sample__finish(recording);
	text_has(&wide,
		 "quality      by 500 ms the budget of 1.25 % was reached: at least one call "
		 "in 8 was timed, in 3 threads\n"
		 "             at 1.50 s at most one stack in 4 was taken\n"
		 "             at 2.50 s the signal files was stopped\n"
		 "             from 3.50 s on the signal files was on again\n"
		 "             from 4.50 s on as many stacks as usual were taken again\n"
		 "             from 5.50 s on every call was timed again\n");
	short_text_has("; the budget of 1.25 % was reached: fewer stacks were taken, the signal "
		       "files was stopped [--full explains]");
}

static void of_many_steps_six_are_printed_and_a_thousand_are_kept(void **state)
{
	struct recording *recording = begin_with(50000);
	struct report_options seven = { .width = 1000, .top = 7 };
	json_t *json;

	for (int i = 0; i < 1500; i++)
		add_step(recording, i + 1, "calls", i % 2 ? 1 : 64, 1);
	sample__finish(recording);
	text_has(&wide, "by 5.00 ms the budget of 5 % was reached");
	text_has(&wide, "from 6.00 ms on every call was timed again\n"
			"             … 1,494 more steps of the budget [--top]\n");
	text_lacks(&wide, "by 7.00 ms");
	text_has(&seven, "by 7.00 ms the budget of 5 % was reached");
	json = report((struct report_options) {});
	assert_int_equal(number_at(json, "budget_step_count"), 1500);
	assert_int_equal(json_array_size(json_object_get(json, "budget_steps")),
			 ESTIMATED_MOST_STEPS);
	json_decref(json);
}

static void steps_have_all_their_numbers_in_json(void **state)
{
	struct recording *recording = begin_reached();
	json_t *json, *step;

	sample__finish(recording);
	json = report((struct report_options) {});
	assert_int_equal(json_array_size(json_object_get(json, "budget_steps")), 2);
	step = json_array_get(json_object_get(json, "budget_steps"), 0);
	assert_int_equal(number_at(step, "at_ns"), 410 * MS);
	assert_string_equal(json_string_value(json_object_get(step, "what")), "calls");
	assert_int_equal(number_at(step, "value"), 64);
	assert_int_equal(number_at(step, "threads"), 1);
	json_decref(json);
}

static void of_a_call_that_was_never_drawn_no_error_is_known(void **state)
{
	struct recording *recording = begin_reached();
	json_t *json, *call;

	add_calls(recording, 12, "brk", 1, 2, 0);
	add_estimate(recording, 0, 12, 1, 2, 0);
	sample__finish(recording);
	text_has(&wide, "times are estimated: getppid ±0.8 %, brk not known; ");
	json = report((struct report_options) {});
	call = entry(json_object_get(json, "syscalls"), "name", "brk");
	assert_int_equal(number_at(call, "untimed"), 2);
	assert_true(json_is_null(json_object_get(call, "error_ns")));
	json_decref(json);
}

/* Three timed calls stand for 192: enough for p50, not for p90. */
static void percentiles_need_calls_that_were_timed(void **state)
{
	struct recording *recording = begin_with(50000);
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	json_t *json, *call;

	add_calls(recording, 110, "getppid", 1, 192, MS);
	add_bucket(recording, 110, 1, 192);
	add_estimate(recording, 0, 110, 1, 189, 1e5);
	sample__finish(recording);
	json = report((struct report_options) {});
	call = entry(json_object_get(json, "syscalls"), "name", "getppid");
	assert_true(number_at(call, "p50_ns") > 900);
	assert_int_equal(number_at(call, "p90_ns"), -1);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT p50_ns, p90_ns, untimed FROM syscalls", -1,
					    &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(row, 0), number_at(call, "p50_ns"));
	assert_int_equal(sqlite3_column_type(row, 1), SQLITE_NULL);
	assert_int_equal(sqlite3_column_int64(row, 2), 189);
	sqlite3_finalize(row);
	sqlite3_close(db);
	json_decref(json);
}

static void the_view_has_the_errors_of_the_report(void **state)
{
	struct recording *recording = begin_reached();
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	sample__finish(recording);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT syscall, tid, untimed, round(error_ns)"
					    " FROM estimates ORDER BY thread",
					    -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "getppid");
	assert_int_equal(sqlite3_column_int64(row, 2), 12600);
	assert_int_equal(sqlite3_column_int64(row, 3), 50 * MS);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_null(sqlite3_column_text(row, 0));
	assert_int_equal(sqlite3_column_int64(row, 1), 1001);
	assert_int_equal(sqlite3_column_int64(row, 3), 50 * MS);
	assert_int_equal(sqlite3_step(row), SQLITE_DONE);
	sqlite3_finalize(row);
	sqlite3_close(db);
}

static void events_of_calls_are_said_to_lack_those_that_were_only_counted(void **state)
{
	struct recording *recording = begin_reached();
	const struct recording_signal signal = {
		.id = 1, .name = "syscalls", .about = "calls", .events = "calls", .role = "calls"
	};

	assert_int_equal(recording__add_signal(recording, &signal), 0);
	sample__finish(recording);
	text_has(&wide, "only counted: these 12,600 did not leave the CPU, and none is among the "
			"slow events [--budget none]");
}

static void the_page_has_a_line_of_quality(void **state)
{
	struct recording *recording = begin_reached();
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	sample__finish(recording);
	assert_int_equal(html__write_data(path, &(struct model_options) {}, NULL, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "\"budget_steps\""));
	assert_non_null(
		strstr(text, "the budget of 5 % was reached: times of calls are estimates"));
	free(text);
}

static void hostile_numbers_are_bounded(void **state)
{
	static const char *const changes[] = {
		"UPDATE estimate SET variance = 9e999, untimed = 4000000000000000000"
		" WHERE slice_to = 1",
		"UPDATE estimate SET variance = -1, untimed = -5",
		"UPDATE estimate SET variance = 'x', untimed = x'00'",
		"UPDATE estimate SET slice_from = 77, slice_to = 78 + number + thread + slice_to",
		"UPDATE estimate SET thread = 99",
		"UPDATE budget_step SET time_ns = -9223372036854775807, value = -1, threads = -1",
		"UPDATE budget_step SET time_ns = 9223372036854775807, value = 9223372036854775807",
		"UPDATE budget_step SET what = NULL, value = NULL, threads = 'many'",
		"UPDATE meta SET value = -9223372036854775807 WHERE key = 'budget_ppm'",
		"UPDATE syscall_slice SET count = 4000000000000000000 WHERE number = 110"
		" AND slice_to = 1",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct recording *recording = begin_reached();
		sqlite3 *db = NULL;
		char *text;

		sample__finish(recording);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		text = print(&wide);
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "-1 "));
		free(text);
		free(print(&first_slice));
		json_decref(report((struct report_options) {}));
		sample__remove(path);
		path = sample__path();
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(errors_are_two_standard_errors),
		TEST(the_text_says_how_good_estimates_are),
		TEST(the_text_says_if_the_budget_was_not_kept),
		TEST(a_cut_has_its_part_of_the_errors),
		TEST(a_cut_after_all_of_it_says_nothing),
		TEST(a_cut_has_the_step_that_was_in_force_at_its_beginning),
		TEST(chosen_threads_have_their_errors_without_counts),
		TEST(outside_threads_are_in_no_sum),
		TEST(a_budget_that_was_never_reached_is_not_mentioned),
		TEST(an_older_recording_is_read),
		TEST(every_kind_of_step_has_its_sentence),
		TEST(of_many_steps_six_are_printed_and_a_thousand_are_kept),
		TEST(steps_have_all_their_numbers_in_json),
		TEST(of_a_call_that_was_never_drawn_no_error_is_known),
		TEST(percentiles_need_calls_that_were_timed),
		TEST(the_view_has_the_errors_of_the_report),
		TEST(events_of_calls_are_said_to_lack_those_that_were_only_counted),
		TEST(the_page_has_a_line_of_quality),
		TEST(hostile_numbers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
