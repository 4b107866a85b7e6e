/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Births, deaths and changes of identity: what tools that look now and then do not see. */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

static void no_thread_is_too_short_to_be_seen(void **state)
{
	json_t *log,
		*report = trial__record(
			ARGS("--level", "full"),
			WORKLOAD("churn", "threads", is_emulated() ? "3000" : "20000", "50"), &log);
	json_t *phase = log_phase(log, "threads", "churn-main");

	assert_int_equal(threads_named(report, "churn-thread"), number_at(phase, "count"));
	assert_int_equal(sum_count(report, "churn-thread", "wait", "sleep"),
			 number_at(phase, "waits"));
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	json_decref(log);
}

static void no_process_is_too_short_to_be_seen(void **state)
{
	json_t *log,
		*report = trial__record(
			ARGS("--level", "full"),
			WORKLOAD("churn", "forks", is_emulated() ? "100" : "1000", "1000"), &log);

	assert_int_equal(threads_named(report, "churn-child"),
			 number_at(log_phase(log, "forks", "churn-main"), "count"));
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	json_decref(log);
}

static void a_thread_that_executes_a_program_takes_its_account_along(void **state)
{
	json_t *log, *report = trial__record(ARGS("--level", "full"), WORKLOAD("execer"), &log);
	json_t *before = log_phase(log, "before", "exec-thread");
	json_t *after = log_phase(log, "after", "exec-after");
	json_t *thread = thread_named(report, "exec-after");

	assert_int_equal(number_at(thread, "tid"), number_at(after, "tid"));
	assert_int_equal(number_at(thread, "pid"), number_at(after, "tid"));
	assert_int_equal(threads_named(report, "exec-thread"), 0);
	assert_int_equal(sum_count(report, "exec-after", "wait", "sleep"),
			 number_at(before, "waits") + number_at(after, "waits"));
	assert_waited(report, "exec-after", "sleep",
		      number_at(before, "blocked_ns") + number_at(after, "blocked_ns"));
	/* The leader, whose id was taken over, ended there. */
	assert_int_not_equal(number_at(thread_named(report, "exec-leader"), "id"),
			     number_at(thread, "id"));
	assert_true(sum_ns(report, "exec-leader", NULL, NULL) <
		    number_at(after, "begin_ns") - number_at(before, "begin_ns") + 500 * MS);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	json_decref(log);
}

/* Freeing a large memory is done after sched_process_exit, by the thread that ended. */
static void the_end_of_a_large_process_is_its_own_time(void **state)
{
	struct trial trial = trial__start(ARGS("--comm", "bigexit"));
	struct workload workload =
		workload__start(WORKLOAD("bigexit", is_emulated() ? "512" : "1024"));
	json_t *log, *report;
	int64_t exit_ns;

	log = workload__end(&workload);
	exit_ns = now_ns() - number_at(log_phase(log, "exit", NULL), "begin_ns");
	report = trial__end(&trial);
	assert_closes(report);
	print_message("# its end took %" PRId64 " ns; run.kernel %" PRId64 "\n", exit_ns,
		      sum_ns(report, "bigexit", "run", "kernel"));
	assert_true(sum_ns(report, "bigexit", "run", "kernel") +
			    sum_ns(report, "bigexit", "ready", NULL) +
			    sum_ns(report, "bigexit", "wait", NULL) >
		    exit_ns / 2);
	json_decref(report);
	json_decref(log);
}

