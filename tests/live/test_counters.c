/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signal counters, with the kernel's own counters, which every machine has: page faults and
 * switches of workloads/faulter.c, against what its threads count themselves.
 */
#include "../harness.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

#define PAGES 2000

static char path[64];
static json_t *logged, *sampled_log;
static char sampled[64]; /* a recording with stacks at events; "": none yet */

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
	json_decref(sampled_log);
	trial__remove(path);
	if (*sampled)
		trial__remove(sampled);
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

/* One recording with stacks at events; -F: in VMs too. */
static void record_sampled(void)
{
	char pages[16];

	if (*sampled)
		return;
	snprintf(pages, sizeof(pages), "%d", PAGES);
	trial__path(sampled, sizeof(sampled));
	trial__record_at(sampled,
			 ARGS("-F", "99", "--signals", "none", "--sample-on", "page-faults",
			      "--sample-on", "context-switches", "--sample-on", "minor-faults/10",
			      "--sample-on", "syscalls:sys_enter_read/10"),
			 WORKLOAD("faulter", pages), &sampled_log);
}

static int64_t ask_sampled(const char *what, const char *event, const char *comm)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select (select coalesce(sum(%s), 0) from signal_sample s join thread_named t on "
		 "t.id = s.thread where s.signal = 'counters' and s.operation = '%s' and t.comm = "
		 "'%s') as answer",
		 what, event, comm);
	return trial__query(sampled, sql);
}

/* Within five standard errors; one false alarm in two million. `more`: after its last look. */
static void assert_stands_for(const char *event, const char *comm, int64_t own, int64_t more)
{
	int64_t is = ask_sampled("s.count", event, comm);
	double error = 5 * sqrt((double)ask_sampled("s.count * (s.count - 1)", event, comm));

	if ((double)is < (double)own - error || (double)is > (double)(own + more) + error)
		fail_msg("%s of %s: %ld, not %ld ± %.0f", event, comm, (long)is, (long)own, error);
}

static void stacks_at_page_faults_stand_for_all_of_them(void **state)
{
	record_sampled();
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = { "toucher", "reader" };

		assert_stands_for("page-faults/1", names[i],
				  number_at(log_phase(sampled_log, names[i], NULL), "faults"), 10);
	}
}

static void stacks_at_every_tenth_fault_stand_for_all_of_them(void **state)
{
	record_sampled();
	assert_stands_for("minor-faults/10", "toucher",
			  number_at(log_phase(sampled_log, "toucher", NULL), "faults"), 10);
	assert_true(ask_sampled("1", "minor-faults/10", "toucher") >= PAGES / 20);
}

static void each_switch_has_a_stack(void **state)
{
	record_sampled();
	assert_stands_for("context-switches/1", "toucher",
			  number_at(log_phase(sampled_log, "toucher", NULL), "switches"),
			  is_emulated() ? 50 : 12);
}

/* Of each CPU, up to nine events have no stack. */
static void stacks_at_a_tracepoint_stand_for_its_events(void **state)
{
	int64_t is;

	record_sampled();
	is = ask_sampled("s.count", "syscalls:sys_enter_read/10", "reader");
	if (is < PAGES - 10 * 9 || is > PAGES + 10 * 9)
		fail_msg("%ld reads, not %d", (long)is, PAGES);
}

static void the_report_has_the_functions_of_these_stacks(void **state)
{
	json_t *report, *signal, *stack, *name;
	int64_t touched = 0, all = 0;
	size_t i, j, k;

	record_sampled();
	report = trial__report(sampled);
	json_array_foreach (json_object_get(report, "signals"), i, signal)
		json_array_foreach (json_object_get(signal, "sampled"), j, stack) {
			if (strcmp(text_at(stack, "event"), "page-faults/1") != 0)
				continue;
			all += number_at(stack, "count");
			json_array_foreach (json_object_get(stack, "functions"), k, name)
				if (!strcmp(json_string_value(name), "touch"))
					touched += number_at(stack, "count");
		}
	json_decref(report);
	/* It has about half of all faults. */
	if (touched < all / 4 || touched > all * 3 / 4 || all < PAGES)
		fail_msg("touch() has %ld of %ld", (long)touched, (long)all);
}

static void what_cannot_be_sampled_on_is_refused(void **state)
{
	static const char *const bad[] = { "nonsense", "page-faults/0", "page-faults/",
					   "/5",       "sched:",        "a:b:c" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct output output = live__gapless("record", "--sample-on", bad[i], "--", "true");

		if (output.status != 2 || !strstr(output.err, "GROUP:NAME, page-faults"))
			fail_msg("%s: status %d, %s", bad[i], output.status, output.err);
		live__release(&output);
	}
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
		cmocka_unit_test(stacks_at_page_faults_stand_for_all_of_them),
		cmocka_unit_test(stacks_at_every_tenth_fault_stand_for_all_of_them),
		cmocka_unit_test(each_switch_has_a_stack),
		cmocka_unit_test(stacks_at_a_tracepoint_stand_for_its_events),
		HERE(the_report_has_the_functions_of_these_stacks),
		HERE(what_cannot_be_sampled_on_is_refused),
		HERE(a_thread_that_never_sleeps_is_counted_at_the_end),
	};

	return cmocka_run_group_tests(tests, record, clear);
}
