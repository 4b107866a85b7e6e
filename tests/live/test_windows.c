/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows: requests and calls of known numbers, on every kernel. */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "windows_checks.h"

static char path[64];

#define SERVER "c.kind = 'server' AND c.protocol = 'http'"
#define CLIENT "c.kind = 'client' AND c.protocol = 'http'"

/* --- requests -------------------------------------------------------------------------------- */

static const char *requests(void)
{
	return is_emulated() ? "100" : "1000";
}

static int64_t quality_of(const char *counter)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT value FROM quality WHERE name = '%s'", counter);
	return trial__ask(path, sql);
}

/* Each connection asks for as many; both sides are recorded. */
static void count_requests(const char *family, const char *connections, const char *depth)
{
	int64_t count, depth_number = strtol(depth, NULL, 10);
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"),
			 WORKLOAD("counted", family, connections, requests(), depth), &log);
	count = number_at(log_phase(log, "counted", NULL), "count");
	assert_int_equal(count, strtol(requests(), NULL, 10) * strtol(connections, NULL, 10));
	assert_windows(path, "n", SERVER, count, count);
	/* What a client sends at once is one window. */
	assert_windows(path, "count", CLIENT, count / depth_number, count / depth_number);
	assert_windows(path, "n", "c.protocol <> 'http'", 0, 0);
	assert_int_equal(quality_of("windows_open"), 0);
	/* The port is not known to be served until its first request is read. */
	assert_in_range(quality_of("windows_late_ready"), 0, strtol(connections, NULL, 10));
	assert_windows_add_up(path);
	json_decref(log);
	trial__remove(path);
}

static void requests_over_tcp_are_counted_on_both_sides(void **state)
{
	count_requests("tcp", "4", "1");
}

static void requests_over_a_unix_socket_are_counted_on_both_sides(void **state)
{
	count_requests("unix", "4", "1");
}

static void pipelined_requests_are_counted_each(void **state)
{
	count_requests("tcp", "2", "4");
}

static int64_t next_count(struct workload *workload)
{
	char line[256];
	json_t *object;
	int64_t count;

	assert_non_null(fgets(line, sizeof(line), workload->log));
	object = json_loads(line, 0, NULL);
	assert_non_null(object);
	count = number_at(object, "count");
	json_decref(object);
	return count;
}

static void a_recording_may_begin_in_the_middle_of_requests(void **state)
{
	struct workload workload = workload__start(WORKLOAD("counted", "ongoing"));
	struct trial trial;
	int64_t before, all;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("--level", "full", "-p", pid));
	workload__go(&workload);
	before = next_count(&workload);
	all = next_count(&workload);
	assert_true(all > before);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	print_message("# %" PRId64 " requests, %" PRId64 " of them before\n", all, before);
	assert_windows(trial.path, "n", SERVER, all - before, all);
	assert_windows(trial.path, "n", CLIENT, all - before - 4, all + 4);
	assert_windows(trial.path, "n", "c.protocol <> 'http'", 0, 0);
	assert_windows_add_up(trial.path);
	trial__remove(trial.path);
	workload__go(&workload);
	json_decref(workload__end(&workload));
}

/* --- calls ----------------------------------------------------------------------------------- */

static void record_calls(const char *const *command)
{
	const char *args[32] = { "record",   "--no-report", "--no-stacks", "--signals", "none",
				 "--budget", "none",        "--force",     "-o",        path };
	static const char *const windows[] = { "handles", "recurses", "jumps",
					       "sleeps",  "ends",     "replaces" };
	struct output output;
	size_t count = 10;

	trial__path(path, sizeof(path));
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		args[count++] = "--window";
		args[count++] = windows[i];
	}
	args[count++] = "--";
	for (size_t i = 0; command[i]; i++)
		args[count++] = command[i];
	output = live__run(NULL, args);
	if (output.status)
		fail_msg("status %d: %s", output.status, output.err);
	live__release(&output);
}

