/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signal events: what workloads/pointed.c does, counted at tracepoints to the last one. */
#include "../harness.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

static char path[64];
static json_t *logged;

static int calls(void)
{
	return is_emulated() ? 1000 : 100000;
}

/* One recording serves most tests. */
static int record(void **state)
{
	char count[16];

	snprintf(count, sizeof(count), "%d", calls());
	trial__path(path, sizeof(path));
	trial__record_at(
		path,
		ARGS("--signals", "none", "--event", "syscalls:sys_enter_getppid", "--event",
		     "syscalls:sys_enter_getpgid,key=pid", "--event",
		     "syscalls:sys_exit_readv,value=ret", "--event",
		     "sched:sched_process_exec,key=filename", "--event", "sched:sched_switch",
		     "--event", "sched:sched_switch,key=prev_comm", "--pair",
		     "syscalls:sys_enter_nanosleep -> syscalls:sys_exit_nanosleep by thread",
		     "--pair", "syscalls:sys_enter_getpgid -> syscalls:sys_enter_getsid by pid",
		     "--pair", "syscalls:sys_enter_readv -> syscalls:sys_enter_getsid by thread"),
		WORKLOAD("pointed", count), &logged);
	return 0;
}

static int clear(void **state)
{
	json_decref(logged);
	trial__remove(path);
	return 0;
}

