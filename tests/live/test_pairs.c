/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs whose ends are functions and declared probes: how long the jobs of workloads/pool.c were
 * queued, against its own clock.
 */
#include "../harness.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

#define JOBS    100
#define THREADS 2
#define AGAIN   3
#define NEVER   5

#define BY_FUNCTION "pool_queue -> pool_run by arg1"
#define BY_PROBE    "pool:queued -> pool:started by arg1"
#define MIXED       "pool_run -> syscalls:sys_exit_clock_nanosleep by thread"
#define SAME        "pool_run -> pool_run by thread"

static char path[64];
static json_t *logged;

static int record(void **state)
{
	trial__path(path, sizeof(path));
	trial__record_at(path,
			 ARGS("--signals", "none", "--pair",
			      "function:pool_queue -> function:pool_run by arg1", "--pair",
			      "function:pool_run -> syscalls:sys_exit_clock_nanosleep by thread",
			      "--pair", "function:pool_run -> function:pool_run by thread"
#if defined(__x86_64__)
			      ,
			      "--pair", "usdt:pool:queued -> usdt:pool:started by arg1"
#endif
			      ),
			 WORKLOAD("pool"), &logged);
	return 0;
}

static int clear(void **state)
{
	json_decref(logged);
	trial__remove(path);
	return 0;
}

static int64_t ask(const char *what, const char *operation)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select (select coalesce(sum(%s), 0) from signal_sums where signal = 'events' and "
		 "measure = 'time' and operation = '%s') as answer",
		 what, operation);
	return trial__query(path, sql);
}

/* The program reads its clock just behind the places that are probed. */
static void assert_delay(const char *pair)
{
	int64_t own = number_at(log_phase(logged, "pool", NULL), "delay_ns"), is = ask("sum", pair);

	if (is < own * 98 / 100 || is > own * 102 / 100)
		fail_msg("%s: %ld ns, and %ld by the program's clock", pair, (long)is, (long)own);
}

static void the_queue_of_a_pool_is_timed_by_a_pointer(void **state)
{
	assert_int_equal(ask("count", BY_FUNCTION), JOBS);
	assert_delay(BY_FUNCTION);
}

static void declared_probes_in_registers_and_memory_are_paired(void **state)
{
#if !defined(__x86_64__)
	print_message("# skip: the workload declares no probe on this machine\n");
	skip();
#endif
	assert_int_equal(ask("count", BY_PROBE), JOBS);
	assert_delay(BY_PROBE);
}

static void what_is_queued_twice_or_never_run_is_counted(void **state)
{
	assert_int_equal(ask("count", BY_FUNCTION ": begun again before the end"), AGAIN);
	assert_int_equal(ask("count", BY_FUNCTION ": no end until the recording ended"), NEVER);
	assert_int_equal(ask("count", BY_FUNCTION ": end without a begin"), 0);
}

static void a_function_and_a_tracepoint_are_a_pair(void **state)
{
	assert_int_equal(ask("count", MIXED), JOBS);
	assert_true(ask("sum", MIXED) >= JOBS * (int64_t)MS);
}

static void a_function_ends_one_pair_and_begins_the_next(void **state)
{
	int64_t count = ask("count", SAME);

	/* Perhaps one thread ran all jobs. */
	assert_in_range(count, JOBS - THREADS, JOBS - 1);
	assert_int_equal(ask("count", SAME ": no end until the recording ended"), JOBS - count);
	assert_int_equal(ask("count", SAME ": end without a begin"), JOBS - count);
	assert_int_equal(ask("count", SAME ": begun again before the end"), 0);
}

static void nothing_is_lost(void **state)
{
	assert_int_equal(trial__query(path, "select (select coalesce(sum(value), 0) from quality "
					    "where name like 'events%') as answer"),
			 0);
}

static void assert_refused(const char *pair, int status, const char *why)
{
	struct output output = live__gapless("record", "--force", "-o", "/tmp/never.gapless",
					     "--pair", pair, "--", workload__path("pool"));

	if (output.status != status || !strstr(output.err, why))
		fail_msg("%s: status %d, %s", pair, output.status, output.err);
	live__release(&output);
}

static void what_cannot_be_paired_is_refused(void **state)
{
	assert_refused("function:pool_queue -> function:nosuch by arg1", 1, "has no such function");
	assert_refused("usdt:pool:bought -> usdt:pool:started by arg1", 1, "has no such probe");
#if defined(__x86_64__)
	assert_refused("usdt:pool:queued -> usdt:pool:started by arg2", 1,
		       "argument 2 is not known");
#endif
	assert_refused("function:pool_queue -> function:pool_run by job", 2, "arg1 to arg6");
	assert_refused("function:a:b:c -> function:pool_run by arg1", 2, "not a function");
}

static void a_pair_that_costs_too_much_is_left_out_as_a_whole(void **state)
{
	struct workload workload = workload__start(WORKLOAD("functions", "spin"));
	struct output output;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", workload.pid);
	output = live__gapless("record", "--force", "-o", path, "--no-stacks", "--signals", "none",
			       "--no-report", "--pair",
			       "function:counted -> function:recurses by arg1", "-p", pid, "-d",
			       "200ms");
	workload__kill(&workload);
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.err, "'counted' is called"));
	live__release(&output);
	assert_int_equal(
		trial__query(path, "SELECT value FROM quality WHERE name = 'events_missing'"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_queue_of_a_pool_is_timed_by_a_pointer),
		cmocka_unit_test(declared_probes_in_registers_and_memory_are_paired),
		cmocka_unit_test(what_is_queued_twice_or_never_run_is_counted),
		cmocka_unit_test(a_function_and_a_tracepoint_are_a_pair),
		cmocka_unit_test(a_function_ends_one_pair_and_begins_the_next),
		cmocka_unit_test(nothing_is_lost),
		HERE(what_cannot_be_paired_is_refused),
		/* The last one: it overwrites the recording. */
		HERE(a_pair_that_costs_too_much_is_left_out_as_a_whole),
	};

	return cmocka_run_group_tests(tests, record, clear);
}