static void assert_calls(const char *function, int64_t count)
{
	char where[64];

	snprintf(where, sizeof(where), "c.kind = 'call' AND c.service LIKE '%%:%s'", function);
	assert_windows(path, "count", where, count, count);
}

static void calls_are_counted_exactly(void **state)
{
	record_calls(is_emulated() ? WORKLOAD("called", "many", "20000")
				   : WORKLOAD("called", "many", "1000000"));
	assert_calls("handles", is_emulated() ? 20000 : 1000000);
	assert_int_equal(quality_of("windows_calls_open"), 0);
	assert_windows_add_up(path);
	trial__remove(path);
}

/* Deeper ones are counted as lost. */
static void each_call_of_a_recursion_is_a_window_down_to_depth_32(void **state)
{
	record_calls(WORKLOAD("called", "deep"));
	assert_calls("recurses", 20 * 32);
	assert_int_equal(quality_of("windows_lost"), 10 * 8);
	assert_int_equal(quality_of("windows_calls_open"), 0);
	/* That some were lost does not matter to the others. */
	assert_int_equal(trial__ask(path, "SELECT count(*) FROM window w WHERE w.has_details AND "
					  "w.end_ns - w.ready_ns <> ifnull((SELECT sum(p.ns) FROM "
					  "window_part p WHERE p.window = w.id), 0)"),
			 0);
	trial__remove(path);
}

static void calls_that_do_not_return_are_counted_as_open(void **state)
{
	record_calls(WORKLOAD("called", "left"));
	assert_calls("sleeps", 20 + 20);
	assert_calls("handles", 10);
	assert_calls("jumps", 0);
	assert_calls("ends", 0);
	assert_calls("replaces", 0);
	assert_int_equal(quality_of("windows_calls_open"), 20 * 4 + 20 + 1);
	assert_true(windows__state_ns(path, "c.service LIKE '%:sleeps'", "s.cause = 'sleep'") >=
		    40 * MS);
	assert_windows_add_up(path);
	trial__remove(path);
}

static void a_call_under_way_at_the_end_is_counted_as_open(void **state)
{
	struct workload workload = workload__start(WORKLOAD("called", "cut"));
	const char *program = workload__path("called");
	char pid[16], spec[300];
	struct trial trial;

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	snprintf(spec, sizeof(spec), "%s:sleeps", program);
	trial = trial__start(ARGS("--force", "--window", spec, "-p", pid));
	workload__go(&workload);
	usleep(is_emulated() ? 500000 : 300000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	strcpy(path, trial.path);
	assert_calls("sleeps", 10);
	assert_int_equal(quality_of("windows_calls_open"), 1);
	assert_windows_add_up(path);
	trial__remove(path);
}

/* A probe at the return of what an exception passes would end the program. */
static void a_function_that_an_exception_passes_has_no_windows(void **state)
{
	const char *program = workload__path("throws");
	struct output output;

	if (access(program, X_OK))
		skip();
	trial__path(path, sizeof(path));
	output = live__gapless("record", "--no-report", "--no-stacks", "--signals", "none",
			       "--force", "--window", "shop::passes", "-o", path, "--", program);
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "100 5050"));
	assert_non_null(strstr(output.err, "--force-returns"));
	live__release(&output);
	assert_windows(path, "count", "c.kind = 'call'", 0, 0);
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_over_tcp_are_counted_on_both_sides),
		cmocka_unit_test(requests_over_a_unix_socket_are_counted_on_both_sides),
		cmocka_unit_test(pipelined_requests_are_counted_each),
		cmocka_unit_test(a_recording_may_begin_in_the_middle_of_requests),
		cmocka_unit_test(calls_are_counted_exactly),
		cmocka_unit_test(each_call_of_a_recursion_is_a_window_down_to_depth_32),
		cmocka_unit_test(calls_that_do_not_return_are_counted_as_open),
		cmocka_unit_test(a_call_under_way_at_the_end_is_counted_as_open),
		HERE(a_function_that_an_exception_passes_has_no_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
