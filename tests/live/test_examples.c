/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The examples: each has its cause among the findings, and has not when it is cured. */
#include "../harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters.h"

#define SECONDS "2"
#define PAGES   1000 /* in that time */
#define STATS   127
/* The dynamic linker and the C library call it too: in vain if there is no cache of libraries. */
#define OTHERS 40

/* From its begin to its end, with stacks; ret_log is what it prints about itself. */
static json_t *record_example(const char *const *argv, char **ret_log)
{
	const char *args[16] = { "record", "--no-report", "-F", "997", "-o" };
	struct output output;
	char path[64];
	size_t count = 5;
	json_t *report;

	trial__path(path, sizeof(path));
	args[count++] = path;
	args[count++] = "--";
	while (*argv)
		args[count++] = *argv++;
	output = live__run(NULL, args);
	if (output.status)
		fail_msg("gapless record: %d, %s", output.status, output.err);
	report = trial__report(path);
	trial__remove(path);
	*ret_log = output.out;
	free(output.err);
	return report;
}

/* The first sentence with this word; NULL if there is none. */
static const char *finding_with(json_t *report, const char *word)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "findings"), i, finding) {
		const char *text = json_string_value(json_object_get(finding, "text"));

		if (strstr(text, word))
			return text;
	}
	return NULL;
}

static void assert_says(const char *text, const char *words)
{
	if (!text || !strstr(text, words))
		fail_msg("no '%s' in: %s", words, text ? text : "(no such finding)");
}

/* The service's own figures: after how long it answered, and what it took itself. */
static void read_timers(const char *log, double *ret_answered, double *ret_own)
{
	const char *after = strstr(log, "after "), *took = strstr(log, "took ");

	if (!after || !took)
		fail_msg("no timers in: %s", log);
	*ret_answered = strtod(after + 6, NULL);
	*ret_own = strtod(took + 5, NULL);
	assert_true(*ret_own > 0 && *ret_answered > *ret_own);
}

static void assert_counted(json_t *stat, int64_t times)
{
	int64_t count = number_at(stat, "count") - times * STATS;
	int64_t errors = number_at(stat, "errors") - times * (STATS - 1);

	assert_in_range(count, 0, OTHERS);
	assert_in_range(errors, 0, OTHERS);
}

static void the_stat_storm_is_named_with_its_caller(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("pages", SECONDS), &log);
	json_t *stat = syscall_named(report, "newfstatat");
	const char *finding = finding_with(report, "newfstatat");
	double answered, own;

	read_timers(log, &answered, &own);
	assert_non_null(stat);
	/* Once for each page, and once when it starts. */
	assert_counted(stat, PAGES + 1);
	assert_ptr_equal(json_array_get(json_object_get(report, "syscalls"), 0), stat);
	assert_says(finding, "in the system call newfstatat");
	assert_says(finding, "99 % of them fail with ENOENT");
	assert_says(finding, "find_part");
	json_decref(report);
	free(log);
}

static void the_cured_one_looks_once(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("pages", "--cured", SECONDS), &log);
	json_t *stat = syscall_named(report, "newfstatat");

	assert_non_null(stat);
	assert_counted(stat, 1);
	assert_null(finding_with(report, "newfstatat"));
	json_decref(report);
	free(log);
}

static void the_lock_convoy_is_named_with_its_holders(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("orders", SECONDS), &log);
	const char *finding = finding_with(report, "log_lock in orders");
	json_t *wait = wait_of(report, "worker-1", "lock");
	double answered, own;

	read_timers(log, &answered, &own);
	assert_says(finding, "threads worker-* of orders waited");
	assert_says(finding, "another of them");
	assert_says(finding, "in write_audit_log");
	assert_int_equal(strncmp(culprit_of(wait), "worker-", 7), 0);
	/* They wait longer for the lock than for what the one who has it waits for. */
	assert_true(sum_ns(report, NULL, "wait", "lock") > sum_ns(report, NULL, "wait", "net"));
	assert_closes(report);
	json_decref(report);
	free(log);
}

static void the_cured_one_has_no_lock(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("orders", "--cured", SECONDS), &log);

	assert_null(finding_with(report, "log_lock"));
	assert_int_equal(sum_count(report, "worker-1", "wait", "lock"), 0);
	json_decref(report);
	free(log);
}

static void fresh_pages_are_named_with_who_touches_them(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("thumbs", SECONDS), &log);
	const char *finding = finding_with(report, "in page faults");

	assert_non_null(strstr(log, "made after"));
	assert_says(finding, "make_thumb → decode");
	assert_says(finding, "0 of them major");
	json_decref(report);
	free(log);
}

static void the_cured_one_has_no_faults(void **state)
{
	char *log;
	json_t *report = record_example(WORKLOAD("thumbs", "--cured", SECONDS), &log);

	assert_null(finding_with(report, "in page faults"));
	json_decref(report);
	free(log);
}

/* Its clients ask for less time than it runs. */
static json_t *record_shop(const char *option)
{
	const char *python = interpreters__path("GAPLESS_TEST_PYTHON", "/usr/bin/python3");
	struct workload clients = workload__start(ARGS(python, workload__path("ask.py"), "2"));
	char *log;
	json_t *report = record_example(ARGS(python, workload__path("shop.py"), "3", option), &log);

	workload__kill(&clients);
	free(log);
	return report;
}

static void the_gil_is_named_with_the_function_that_keeps_it(void **state)
{
	json_t *report = record_shop(NULL);

	assert_says(finding_with(report, "for the GIL"), "make_list (shop.py:");
	json_decref(report);
}

static void a_call_in_c_keeps_it_too(void **state)
{
	json_t *report = record_shop("--compact");

	assert_says(finding_with(report, "for the GIL"), "make_list (shop.py:");
	json_decref(report);
}

static void the_cured_one_does_not_wait_for_the_gil(void **state)
{
	json_t *report = record_shop("--cured");

	assert_null(finding_with(report, "for the GIL"));
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(the_stat_storm_is_named_with_its_caller),
		HERE(the_cured_one_looks_once),
		HERE(the_lock_convoy_is_named_with_its_holders),
		HERE(the_cured_one_has_no_lock),
		HERE(fresh_pages_are_named_with_who_touches_them),
		HERE(the_cured_one_has_no_faults),
		HERE(the_gil_is_named_with_the_function_that_keeps_it),
		HERE(a_call_in_c_keeps_it_too),
		HERE(the_cured_one_does_not_wait_for_the_gil),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