/* `what`: of the view signal_sums; one measure, so that events count once. */
__attribute__((format(printf, 2, 3))) static int64_t ask(const char *what, const char *format, ...)
{
	char where[512], sql[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(where, sizeof(where), format, args);
	va_end(args);
	snprintf(sql, sizeof(sql),
		 "select (select coalesce(sum(%s), 0) from signal_sums where signal = 'events' and "
		 "%s) as answer",
		 what, where);
	return trial__query(path, sql);
}

#define COUNT_OF(...) ask("count", "measure = 'time' and " __VA_ARGS__)

static void every_call_is_counted(void **state)
{
	assert_int_equal(COUNT_OF("operation = 'syscalls:sys_enter_getppid'"), calls());
}

static void a_number_as_key_divides_the_count(void **state)
{
	for (int i = 1; i <= 4; i++)
		assert_int_equal(COUNT_OF("operation = 'syscalls:sys_enter_getpgid by pid' and "
					  "object = 'pid=%d'",
					  1000000 + i),
				 10 * i);
	assert_int_equal(COUNT_OF("operation = 'syscalls:sys_enter_getpgid by pid'"), 100 + 56);
}

static void a_text_as_key_divides_the_count(void **state)
{
	assert_int_equal(COUNT_OF("object = 'filename=/proc/self/exe'"), 5);
	assert_int_equal(COUNT_OF("operation = 'sched:sched_process_exec by filename'"), 6);
}

static void values_are_summed_up_and_negative_ones_apart(void **state)
{
	const char *readv = "operation = 'syscalls:sys_exit_readv ret'";

	assert_int_equal(ask("sum", "measure = 'value' and place = '' and %s", readv), 50 * 100);
	assert_int_equal(ask("max", "measure = 'value' and place = '' and %s", readv), 100);
	assert_int_equal(COUNT_OF("place = 'negative' and %s", readv), 7);
	/* EBADF is 9. */
	assert_int_equal(ask("sum", "measure = 'value' and place = 'negative' and %s", readv),
			 7 * 9);
}

/* Behind its last look at its own count, a thread is switched away from to end. */
static void switches_are_those_that_the_kernel_counts(void **state)
{
	json_t *phase = log_phase(logged, "sleeper", NULL);
	int64_t own = number_at(phase, "switches");
	int64_t is = COUNT_OF("operation = 'sched:sched_switch' and comm = 'sleeper'");

	if (is < own + 1 || is > own + (is_emulated() ? 20 : 5))
		fail_msg("%ld switches, and %ld by the thread's own count", (long)is, (long)own);
	assert_true(COUNT_OF("object = 'prev_comm=sleeper' and comm = 'sleeper'") >= own);
}

static void a_pair_by_thread_has_the_time_between(void **state)
{
	const char *naps = "operation = 'syscalls:sys_enter_nanosleep -> "
			   "syscalls:sys_exit_nanosleep by thread'";
	int64_t ns;

	assert_int_equal(COUNT_OF("%s", naps), 20);
	ns = ask("sum", "measure = 'time' and %s", naps);
	assert_true(ns >= 20 * 5 * MS);
	if (!is_emulated())
		assert_true(ns < 20 * 50 * MS);
}

static void a_pair_by_a_field_may_end_in_another_thread(void **state)
{
	const char *pair = "'syscalls:sys_enter_getpgid -> syscalls:sys_enter_getsid by pid";

	assert_int_equal(COUNT_OF("operation = %s'", pair), 50);
	assert_int_equal(COUNT_OF("operation = %s' and comm = 'pointed'", pair), 50);
	assert_true(ask("sum", "measure = 'time' and operation = %s'", pair) >= 50 * 20 * MS);
}

/* The begins of the first part have no end: 99 of 100 are begun again. */
static void what_is_not_paired_is_counted(void **state)
{
	const char *pair = "'syscalls:sys_enter_getpgid -> syscalls:sys_enter_getsid by pid";
	const char *other = "'syscalls:sys_enter_readv -> syscalls:sys_enter_getsid by thread";

	assert_int_equal(COUNT_OF("operation = %s: begun again before the end'", pair),
			 100 - 4 + 1);
	assert_int_equal(COUNT_OF("operation = %s: no end until the recording ended'", pair),
			 4 + 5);
	assert_int_equal(COUNT_OF("operation = %s: end without a begin'", pair), 0);
	assert_int_equal(COUNT_OF("operation = %s: end without a begin'", other), 53);
	assert_int_equal(COUNT_OF("operation = %s: begun again before the end'", other), 56);
	assert_int_equal(COUNT_OF("operation = %s: no end until the recording ended'", other), 1);
}

static void nothing_is_lost(void **state)
{
	assert_int_equal(trial__query(path, "select (select coalesce(sum(value), 0) from quality "
					    "where name like 'events%' and name not like "
					    "'%recursion_misses') as answer"),
			 0);
}

static void assert_says(struct output output, int status, const char *words)
{
	assert_int_equal(output.status, status);
	if (!strstr(output.err, words))
		fail_msg("'%s' is not in: %s", words, output.err);
	live__release(&output);
}

static void what_cannot_be_attached_to_is_refused(void **state)
{
	assert_says(live__gapless("record", "--event", "sched:sched_swich", "--", "true"), 1,
		    "did you mean 'sched:sched_switch'?");
	assert_says(live__gapless("record", "--event", "sched", "--", "true"), 2, "GROUP:NAME");
	assert_says(live__gapless("record", "--signals", "events", "--", "true"), 2, "--event");
	assert_says(live__gapless("watch", "exec", "--event", "sched:sched_switch"), 2, "'events'");
}

/* Once more with the options that the first recording had. */
static void a_recording_gives_its_events_to_the_next(void **state)
{
	char next[64];
	json_t *log;

	trial__path(next, sizeof(next));
	trial__record_at(next, ARGS("--like", path), WORKLOAD("pointed", "10"), &log);
	json_decref(log);
	assert_int_equal(trial__query(next, "select sum(count) as answer from signal_sums where "
					    "measure = 'time' and operation = "
					    "'syscalls:sys_enter_getppid'"),
			 10);
	trial__remove(next);
}

static void watch_shows_single_events(void **state)
{
	struct output output = live__gapless("watch", "events", "--every", "-n", "3", "-d", "20s",
					     "--event", "sched:sched_switch,key=prev_comm");

	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "prev_comm="));
	live__release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_is_counted),
		cmocka_unit_test(a_number_as_key_divides_the_count),
		cmocka_unit_test(a_text_as_key_divides_the_count),
		cmocka_unit_test(values_are_summed_up_and_negative_ones_apart),
		cmocka_unit_test(switches_are_those_that_the_kernel_counts),
		cmocka_unit_test(a_pair_by_thread_has_the_time_between),
		cmocka_unit_test(a_pair_by_a_field_may_end_in_another_thread),
		cmocka_unit_test(what_is_not_paired_is_counted),
		cmocka_unit_test(nothing_is_lost),
		HERE(what_cannot_be_attached_to_is_refused),
		HERE(a_recording_gives_its_events_to_the_next),
		HERE(watch_shows_single_events),
	};

	return cmocka_run_group_tests(tests, record, clear);
}
