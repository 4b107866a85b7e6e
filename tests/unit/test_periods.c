/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock's random periods: what they are drawn from, and that weights add up to all time. */
#include "../harness.h"

#include <stdlib.h>

#include "ledger/reader/periods.h"

#define MEAN UINT64_C(1000000)
#define RUN  (20 * MEAN)

static void the_same_seed_gives_the_same_periods(void **state)
{
	uint64_t a = 7, b = 7, c = 8;

	for (int i = 0; i < 100; i++)
		assert_int_equal(periods__draw(&a, MEAN), periods__draw(&b, MEAN));
	assert_int_not_equal(periods__draw(&a, MEAN), periods__draw(&c, MEAN));
}

static void periods_reach_from_half_of_the_mean_to_one_and_a_half(void **state)
{
	uint64_t seed = 1, sum = 0, least = UINT64_MAX, most = 0;

	for (int i = 0; i < 10000; i++) {
		uint64_t period_ns = periods__draw(&seed, MEAN);

		sum += period_ns;
		least = period_ns < least ? period_ns : least;
		most = period_ns > most ? period_ns : most;
	}
	assert_in_range(least, MEAN / 2, MEAN * 51 / 100);
	assert_in_range(most, MEAN * 149 / 100, MEAN * 3 / 2);
	assert_in_range(sum / 10000, MEAN * 99 / 100, MEAN * 101 / 100);
}

/* Runs that last as planned, or longer because the thread that changes them was late. */
static void check_sums(uint64_t most_late_ns)
{
	uint64_t seed = 3, now_ns = 5000, weights_ns = 0;
	struct tick_clock clock = {};
	int64_t carry_ns = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t run_ns = periods__draw(&seed, RUN), period_ns = periods__draw(&seed, MEAN);

		clock = periods__next(&clock, now_ns, period_ns, run_ns, &carry_ns);
		assert_int_equal(clock.since_ns, now_ns);
		assert_int_equal(clock.period_ns, period_ns);
		run_ns += most_late_ns ? periods__random(&seed) % most_late_ns : 0;
		weights_ns += run_ns / period_ns * clock.weight_ns;
		now_ns += run_ns;
	}
	/* What is still due is less than two periods. */
	assert_true(llabs((int64_t)(now_ns - 5000 - weights_ns)) < (int64_t)(4 * MEAN));
}

static void weights_add_up_to_all_time(void **state)
{
	check_sums(0);
}

static void weights_add_up_to_all_time_though_changes_are_late(void **state)
{
	check_sums(RUN);
}

static void a_long_pause_does_not_make_weights_wild(void **state)
{
	const struct tick_clock last = { 0, MEAN, 2 * MEAN };
	int64_t carry_ns = 0;

	/* 2,000 ticks of twice the weight: now they have weighed too much by 2 s. */
	assert_int_equal(periods__next(&last, 2000 * MEAN, MEAN, RUN, &carry_ns).weight_ns,
			 MEAN / 2);
	assert_int_equal(carry_ns, -2000 * (int64_t)MEAN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_gives_the_same_periods),
		cmocka_unit_test(periods_reach_from_half_of_the_mean_to_one_and_a_half),
		cmocka_unit_test(weights_add_up_to_all_time),
		cmocka_unit_test(weights_add_up_to_all_time_though_changes_are_late),
		cmocka_unit_test(a_long_pause_does_not_make_weights_wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