static void two_processes_with_one_pid_stay_two(void **state)
{
	char path[64], sql[128];
	struct output output;
	json_t *first, *report;

	trial__path(path, sizeof(path));
	output = live__gapless("record", "--no-report", "-o", path, "--", workload__path("reuse"));
	assert_int_equal(output.status, 0);
	if (strstr(output.out, "skip")) {
		print_message("# skip: clone3() cannot choose a pid here\n");
		skip();
	}
	live__release(&output);
	report = trial__report(path);
	first = thread_named(report, "reuse-first");
	assert_int_equal(number_at(first, "pid"),
			 number_at(thread_named(report, "reuse-second"), "pid"));
	snprintf(sql, sizeof(sql), "SELECT count(DISTINCT id) FROM process WHERE pid = %" PRId64,
		 number_at(first, "pid"));
	assert_int_equal(trial__query(path, sql), 2);
	assert_int_equal(sum_count(report, "reuse-first", "wait", "sleep"), 1);
	assert_int_equal(sum_count(report, "reuse-second", "wait", "sleep"), 1);
	assert_closes(report);
	trial__remove(path);
	json_decref(report);
}

static int start_blocked(void **state)
{
	static struct workload workload;

	workload = workload__start(WORKLOAD("blocked"));
	workload__await_ready(&workload);
	*state = &workload;
	return 0;
}

/* The one wait that it has is one in the account and one among the waits. */
static void assert_counts_agree(json_t *report, const char *comm, const char *cause)
{
	int64_t count = 0;
	json_t *wait;
	size_t i;

	json_array_foreach (json_object_get(report, "waits"), i, wait)
		if (!strcmp(json_string_value(
				    json_object_get(json_object_get(wait, "waiter"), "comm")),
			    comm) &&
		    !strcmp(json_string_value(json_object_get(wait, "cause")), cause))
			count += number_at(wait, "count");
	assert_int_equal(count, 1);
	assert_int_equal(sum_count(report, comm, "wait", cause), 1);
}

static void a_thread_that_never_moves_is_accounted_all_the_time(void **state)
{
	struct workload *workload = *state;
	char pid[16];
	struct trial trial;
	json_t *report;
	int64_t wall_ns;

	snprintf(pid, sizeof(pid), "%d", workload->pid);
	trial = trial__start(ARGS("-p", pid));
	usleep(500000);
	report = trial__end(&trial);
	workload__kill(workload);
	wall_ns = number_at(report, "wall_ns");
	/* From the recording's first nanosecond to its last. */
	assert_int_equal(sum_ns(report, "blocked-pipe", "wait", "pipe"), wall_ns);
	assert_int_equal(sum_ns(report, "blocked-futex", "wait", "lock"), wall_ns);
	assert_counts_agree(report, "blocked-pipe", "pipe");
	assert_counts_agree(report, "blocked-futex", "lock");
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

static void death_in_the_middle_of_a_call_ends_the_account_there(void **state)
{
	struct workload *workload = *state;
	int64_t begin_ns, life_ns;
	struct trial trial;
	json_t *report;
	char pid[16], own[16];

	snprintf(pid, sizeof(pid), "%d", workload->pid);
	/* Without somebody else to record, the recording would end with it. */
	snprintf(own, sizeof(own), "%d", getpid());
	trial = trial__start(ARGS("-p", pid, "-p", own));
	begin_ns = now_ns();
	usleep(300000);
	life_ns = now_ns() - begin_ns;
	workload__kill(workload);
	usleep(500000);
	report = trial__end(&trial);
	/* Its account began before we heard of it, and ended before we slept. */
	assert_true(sum_ns(report, "blocked-pipe", "wait", "pipe") >= life_ns);
	assert_true(sum_ns(report, "blocked-pipe", NULL, NULL) <
		    number_at(report, "wall_ns") - 500 * MS);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_thread_is_too_short_to_be_seen),
		cmocka_unit_test(no_process_is_too_short_to_be_seen),
		cmocka_unit_test(a_thread_that_executes_a_program_takes_its_account_along),
		cmocka_unit_test(the_end_of_a_large_process_is_its_own_time),
		cmocka_unit_test(two_processes_with_one_pid_stay_two),
		cmocka_unit_test_setup(a_thread_that_never_moves_is_accounted_all_the_time,
				       start_blocked),
		cmocka_unit_test_setup(death_in_the_middle_of_a_call_ends_the_account_there,
				       start_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
