/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about programs that run on a runtime name the program's function. */
#include "mixed.h"
#include "reported.h"

static const struct report_options wide = { .width = 400 };

enum { STATE_GIL = 50, STATE_SLEEP };
enum { STACKS = 100 };

static void add_state(struct recording *recording, int id, const char *cause, const char *kind)
{
	assert_int_equal(recording__add_state(
				 recording, &(struct recording_state) { id, "wait", cause, kind }),
			 0);
}

/* Makes a stack of these Python functions below Py_BytesMain(), the outermost first. */
static void add_stack(struct recording *recording, int64_t stack, const char *const (*functions)[2],
		      int count)
{
	int64_t first = stack * 100;
	int err = recording__add_stack(recording, first, 0, F_MAIN);

	for (int i = 0; i < count; i++) {
		int64_t id = first + i + 1;

		err |= recording__add_function(
			recording,
			&(struct recording_function) { id, PYTHON, functions[i][0], NULL,
						       functions[i][1], 10 + i, "runtime" });
		err |= recording__add_frame(recording, id, PYTHON, 16 * id);
		err |= recording__add_line(
			recording, &(struct recording_line) { .frame = id, .function = id });
		err |= recording__add_stack(recording, id, id - 1, id);
	}
	err |= recording__add_stack(recording, first + 99, first + count, F_FUTEX);
	assert_int_equal(err, 0);
}

/* `by`: whoever held what the thread waited for; 0: nobody did. */
static void add_held_wait(struct recording *recording, int64_t thread, int state, int64_t stack,
			  int count, int64_t by)
{
	const char *evidence = by ? "owner" : "none", *ended = by ? "event" : "";
	int err = recording__add_wait(recording, &(struct recording_wait) { .thread = thread,
									    .state = state,
									    .by = by,
									    .evidence = evidence,
									    .ended = ended,
									    .ns = count * 10 * MS,
									    .count = count });

	for (int i = 0; i < count; i++)
		err |= recording__add_sample(
			recording, &(struct recording_sample) { .time_ns = SAMPLE_START_NS +
									   SECOND + i * 20 * MS,
								.thread = thread,
								.state = state,
								.stack = stack,
								.by = by,
								.evidence = evidence,
								.ended = ended,
								.wait_ns = 10 * MS,
								.weight_ns = 10 * MS,
								.period_ns = 10 * MS,
								.count = 1 });
	assert_int_equal(err, 0);
}

static void add_wait(struct recording *recording, int64_t thread, int state, int64_t stack,
		     int count)
{
	sample__account(recording, thread, state, 1, 3, count * 10 * MS, count);
	add_held_wait(recording, thread, state, stack, count, 0);
}

static struct recording *begin(void)
{
	struct recording *recording = begin_python(path);

	add_state(recording, STATE_GIL, "gil", "delaying");
	add_state(recording, STATE_SLEEP, "sleep", "idle");
	return recording;
}

static void waits_for_the_gil_in_any_code_are_one_finding(void **state)
{
	static const char *const parse[][2] = { { "parse", "/srv/web.py" } };
	static const char *const render[][2] = { { "render", "/srv/web.py" } };
	struct recording *recording = begin();

	sample__thread(recording, 2, 1, "app", 0);
	add_stack(recording, STACKS, parse, 1);
	add_stack(recording, STACKS + 1, render, 1);
	add_wait(recording, 1, STATE_GIL, STACKS * 100 + 99, 1200);
	add_wait(recording, 2, STATE_GIL, STACKS * 100 + 199, 800);
	sample__finish(recording);
	text_has(&wide, "(20.0 s of 20.0 s) for the GIL, in parse (web.py:10) (60 % of it)");
}

/* Threads 1 and 4 wait 6 s each for two others of their name, of which 3 has the GIL so long. */
static void add_two_holders(int percent)
{
	static const char *const parse[][2] = { { "parse", "/srv/web.py" } };
	struct recording *recording = begin();

	add_stack(recording, STACKS, parse, 1);
	for (int64_t thread = 2; thread <= 4; thread++)
		sample__thread(recording, thread, 1, "app", 0);
	for (int64_t thread = 2; thread <= 3; thread++)
		sample__account(recording, thread, SAMPLE_RUN_USER, 1, 3, 20 * SECOND, 1);
	for (int64_t thread = 1; thread <= 4; thread += 3) {
		sample__account(recording, thread, STATE_GIL, 1, 3, 6 * SECOND, 600);
		add_held_wait(recording, thread, STATE_GIL, STACKS * 100 + 99, 6 * (100 - percent),
			      2);
		add_held_wait(recording, thread, STATE_GIL, STACKS * 100 + 99, 6 * percent, 3);
	}
	sample__finish(recording);
}

static void of_several_holders_of_one_name_the_one_that_has_it_most_is_named(void **state)
{
	add_two_holders(80);
	text_has(&wide, "held by others of them (80 % of that by tid 1003)");
}

static void of_holders_that_have_it_in_turn_none_is_named(void **state)
{
	add_two_holders(60);
	text_has(&wide, "held by others of them");
	text_lacks(&wide, "of that by tid");
}

static void a_function_of_the_program_comes_before_the_package_that_it_calls(void **state)
{
	static const char *const path_in[][2] = {
		{ "Arbiter.run", "/usr/lib/python3/dist-packages/gunicorn/arbiter.py" },
		{ "full_dispatch_request", "/srv/venv/lib/python3.12/site-packages/flask/app.py" },
		{ "show_stock", "/srv/web.py" },
		{ "Session.request",
		  "/srv/venv/lib/python3.12/site-packages/requests/sessions.py" },
		{ "HTTPResponse.begin", "/usr/lib/python3.12/http/client.py" },
	};
	struct recording *recording = begin();

	add_stack(recording, STACKS, path_in, 5);
	add_wait(recording, 1, STATE_GIL, STACKS * 100 + 99, 1200);
	sample__finish(recording);
	text_has(&wide, "for the GIL, in show_stock (web.py:12)");
}

