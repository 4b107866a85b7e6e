/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signal counters, with the kernel's own counters, which every machine has: page faults and
 * switches of workloads/faulter.c, against what its threads count themselves.
 */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

#define PAGES 2000

static char path[64];
static json_t *logged;

static int record(void **state)
{
	char pages[16];

	snprintf(pages, sizeof(pages), "%d", PAGES);
	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "counters"), WORKLOAD("faulter", pages), &logged);
	return 0;
}

static int clear(void **state)
{
	json_decref(logged);
	trial__remove(path);
	return 0;
}

static int64_t ask(const char *of, const char *what, const char *comm, const char *measure,
		   const char *operation)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select (select coalesce(sum(%s), 0) from signal_sums where signal = 'counters' "
		 "and comm = '%s' and measure = '%s' and operation like '%s') as answer",
		 what, comm, measure, operation);
	return trial__query(of, sql);
}

/* Behind its last look at its own count, a thread writes it down and ends. */
static void assert_at_least(int64_t is, int64_t own, int64_t more)
{
	if (is < own || is > own + more)
		fail_msg("%ld, and %ld by the thread's own count", (long)is, (long)own);
}

static void page_faults_are_those_of_getrusage(void **state)
{
	static const char *const names[] = { "toucher", "reader" };

	for (int i = 0; i < 2; i++) {
		int64_t own = number_at(log_phase(logged, names[i], NULL), "faults");

		assert_true(own >= PAGES);
		assert_at_least(ask(path, "sum", names[i], "page_faults", "%"), own, 10);
	}
}

static void faults_of_the_kernel_are_told_from_those_of_the_program(void **state)
{
	assert_at_least(ask(path, "sum", "toucher", "page_faults", "user"), PAGES, 50);
	assert_at_least(ask(path, "sum", "reader", "page_faults", "kernel"), PAGES, 50);
}

static void the_count_of_kernel_mode_is_that_of_switches(void **state)
{
	static const char *const names[] = { "toucher", "reader" };

	for (int i = 0; i < 2; i++) {
		int64_t own = number_at(log_phase(logged, names[i], NULL), "switches");

		assert_at_least(ask(path, "count", names[i], "page_faults", "kernel"), own + 1,
				is_emulated() ? 50 : 8);
	}
}

static void nothing_is_lost(void **state)
{
	assert_int_equal(trial__query(path, "select (select coalesce(sum(value), 0) from quality "
					    "where name like 'counters%') as answer"),
			 0);
}

/* Runs all the time, so nobody but gapless makes it leave its CPU. */
static void a_thread_that_never_sleeps_is_counted_at_the_end(void **state)
{
	struct workload workload = workload__start(WORKLOAD("spinners", "10", "1"));
	struct trial trial;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("--signals", "counters", "--no-stacks", "-p", pid));
	usleep(300000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	assert_true(trial__query(trial.path,
				 "select (select coalesce(sum(count), 0) from signal_sums where "
				 "signal = 'counters' and operation = 'kernel') as answer") > 0);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_faults_are_those_of_getrusage),
		cmocka_unit_test(faults_of_the_kernel_are_told_from_those_of_the_program),
		cmocka_unit_test(the_count_of_kernel_mode_is_that_of_switches),
		cmocka_unit_test(nothing_is_lost),
		HERE(a_thread_that_never_sleeps_is_counted_at_the_end),
	};

	return cmocka_run_group_tests(tests, record, clear);
}
