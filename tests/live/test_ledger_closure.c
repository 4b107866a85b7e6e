/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account closes on every thread of a busy machine, and would show it if it did not. */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>

#include "ledger.h"

/* What keeps the machine busy while everything is recorded. */
static json_t *record_busy_machine(const char *const *args)
{
	const char *const *commands[] = {
		WORKLOAD("phases", "calls", "crowd", "lock", "tcp", "pipe"),
		WORKLOAD("churn", "threads", is_emulated() ? "2000" : "8000", "50"),
		WORKLOAD("churn", "forks", is_emulated() ? "100" : "1000", "500"),
	};
	struct workload workloads[3];
	struct trial trial = trial__start(args);

	for (int i = 0; i < 3; i++)
		workloads[i] = workload__start(commands[i]);
	for (int i = 0; i < 3; i++)
		json_decref(workload__end(&workloads[i]));
	return trial__end(&trial);
}

static void check_cpus(json_t *report)
{
	json_t *cpu = json_object_get(report, "cpu");
	int64_t should_ns = number_at(cpu, "cpus") * number_at(report, "wall_ns");
	int64_t is_ns = number_at(cpu, "run_ns") + number_at(cpu, "idle_ns") +
			quality(report, "hidden_cpu_ns");
	int64_t off_ns = is_ns > should_ns ? is_ns - should_ns : should_ns - is_ns;

	assert_true(should_ns > 0);
	if (off_ns * 1000 > should_ns * (is_emulated() ? 20 : 5))
		fail_msg("the CPUs ran %" PRId64 " and idled %" PRId64 " ns, of %" PRId64,
			 number_at(cpu, "run_ns"), number_at(cpu, "idle_ns"), should_ns);
}

static void check_machine(const char *const *args)
{
	json_t *report = record_busy_machine(args);

	print_message("# unexplained %" PRId64 " of %" PRId64 " ns, repaired %" PRId64 "\n",
		      number_at(report, "unexplained_ns"), number_at(report, "threads_ns"),
		      quality(report, "repaired_wakeups"));
	assert_closes(report);
	assert_explained(report);
	check_cpus(report);
	assert_true(number_at(json_object_get(report, "cost"), "own_cpu_ns") > 0);
	json_decref(report);
}

static void a_busy_machine_closes_at_level_full(void **state)
{
	check_machine(ARGS("-a"));
}

static void a_busy_machine_closes_at_level_sched(void **state)
{
	check_machine(ARGS("-a", "--level", "sched"));
}

/* Law: unexplained time is never zero by construction. */
static void lost_wakeups_are_noticed_and_the_sums_still_hold(void **state)
{
	json_t *report;

	setenv("GAPLESS_TEST_DROP_WAKEUPS", is_emulated() ? "200" : "1000", 1);
	report = record_busy_machine(ARGS("-a"));
	unsetenv("GAPLESS_TEST_DROP_WAKEUPS");
	assert_true(quality(report, "missed_wakeups") > 0);
	assert_true(quality(report, "impossible_transitions") > 0);
	assert_true(number_at(report, "unexplained_ns") > 0);
	assert_closes(report);
	print_message("# unexplained %" PRId64 " of %" PRId64 " ns, missed %" PRId64 "\n",
		      number_at(report, "unexplained_ns"), number_at(report, "threads_ns"),
		      quality(report, "missed_wakeups"));
	json_decref(report);
}

/* The bound that the man page states, for each time that a thread got a CPU. */
#define SWITCH_NS 2000
/* After it has logged them, a thread has to end, for which it may wait for a CPU. */
#define END_NS (30 * MS)

static void check_sums(json_t *report, json_t *log, const char *comm, int64_t most_stolen_ns)
{
	json_t *phase = log_phase(log, "sums", comm);
	int64_t run_ns = sum_ns(report, comm, "run", NULL);
	int64_t ready_ns = sum_ns(report, comm, "ready", NULL);
	int64_t off_ns =
		run_ns + ready_ns - number_at(phase, "run_ns") - number_at(phase, "delay_ns");
	int64_t times = number_at(phase, "times"), slack_ns = SWITCH_NS * times + END_NS;

	print_message("# %s: run %" PRId64
		      " ns a switch below the scheduler's, run and ready %" PRId64 "\n",
		      comm, (number_at(phase, "run_ns") - run_ns) / times, -off_ns / times);
	assert_true(times > 0);
	if (off_ns > slack_ns + most_stolen_ns || -off_ns > slack_ns ||
	    run_ns > number_at(phase, "run_ns") + slack_ns + most_stolen_ns)
		fail_msg("'%s' ran %" PRId64 " and was ready %" PRId64
			 " ns; the scheduler has %" PRId64 " and %" PRId64 ", in %" PRId64
			 " switches; %" PRId64 " ns were stolen",
			 comm, run_ns, ready_ns, number_at(phase, "run_ns"),
			 number_at(phase, "delay_ns"), times, most_stolen_ns);
}

/*
 * Where the scheduler draws the line between the two is another matter: after a wakeup it does not
 * read its clock again, so its running time has the way to the CPU, which is ready time here.
 */
static void running_and_ready_time_together_are_the_scheduler_s(void **state)
{
	int64_t before_ns = stolen_ns();
	json_t *log, *report = trial__record(ARGS("--level", "full"), WORKLOAD("pingpong", "20000"),
					     &log);
	int64_t most_stolen_ns = stolen_since(before_ns);

	check_sums(report, log, "ping", most_stolen_ns);
	check_sums(report, log, "pong", most_stolen_ns);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_machine_closes_at_level_full),
		cmocka_unit_test(a_busy_machine_closes_at_level_sched),
		HERE(running_and_ready_time_together_are_the_scheduler_s),
		cmocka_unit_test(lost_wakeups_are_noticed_and_the_sums_still_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
