/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "signals/heap/heap_plan.h"

#define MS UINT64_C(1000000)

/* A program that uses a whole CPU, with hits that cost half of the time in a window. */
static struct heap_plan a_plan(void)
{
	return (struct heap_plan) { .share = 0.01,
				    .credit_ns = 5 * MS,
				    .cost_share = 0.5,
				    .overhead_ns = 1 * MS,
				    .cpu_share = 1 };
}

static void the_first_window_is_short(void **state)
{
	struct heap_plan plan = a_plan();

	plan.cost_share = -1;
	assert_int_equal(heap_plan__next(&plan).window_ns, 5 * MS);
	assert_int_equal(heap_plan__next(&plan).slot_ns, 125 * MS);
}

/* Of 5 ms and 1 % of 125 ms, the window has what attaching leaves: 5.25 ms, at 0.5 ms each. */
static void a_window_costs_what_its_slot_earns(void **state)
{
	struct heap_plan plan = a_plan();
	struct heap_step step = heap_plan__next(&plan);

	assert_int_equal(step.slot_ns, 125 * MS);
	assert_int_equal(step.window_ns, 10500000);
	assert_true(step.cost_ns > 5.24 * MS && step.cost_ns < 5.26 * MS);
	/* A program that runs half of the time has half of the hits, and earns half as much. */
	plan.cpu_share = 0.5;
	assert_int_equal(heap_plan__next(&plan).window_ns, 18500000);
}

/* It costs 1 ms for attaching and as much for the window, and 8 ms are owed: 10 ms, at 1 %. */
static void a_slot_is_longer_if_its_window_costs_more_than_it_would_earn(void **state)
{
	struct heap_plan plan = a_plan();
	struct heap_step step;

	plan.credit_ns = -8. * MS;
	step = heap_plan__next(&plan);
	assert_in_range(step.slot_ns, 1000 * MS - 1, 1000 * MS + 1);
	assert_in_range(step.window_ns, 2 * MS - 1, 2 * MS + 1);
}

static void without_credit_there_is_no_window(void **state)
{
	struct heap_plan plan = a_plan();
	struct heap_step step;

	plan.credit_ns = -100. * MS;
	step = heap_plan__next(&plan);
	assert_int_equal(step.slot_ns, 4000 * MS);
	assert_int_equal(step.window_ns, 0);
}

static void a_window_is_longer_than_its_edges(void **state)
{
	struct heap_plan plan = a_plan();

	plan.credit_ns = 0;
	plan.overhead_ns = 0;
	plan.cost_share = 2;
	assert_int_equal(heap_plan__next(&plan).window_ns, 1 * MS);
	plan.edges_ns = 0.5 * MS;
	assert_int_equal(heap_plan__next(&plan).window_ns, 5 * MS);
	assert_int_equal(heap_plan__next(&plan).slot_ns, 1000 * MS);
}

static void probes_stay_where_they_cost_less_than_they_may(void **state)
{
	struct heap_plan plan = a_plan();

	plan.cost_share = 0.01;
	assert_int_equal(heap_plan__next(&plan).window_ns, UINT64_MAX);
	plan.cost_share = 0.011;
	assert_true(heap_plan__next(&plan).window_ns < UINT64_MAX);
}

static void no_budget_is_no_limit(void **state)
{
	struct heap_plan plan = a_plan();

	plan.share = 0;
	assert_int_equal(heap_plan__next(&plan).window_ns, UINT64_MAX);
}

static void a_window_is_at_most_half_of_its_slot(void **state)
{
	struct heap_plan plan = a_plan();

	plan.credit_ns = 1000. * MS;
	assert_int_equal(heap_plan__next(&plan).window_ns, 62500000);
	plan.cpu_share = 0;
	assert_int_equal(heap_plan__next(&plan).window_ns, 5 * MS);
}

static void a_start_is_within_its_room(void **state)
{
	for (int i = 0; i < 1000; i++)
		assert_in_range(heap_plan__choose(100), 0, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_window_is_short),
		cmocka_unit_test(a_window_costs_what_its_slot_earns),
		cmocka_unit_test(a_slot_is_longer_if_its_window_costs_more_than_it_would_earn),
		cmocka_unit_test(without_credit_there_is_no_window),
		cmocka_unit_test(a_window_is_longer_than_its_edges),
		cmocka_unit_test(probes_stay_where_they_cost_less_than_they_may),
		cmocka_unit_test(no_budget_is_no_limit),
		cmocka_unit_test(a_window_is_at_most_half_of_its_slot),
		cmocka_unit_test(a_start_is_within_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