static void without_one_the_package_is_named(void **state)
{
	static const char *const path_in[][2] = {
		{ "<module>", "/srv/web.py" },
		{ "Session.request",
		  "/srv/venv/lib/python3.12/site-packages/requests/sessions.py" },
		{ "HTTPResponse.begin", "/usr/lib/python3.12/http/client.py" },
	};
	struct recording *recording = begin();

	add_stack(recording, STACKS, path_in, 3);
	add_wait(recording, 1, STATE_GIL, STACKS * 100 + 99, 1200);
	sample__finish(recording);
	text_has(&wide, "for the GIL, in Session.request (sessions.py:11)");
}

static void machine_code_of_pythons_own_library_is_no_place(void **state)
{
	static const char *const path_in[][2] = { { "<module>", "/srv/web.py" } };
	struct recording *recording = begin();
	int err;

	add_stack(recording, STACKS, path_in, 1);
	err = recording__add_module(
		recording, &(struct recording_module) {
				   9, "file", "/usr/lib/python3.11/lib-dynload/select.so", NULL });
	err |= recording__add_function(
		recording,
		&(struct recording_function) { 98, 9, "select_poll_poll", NULL, NULL, 0, NULL });
	err |= recording__add_frame(recording, 98, 9, 64);
	err |= recording__add_line(recording,
				   &(struct recording_line) { .frame = 98, .function = 98 });
	err |= recording__add_stack(recording, STACKS * 100 + 2, STACKS * 100 + 1, 98);
	assert_int_equal(err, 0);
	add_wait(recording, 1, STATE_GIL, STACKS * 100 + 2, 1200);
	sample__finish(recording);
	text_has(&wide, "for the GIL, in <module> (web.py:10)");
}

static void a_sleep_that_an_event_loop_calls_blocks_it(void **state)
{
	static const char *const path_in[][2] = {
		{ "BaseEventLoop._run_once", "/usr/lib/python3.12/asyncio/base_events.py" },
		{ "legacy_lookup", "/srv/web.py" },
	};
	struct recording *recording = begin();

	add_stack(recording, STACKS, path_in, 2);
	add_wait(recording, 1, STATE_SLEEP, STACKS * 100 + 99, 1200);
	sample__finish(recording);
	text_has(&wide, "in legacy_lookup (web.py:11)");
	text_has(&wide, "; its event loop was blocked meanwhile");
}

static void a_sleep_without_a_loop_blocks_none(void **state)
{
	static const char *const path_in[][2] = { { "_run_once", "/srv/web.py" } };
	struct recording *recording = begin();

	add_stack(recording, STACKS, path_in, 1);
	add_wait(recording, 1, STATE_SLEEP, STACKS * 100 + 99, 1200);
	sample__finish(recording);
	text_has(&wide, "in _run_once (web.py:10)");
	text_lacks(&wide, "event loop");
}

static void the_first_line_of_a_program_is_not_named_as_a_caller(void **state)
{
	static const char *const path_in[][2] = { { "<module>", "/srv/web.py" },
						  { "build", "/srv/web.py" } };
	struct recording *recording = begin();

	add_stack(recording, STACKS, path_in, 2);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 20 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, STACKS * 100 + 2, 100);
	sample__finish(recording);
	text_has(&wide, "100 % of that under build (web.py:11)");
	text_lacks(&wide, "under <module>");
}

static void a_thread_of_a_pool_of_java_without_a_task_is_no_finding(void **state)
{
	static const char *const idle[][2] = {
		{ "java.util.concurrent.ThreadPoolExecutor.getTask", "ThreadPoolExecutor.java" },
		{ "java.util.concurrent.LinkedBlockingQueue.take", "LinkedBlockingQueue.java" },
	};
	struct recording *recording = begin();

	add_stack(recording, STACKS, idle, 2);
	add_wait(recording, 1, SAMPLE_LOCK_OPEN, STACKS * 100 + 99, 1200);
	sample__finish(recording);
	text_has(&wide, "of 30.0 s of thread time: waiting for work 40.0 %");
	text_lacks(&wide, "1. ");
}

static void generated_code_without_names_has_a_remedy(void **state)
{
	struct recording *recording = begin();
	int err = recording__add_module(recording,
					&(struct recording_module) { 9, "jit", "[jit 1]", NULL });

	err |= recording__add_frame(recording, 99, 9, 4096);
	err |= recording__add_stack(recording, 99, 0, 99);
	assert_int_equal(err, 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 20 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, 99, 90);
	add_samples(recording, SAMPLE_RUN_USER, 4, 10);
	sample__finish(recording);
	text_has(&wide,
		 "90 % of the running time is in generated code without names [let its runtime "
		 "write a perf map before it starts: DOTNET_PerfMapEnabled=1 for .NET]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_for_the_gil_in_any_code_are_one_finding),
		TEST(of_several_holders_of_one_name_the_one_that_has_it_most_is_named),
		TEST(of_holders_that_have_it_in_turn_none_is_named),
		TEST(a_function_of_the_program_comes_before_the_package_that_it_calls),
		TEST(without_one_the_package_is_named),
		TEST(machine_code_of_pythons_own_library_is_no_place),
		TEST(a_sleep_that_an_event_loop_calls_blocks_it),
		TEST(a_sleep_without_a_loop_blocks_none),
		TEST(the_first_line_of_a_program_is_not_named_as_a_caller),
		TEST(a_thread_of_a_pool_of_java_without_a_task_is_no_finding),
		TEST(generated_code_without_names_has_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
