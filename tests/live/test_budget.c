/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget: what stays exact when most calls are only counted, and what is an estimate. */
#include "../harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

/* Of what the workload "frequent" does. */
#define TURNS 100000
#define NAPS  20
/* The least calls that are timed, see LEDGER_MOST_SHIFT. */
#define MOST_WEIGHT 64

static int64_t calls_of(const char *path, const char *name, const char *column)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "SELECT %s AS count FROM syscalls WHERE name = '%s'", column,
		 name);
	return trial__query(path, sql);
}

/* What the workload itself counted. */
static int64_t own_count(json_t *log)
{
	json_t *line;
	size_t i;

	json_array_foreach (log, i, line)
		if (json_object_get(line, "calls"))
			return number_at(line, "calls");
	fail_msg("the workload logged no calls");
	return 0;
}

static void assert_counts_are_exact(const char *path, json_t *log)
{
	assert_int_equal(calls_of(path, "getppid", "count"), own_count(log));
	assert_int_equal(calls_of(path, "close", "errors"), TURNS);
	assert_int_equal(trial__query(path, "SELECT count FROM syscall_errors"
					    " WHERE name = 'read' AND errno = 11"),
			 TURNS);
	assert_int_equal(trial__query(path, "SELECT sum(count) AS count FROM syscall_thread"
					    " JOIN syscall USING(number) WHERE name = 'getppid'"),
			 own_count(log));
	/* The signal has the same counts and times as the ledger. */
	assert_int_equal(
		trial__query(path,
			     "WITH s AS (SELECT operation, sum(count) AS count, sum(sum) AS ns"
			     " FROM signal_sums WHERE signal = 'syscalls' AND measure = 'time'"
			     " GROUP BY operation) SELECT count(*) AS count FROM syscalls l"
			     " LEFT JOIN s ON s.operation = l.name"
			     " WHERE s.count IS NOT l.count OR s.ns IS NOT l.total_ns"),
		0);
}

/* The weights of the timed calls estimate a count that is known. Wrong once in a million times. */
static void assert_weights_are_unbiased(const char *path, const char *name)
{
	char sql[160];
	int64_t count = calls_of(path, name, "count"), estimate;
	double slack = 5 * sqrt((double)count * (MOST_WEIGHT - 1));

	snprintf(sql, sizeof(sql),
		 "SELECT sum(count) AS count FROM histograms WHERE of = 'syscall' AND name = '%s'",
		 name);
	estimate = trial__query(path, sql);
	printf("# %s: %" PRId64 " calls, %" PRId64 " by the weights of those that were timed\n",
	       name, count, estimate);
	assert_true(llabs(estimate - count) <= (int64_t)slack);
}

static void counts_and_waits_stay_exact(void **state)
{
	json_t *log, *report;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls", "--budget", "0.01%"),
			 WORKLOAD("frequent"), &log);
	report = trial__report(path);
	assert_closes(report);
	assert_counts_are_exact(path, log);
	assert_true(calls_of(path, "getppid", "untimed") > TURNS);
	for (int i = 0; i < 3; i++)
		assert_weights_are_unbiased(path,
					    (const char *[]) { "getppid", "close", "read" }[i]);
	/* Each nap is a wait of its own, and lasts as long as it was asked to. */
	assert_int_equal(sum_count(report, "burst", "wait", "sleep"), NAPS);
	assert_true(sum_ns(report, "burst", "wait", "sleep") >= NAPS * 10 * MS / 2);
	json_decref(report);
	json_decref(log);
	trial__remove(path);
}

static void steps_are_taken_back_and_written(void **state)
{
	json_t *log;
	char path[64];

	trial__path(path, sizeof(path));
	/* In an emulated machine, hooks cost so much that few calls reach 5 %. */
	trial__record_at(path, ARGS("--signals", "syscalls", "--budget", "20%"),
			 WORKLOAD("frequent"), &log);
	assert_true(trial__query(path, "SELECT max(value) AS value FROM budget_step"
				       " WHERE what = 'calls'") > 1);
	assert_int_equal(trial__query(path, "SELECT value FROM budget_step WHERE what = 'calls'"
					    " ORDER BY time_ns DESC LIMIT 1"),
			 1);
	json_decref(log);
	trial__remove(path);
}

static int64_t time_of_step(const char *path, const char *what, int value)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SELECT min(time_ns) AS time FROM budget_step WHERE what = '%s' AND value = %d",
		 what, value);
	return trial__query(path, sql);
}

static void stacks_thin_out_and_signals_stop_in_that_order(void **state)
{
	json_t *log;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "files", "--budget", "0.01%"),
			 WORKLOAD("frequent", "all"), &log);
	for (int value = 4; value <= 16; value *= 2)
		assert_true(time_of_step(path, "stacks", value / 2) <
			    time_of_step(path, "stacks", value));
	assert_true(time_of_step(path, "stacks", 16) < time_of_step(path, "files", 0));
	/* What was stopped is not in the signal; the ledger has all of it. */
	assert_int_equal(calls_of(path, "getppid", "count"), own_count(log));
	assert_true(trial__query(path,
				 "SELECT sum(count) AS count FROM signal_sums"
				 " WHERE signal = 'files' AND measure = 'time'") < own_count(log));
	json_decref(log);
	trial__remove(path);
}

static void without_a_budget_every_call_is_timed(void **state)
{
	json_t *log;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls", "--budget", "none"),
			 WORKLOAD("frequent"), &log);
	assert_counts_are_exact(path, log);
	assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM estimate"), 0);
	assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM budget_step"), 0);
	assert_int_equal(trial__query(path, "SELECT (SELECT sum(count) FROM histograms"
					    " WHERE of = 'syscall') - (SELECT sum(count)"
					    " FROM syscalls) AS count"),
			 0);
	json_decref(log);
	trial__remove(path);
}

static void few_calls_are_all_timed(void **state)
{
	json_t *log;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls", "--budget", "5%"),
			 WORKLOAD("frequent", "few"), &log);
	assert_int_equal(calls_of(path, "getppid", "count"), own_count(log));
	assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM estimate"), 0);
	json_decref(log);
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_waits_stay_exact),
		cmocka_unit_test(steps_are_taken_back_and_written),
		HERE(stacks_thin_out_and_signals_stop_in_that_order),
		HERE(without_a_budget_every_call_is_timed),
		HERE(few_calls_are_all_timed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
