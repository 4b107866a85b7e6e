/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slab: each pipe takes two allocations of alloc_pipe_info(), for itself and for its buffers. */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>

#include "ledger.h"

#define PER_PIPE 2

static char recording[64];

static int set_up(void **state)
{
	trial__path(recording, sizeof(recording));
	return 0;
}

static int tear_down(void **state)
{
	trial__remove(recording);
	return 0;
}

static void record_pipes(const char *count)
{
	json_t *log = NULL;

	trial__record_at(recording, ARGS("--signals", "slab"), WORKLOAD("touches", "pipes", count),
			 &log);
	json_decref(log);
}

static int64_t ask(const char *what, const char *measure)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) as n from signal_sums where signal = 'slab' and"
		 " comm = 'pipes' and operation = 'kmalloc' and object = 'alloc_pipe_info' and"
		 " measure = '%s'",
		 what, measure);
	return trial__query(recording, sql);
}

static void a_few_allocations_are_all_counted(void **state)
{
	record_pipes("200");
	print_message("# %" PRId64 " allocations, %" PRId64 " drawn, %" PRId64 " bytes\n",
		      ask("count", "size"), ask("sum", "drawn"), ask("sum", "size"));
	assert_int_equal(ask("count", "size"), 200 * PER_PIPE);
	assert_int_equal(ask("sum", "drawn"), 200 * PER_PIPE);
}

/* The bytes of one pipe are those of the test above; the number of pipes is known. */
static void many_are_estimated_without_bias(void **state)
{
	int64_t count, drawn, bytes, each;

	record_pipes("200");
	each = ask("sum", "size") / 200;
	trial__remove(recording);
	record_pipes("40000");
	count = ask("count", "size");
	drawn = ask("sum", "drawn");
	bytes = ask("sum", "size");
	print_message("# %" PRId64 " of %d allocations, %" PRId64 " drawn, %" PRId64 " of %" PRId64
		      " bytes\n",
		      count, 40000 * PER_PIPE, drawn, bytes, 40000 * each);
	assert_in_range(drawn, 400, 40000 * PER_PIPE - 1); /* not all of them */
	/* Five times the standard error of 400. */
	assert_in_range(bytes, 40000 * each * 3 / 4, 40000 * each * 5 / 4);
	assert_in_range(count, 40000 * PER_PIPE * 3 / 4, 40000 * PER_PIPE * 5 / 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_few_allocations_are_all_counted),
		TEST(many_are_estimated_without_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
