/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a thread was when a signal killed its process. */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>

#include "ledger.h"

/* Records a crash; its status as in struct output. */
static int record_crash(char *path, size_t size, const char *level, const char *kind)
{
	struct output output;
	int status;

	trial__path(path, size);
	output = live__gapless("record", "--no-report", "--signals", "none", "--level", level,
			       "--stacks", "-o", path, "--", workload__path("crashes"), kind);
	status = output.status;
	live__release(&output);
	return status;
}

static int64_t rows(const char *path)
{
	return trial__query(path, "SELECT count(*) AS count FROM fatal");
}

/* Rows of this signal in the thread "crasher" whose stack has this function. */
static int64_t rows_in(const char *path, int signal, const char *function)
{
	char sql[768];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE s(stack, frame) AS (SELECT k.parent, k.frame FROM fatal f"
		 " JOIN thread_named t ON t.id = f.thread JOIN stack k ON k.id = f.stack"
		 " WHERE f.signal = %d AND t.comm = 'crasher' UNION ALL"
		 " SELECT k.parent, k.frame FROM s JOIN stack k ON k.id = s.stack)"
		 " SELECT count(*) AS count FROM s JOIN frames f ON f.id = s.frame"
		 " WHERE f.function = '%s'",
		 signal, function);
	return trial__query(path, sql);
}

static void a_fault_has_the_address_and_the_function(void **state)
{
	static const char *const levels[] = { "full", "sched" };
	char path[64];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(record_crash(path, sizeof(path), levels[i], "segv"),
				 128 + SIGSEGV);
		assert_int_equal(rows(path), 1);
		assert_int_equal(trial__query(path, "SELECT address FROM fatal WHERE code = 1"),
				 16);
		assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM fatal f JOIN"
						    " stack s ON s.id = f.stack JOIN frames r ON"
						    " r.id = s.frame WHERE r.function ="
						    " 'touch_null'"),
				 1);
		assert_int_equal(rows_in(path, SIGSEGV, "serve"), 1);
		trial__remove(path);
	}
}

static void an_abort_has_the_function_that_gave_up(void **state)
{
	char path[64];

	assert_int_equal(record_crash(path, sizeof(path), "full", "abort"), 128 + SIGABRT);
	assert_int_equal(rows(path), 1);
	assert_int_equal(rows_in(path, SIGABRT, "give_up"), 1);
	assert_int_equal(trial__query(path, "SELECT address FROM fatal"), 0);
	trial__remove(path);
}

static void a_fault_that_a_handler_takes_is_not_fatal(void **state)
{
	char path[64];

	assert_int_equal(record_crash(path, sizeof(path), "full", "handled"), 0);
	assert_int_equal(rows(path), 0);
	trial__remove(path);
}

static void a_request_to_terminate_is_no_fault(void **state)
{
	char path[64];

	assert_int_equal(record_crash(path, sizeof(path), "full", "term"), 128 + SIGTERM);
	assert_int_equal(rows(path), 0);
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_has_the_address_and_the_function),
		cmocka_unit_test(an_abort_has_the_function_that_gave_up),
		cmocka_unit_test(a_fault_that_a_handler_takes_is_not_fatal),
		cmocka_unit_test(a_request_to_terminate_is_no_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
