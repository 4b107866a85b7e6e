/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "signals/heap/heap_plan.h"

#define MS UINT64_C(1000000)

/* A program that uses a whole CPU, with hits that cost half of the time in a window. */
static struct heap_plan a_plan(void)
{
	return (struct heap_plan) { .share = 0.01,
				    .credit_ns = 10 * MS,
				    .cost_share = 0.5,
				    .overhead_ns = 1 * MS,
				    .cpu_share = 1,
				    .slot_ns = 250 * MS };
}

static void the_first_window_is_short(void **state)
{
	struct heap_plan plan = a_plan();

	plan.cost_share = -1;
	assert_int_equal(heap_plan__length(&plan), 5 * MS);
}

static void a_window_is_as_long_as_the_credit_allows(void **state)
{
	struct heap_plan plan = a_plan();

	assert_int_equal(heap_plan__length(&plan), 8 * MS);
	/* A program that runs half of the time has half of the hits. */
	plan.cpu_share = 0.5;
	assert_int_equal(heap_plan__length(&plan), 16 * MS);
}

static void without_credit_there_is_no_window(void **state)
{
	struct heap_plan plan = a_plan();

	plan.credit_ns = 2.4 * MS;
	assert_int_equal(heap_plan__length(&plan), 0);
	plan.credit_ns = -100. * MS;
	assert_int_equal(heap_plan__length(&plan), 0);
}

static void probes_stay_where_they_cost_less_than_they_may(void **state)
{
	struct heap_plan plan = a_plan();

	plan.cost_share = 0.01;
	assert_int_equal(heap_plan__length(&plan), UINT64_MAX);
	plan.cost_share = 0.011;
	assert_true(heap_plan__length(&plan) < UINT64_MAX);
}

static void no_budget_is_no_limit(void **state)
{
	struct heap_plan plan = a_plan();

	plan.share = 0;
	assert_int_equal(heap_plan__length(&plan), UINT64_MAX);
}

static void a_window_is_at_most_half_of_its_slot(void **state)
{
	struct heap_plan plan = a_plan();

	plan.credit_ns = 1000. * MS;
	assert_int_equal(heap_plan__length(&plan), 125 * MS);
	plan.cpu_share = 0;
	assert_int_equal(heap_plan__length(&plan), 125 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_window_is_short),
		cmocka_unit_test(a_window_is_as_long_as_the_credit_allows),
		cmocka_unit_test(without_credit_there_is_no_window),
		cmocka_unit_test(probes_stay_where_they_cost_less_than_they_may),
		cmocka_unit_test(no_budget_is_no_limit),
		cmocka_unit_test(a_window_is_at_most_half_of_its_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
