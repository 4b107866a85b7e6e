/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a report says of processes with a runtime, and of functions of runtimes. */
#include "mixed.h"
#include "reported.h"

static const struct report_options wide = { .width = 200 };

/* Three processes with one thread each, which runs for 30 s. */
static struct recording *begin(void)
{
	struct recording *recording = sample__begin(path);

	for (int64_t i = 1; i <= 3; i++) {
		sample__process(recording, i, "app");
		sample__thread(recording, i, i, "app", 0);
		sample__account(recording, i, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	}
	return recording;
}

static void set_runtime(struct recording *recording, int64_t process, const char *version,
			const char *state)
{
	assert_int_equal(recording__set_runtime(recording, process, "python", version, state), 0);
}

static void a_version_that_is_not_known_is_said(void **state)
{
	struct recording *recording = begin();
	json_t *json, *list;

	set_runtime(recording, 1, "3.16", "unknown version");
	set_runtime(recording, 2, "3.12", "known");
	set_runtime(recording, 3, "3.16", "unknown version");
	sample__finish(recording);
	text_has(&wide, "\nCPython 3.16 is not known: 2 processes have no Python frames\n");
	text_lacks(&wide, "3.12");
	json = report(wide);
	list = json_object_get(json, "runtimes");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "text")),
			    "CPython 3.16 is not known: 2 processes have no Python frames");
	assert_true(json_is_null(json_object_get(json_array_get(list, 0), "text")));
	assert_int_equal(number_at(json_array_get(list, 1), "processes"), 2);
	json_decref(json);
}

static void one_process_that_could_not_be_read_is_said(void **state)
{
	struct recording *recording = begin();

	set_runtime(recording, 3, NULL, "unreadable");
	set_runtime(recording, 4, NULL, "unreadable"); /* not a process of the target */
	sample__finish(recording);
	text_has(&wide, "\nCPython could not be read: 1 process has no Python frames\n");
}

static void threads_can_be_grouped_by_runtime(void **state)
{
	struct report_options options = { .width = 200, .model.by = MODEL_BY_RUNTIME };
	struct recording *recording = begin();
	json_t *json, *row;

	set_runtime(recording, 2, "3.12", "known");
	set_runtime(recording, 3, "3.12", "unreadable");
	sample__finish(recording);
	json = report(options);
	assert_int_equal(json_array_size(json_object_get(json, "by")), 2);
	row = json_array_get(json_object_get(json, "by"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "CPython 3.12");
	assert_int_equal(number_at(row, "threads"), 2);
	row = json_array_get(json_object_get(json, "by"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "(no runtime)");
	assert_int_equal(number_at(row, "threads_ns"), 30 * SECOND);
	json_decref(json);
}

/* As before the columns were added. */
static void an_older_recording_has_no_runtimes(void **state)
{
	struct recording *recording = begin();
	sqlite3 *db = NULL;
	json_t *json;

	sample__finish(recording);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "ALTER TABLE process DROP COLUMN runtime;"
				      "ALTER TABLE process DROP COLUMN runtime_version;"
				      "ALTER TABLE process DROP COLUMN runtime_state;",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	json = report((struct report_options) { .model.by = MODEL_BY_RUNTIME });
	assert_null(json_object_get(json, "runtimes"));
	assert_int_equal(json_array_size(json_object_get(json, "by")), 1);
	json_decref(json);
}

/* --- functions of a runtime ------------------------------------------------------------------ */

static int64_t hot_ns(json_t *json, const char *name, const char *key)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(json, "hot"), i, one) {
		const char *function = json_string_value(json_object_get(one, "function"));

		if (function && !strcmp(function, name))
			return number_at(one, key);
	}
	return -1;
}

static void what_an_interpreter_does_for_a_function_is_time_of_that_function(void **state)
{
	struct recording *recording = begin_python(path);
	json_t *json;

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, 4, 30); /* in the loop itself */
	add_samples(recording, SAMPLE_RUN_USER, 5, 20); /* long_add() */
	add_samples(recording, SAMPLE_RUN_USER, 6, 10); /* malloc() in long_add() */
	add_samples(recording, SAMPLE_RUN_USER, 8, 5);  /* object_call() of numpy */
	add_samples(recording, SAMPLE_RUN_USER, 2, 5);  /* no Python function is there */
	sample__finish(recording);
	json = report(wide);
	assert_int_equal(hot_ns(json, "burn", "self_run_ns"), 500 * MS);
	assert_int_equal(hot_ns(json, "burn", "total_run_ns"), 650 * MS);
	assert_int_equal(hot_ns(json, "long_add", "self_run_ns"), 0);
	assert_int_equal(hot_ns(json, "long_add", "total_run_ns"), 300 * MS);
	assert_int_equal(hot_ns(json, "malloc", "self_run_ns"), 100 * MS);
	assert_int_equal(hot_ns(json, "object_call", "self_run_ns"), 50 * MS);
	assert_int_equal(hot_ns(json, "_PyEval_EvalFrameDefault", "self_run_ns"), 50 * MS);
	json_decref(json);
}

static void the_first_sentence_names_the_function_with_file_and_line(void **state)
{
	struct recording *recording = begin_python(path);

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, 4, 60);
	add_samples(recording, SAMPLE_RUN_USER, 5, 30);
	add_samples(recording, SAMPLE_RUN_USER, 3, 10);
	sample__finish(recording);
	text_has(&wide, "90 % of that under main (web.py:30) → burn (web.py:12).");
	text_has(&wide, "from main → burn (");
	text_has(&wide, "  web.py:12\n");
}

static void a_wait_names_the_function_that_waits(void **state)
{
	struct recording *recording = begin_python(path);

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 10 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_LOCK, 1, 3, 20 * SECOND, 2000);
	assert_int_equal(
		recording__add_wait(recording, &(struct recording_wait) { .thread = 1,
									  .state = SAMPLE_LOCK,
									  .evidence = "none",
									  .ended = "",
									  .ns = 20 * SECOND,
									  .count = 2000 }),
		0);
	add_samples(recording, SAMPLE_RUN_USER, 4, 100);
	add_samples(recording, SAMPLE_LOCK, 10, 2000);
	sample__finish(recording);
	text_has(&wide, "for Python's GIL, in burn (web.py:12)");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_version_that_is_not_known_is_said),
		TEST(one_process_that_could_not_be_read_is_said),
		TEST(threads_can_be_grouped_by_runtime),
		TEST(an_older_recording_has_no_runtimes),
		TEST(what_an_interpreter_does_for_a_function_is_time_of_that_function),
		TEST(the_first_sentence_names_the_function_with_file_and_line),
		TEST(a_wait_names_the_function_that_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
