/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a wait ended: the event, a timeout, a signal, or not within the recording. */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"

/*
 * Not the wait of a thread for its move to another CPU, nor for the lock in pthread_kill(), which
 * protects threads that exit.
 */
#define IN_CALL                                                                                    \
	" AND (cause IN ('poll', 'sleep', 'pipe') OR cause = 'lock' AND waiter_comm LIKE"          \
	" 'timeout-%%' OR cause = 'lock' AND waiter_comm LIKE 'blocked-%%') "

static int64_t waits_of(const char *path, const char *waiter, const char *ended)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(count), 0) AS count FROM waits WHERE waiter_comm LIKE '%s'"
		 " AND ended %s" IN_CALL,
		 waiter, ended);
	return trial__query(path, sql);
}

/* A thread that loses its CPU on the way to sleep may not have to wait. */
#define LEAST 180
#define COUNT 200

static void assert_outcomes(const char *path, const char *timeout)
{
	static const char *const names[] = { "timeout-poll", "timeout-futex", "timeout-sleep" };
	static const char *const signals[] = { "signal-sleep", "signal-read", "alarmed" };
	static const char *const events[] = { "event-read", "event-poll" };

	for (size_t i = 0; i < 3; i++)
		assert_in_range(waits_of(path, names[i], timeout), LEAST, COUNT);
	for (size_t i = 0; i < 3; i++)
		assert_in_range(waits_of(path, signals[i], "= 'signal'"), LEAST, COUNT);
	for (size_t i = 0; i < 2; i++)
		assert_in_range(waits_of(path, events[i], "= 'event'"), LEAST / 2, COUNT);
	/* If the waking was not seen, it is not known how the wait ended. */
	assert_int_equal(waits_of(path, "timeout-%", "IN ('event', 'signal', 'open')"), 0);
	assert_int_equal(waits_of(path, "signal-%", "IN ('event', 'timeout', 'open')"), 0);
	assert_int_equal(waits_of(path, "alarmed", "IN ('event', 'timeout', 'open')"), 0);
	assert_int_equal(waits_of(path, "event-%", "IN ('timeout', 'signal', 'open')"), 0);
}

static void waits_end_by_events_timeouts_and_signals(void **state)
{
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"), WORKLOAD("outcomes", "200"), &log);
	assert_outcomes(path, "= 'timeout'");
	/* Samples say the same as the sums. */
	assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM samples WHERE state ="
					    " 'wait' AND (comm LIKE 'timeout-%' AND cause IN"
					    " ('poll', 'lock', 'sleep') AND ended <> 'timeout' OR"
					    " comm LIKE 'event-%' AND cause IN ('poll', 'pipe')"
					    " AND ended <> 'event')"),
			 0);
	if (!is_emulated()) /* no stacks there */
		assert_true(
			trial__query(path,
				     "SELECT count(*) AS count FROM samples WHERE state = 'wait'"
				     " AND ended = 'timeout'") > 0);
	trial__remove(path);
	json_decref(log);
}

static int64_t calls_of(const char *path, const char *comm, const char *call, const char *what)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(c.%s), 0) AS count FROM syscall_thread c JOIN thread_named t"
		 " ON t.id = c.thread JOIN syscall y USING(number) WHERE t.comm = '%s'"
		 " AND y.name LIKE '%s'",
		 what, comm, call);
	return trial__query(path, sql);
}

/* Every thread of this workload lives long enough. */
static void calls_of_threads_add_up_to_all_calls(void **state)
{
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"), WORKLOAD("outcomes", "200"), &log);
	assert_int_equal(calls_of(path, "timeout-poll", "%poll", "count"), COUNT);
	assert_int_equal(calls_of(path, "timeout-poll", "%poll", "errors"), 0);
	assert_int_equal(calls_of(path, "timeout-sleep", "clock_nanosleep", "count"), COUNT);
	assert_int_equal(calls_of(path, "timeout-futex", "futex", "errors"), COUNT);
	assert_int_equal(calls_of(path, "signal-read", "read", "errors"), COUNT);
	assert_true(calls_of(path, "timeout-sleep", "clock_nanosleep", "total_ns") >= COUNT * MS);
	assert_true(calls_of(path, "timeout-sleep", "clock_nanosleep", "run_ns") < COUNT * MS);
	for (const char *const *what = ARGS("count", "errors", "total_ns", "run_ns"); *what;
	     what++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "SELECT (SELECT sum(%s) FROM syscall_slice) - (SELECT sum(%s) FROM"
			 " syscall_thread) AS count",
			 *what, *what);
		assert_int_equal(trial__query(path, sql), 0);
	}
	trial__remove(path);
	json_decref(log);
}

/* Without return values, it is not known whether a timer was the wait's own. */
static void without_return_values_a_timeout_is_not_known(void **state)
{
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "sched"), WORKLOAD("outcomes", "200"), &log);
	assert_outcomes(path, "= ''");
	trial__remove(path);
	json_decref(log);
}

static void a_wait_that_outlasts_the_recording_is_open(void **state)
{
	struct workload workload = workload__start(WORKLOAD("blocked"));
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid));
	usleep(300000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	assert_int_equal(waits_of(trial.path, "blocked-pipe", "= 'open'"), 1);
	assert_int_equal(waits_of(trial.path, "blocked-futex", "= 'open'"), 1);
	assert_int_equal(waits_of(trial.path, "blocked-%", "<> 'open'"), 0);
	assert_int_equal(trial__query(trial.path, "SELECT count(*) AS count FROM samples WHERE"
						  " state = 'wait' AND ended <> 'open' AND comm IN"
						  " ('blocked-pipe', 'blocked-futex')"),
			 0);
	assert_int_equal(trial__query(trial.path,
				      "SELECT count(*) AS count FROM samples WHERE ended = 'open'"
				      " AND comm IN ('blocked-pipe', 'blocked-futex')"),
			 is_emulated() ? 0 : 2);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_end_by_events_timeouts_and_signals),
		cmocka_unit_test(calls_of_threads_add_up_to_all_calls),
		cmocka_unit_test(without_return_values_a_timeout_is_not_known),
		cmocka_unit_test(a_wait_that_outlasts_the_recording_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
