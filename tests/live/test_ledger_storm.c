/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stat storm: a server that looks for its plugins anew at every request, and its cure. */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "ledger.h"

#define REQUESTS     "300"
#define RATE         "200"
#define STATS        127
#define FIRST_LINES  30           /* one screen */
#define STAT_SYSCALL "newfstatat" /* what glibc's stat() calls */

struct storm {
	json_t *report;
	json_t *log;
	char *text; /* the report as a person sees it */
};

static struct storm record_storm(const char *const *argv)
{
	struct workload workload = workload__start(argv);
	struct storm storm;
	struct output output;
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid));
	workload__go(&workload);
	storm.log = workload__end(&workload);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	storm.report = trial__report(trial.path);
	output = live__gapless("report", trial.path);
	assert_int_equal(output.status, 0);
	storm.text = output.out;
	free(output.err);
	trial__remove(trial.path);
	return storm;
}

static void release_storm(struct storm *storm)
{
	json_decref(storm->report);
	json_decref(storm->log);
	free(storm->text);
}

/* In which line, counted from 1, a word first stands; 0 if in none. */
static int line_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	int line = 1;

	if (!at)
		return 0;
	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

static void the_storm_is_counted_and_stands_at_the_top(void **state)
{
	struct storm storm = record_storm(WORKLOAD("stormer", REQUESTS, RATE));
	json_t *stat = syscall_named(storm.report, STAT_SYSCALL);
	int64_t requests = number_at(log_phase(storm.log, "requests", "stormer"), "count");
	json_t *first = json_array_get(json_object_get(storm.report, "syscalls"), 0);
	int line = line_of(storm.text, STAT_SYSCALL);

	assert_non_null(stat);
	assert_non_null(strstr(storm.text, "in short"));
	assert_int_equal(number_at(stat, "count"), requests * STATS);
	assert_int_equal(number_at(stat, "errors"), requests * (STATS - 1));
	assert_ptr_equal(first, stat);
	print_message("# '%s' stands in line %d\n", STAT_SYSCALL, line);
	assert_in_range(line, 1, FIRST_LINES);
	assert_non_null(strstr(
		text_at(json_array_get(json_object_get(storm.report, "findings"), 0), "text"),
		"in the system call " STAT_SYSCALL));
	assert_closes(storm.report);
	assert_explained(storm.report);
	release_storm(&storm);
}

static void after_the_fix_it_is_gone(void **state)
{
	struct storm storm = record_storm(WORKLOAD("stormer", "--fixed", REQUESTS, RATE));

	assert_null(syscall_named(storm.report, STAT_SYSCALL));
	assert_null(strstr(storm.text, STAT_SYSCALL));
	assert_closes(storm.report);
	release_storm(&storm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_storm_is_counted_and_stands_at_the_top),
		cmocka_unit_test(after_the_fix_it_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
