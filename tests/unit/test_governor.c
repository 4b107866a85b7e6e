/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "agent/governor.h"

#define SECOND UINT64_C(1000000000)
#define WINDOW (10 * SECOND)

static const struct governor_limits limits = {
	.cpu_ppm = 10000, .memory_bytes = 100, .cpus = 2, .most = GOVERNOR_SIGNALS
};

/* A window with this use of CPU time, in millionths of one CPU. */
static enum governor_reason pass(struct governor *governor, struct governor_use *use, uint64_t ppm,
				 uint64_t memory)
{
	use->now_ns += WINDOW;
	use->cpu_ns += WINDOW / 1000000 * ppm / 2;
	use->hook_ns += WINDOW / 1000000 * ppm / 2;
	use->memory_bytes = memory;
	return governor__look(governor, use);
}

static void three_bad_windows_in_a_row_are_one_level_down(void **state)
{
	struct governor_use use = { .now_ns = SECOND };
	struct governor governor;

	governor__start(&governor, &limits, &use);
	assert_int_equal(governor.level, GOVERNOR_SIGNALS);
	assert_int_equal(pass(&governor, &use, 20000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 20000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 9000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 20000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 9000, 101), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 20000, 50), GOVERNOR_CPU);
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pass(&governor, &use, 9000, 101), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 9000, 101), GOVERNOR_MEMORY);
	assert_int_equal(governor.level, GOVERNOR_SLOW);
	/* There is nothing below. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(pass(&governor, &use, 20000, 101), GOVERNOR_UNCHANGED);
	assert_int_equal(governor.level, GOVERNOR_SLOW);
}

static void a_new_configuration_with_the_same_limits_changes_nothing(void **state)
{
	struct governor_use use = { .now_ns = SECOND };
	struct governor_limits next = limits;
	struct governor governor;

	governor__start(&governor, &limits, &use);
	for (int i = 0; i < 4; i++)
		pass(&governor, &use, 20000, 50);
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
	next.cpus = 4;
	assert_false(governor__reconsider(&governor, &next, &use));
	assert_int_equal(governor.limits.cpus, 4);
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
	assert_int_equal(governor.bad, 1);
	next.cpu_ppm++;
	assert_true(governor__reconsider(&governor, &next, &use));
	assert_int_equal(governor.level, GOVERNOR_SIGNALS);
	assert_int_equal(governor.bad, 0);
	next.memory_bytes++;
	assert_true(governor__reconsider(&governor, &next, &use));
	next.most = GOVERNOR_LEDGER;
	assert_true(governor__reconsider(&governor, &next, &use));
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
}

/* A fork storm makes steps of a fraction of a second. */
static void early_steps_are_parts_of_a_window(void **state)
{
	struct governor_use use = { .now_ns = SECOND };
	struct governor governor;

	governor__start(&governor, &limits, &use);
	/* 29 s: two bad windows, and nine steps of the third. */
	for (int i = 0; i < 29; i++) {
		use.now_ns += SECOND;
		use.cpu_ns += SECOND / 10;
		assert_int_equal(governor__look(&governor, &use), GOVERNOR_UNCHANGED);
		assert_int_equal(governor.bad, (i + 1) / 10);
	}
	use.now_ns += SECOND;
	use.cpu_ns += SECOND / 10;
	assert_int_equal(governor__look(&governor, &use), GOVERNOR_CPU);
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
	/* A burst of work within a window that is cheap as a whole is no bad window. */
	for (int i = 0; i < 100; i++) {
		use.now_ns += SECOND;
		use.cpu_ns += i % 10 ? 0 : SECOND / 20;
		assert_int_equal(governor__look(&governor, &use), GOVERNOR_UNCHANGED);
		assert_int_equal(governor.bad, 0);
	}
}

static void ten_good_minutes_are_one_level_up(void **state)
{
	struct governor_use use = { .now_ns = SECOND };
	struct governor governor;
	int windows = 0;

	governor__start(&governor, &limits, &use);
	governor.level = GOVERNOR_SLOW;
	while (pass(&governor, &use, 5000, 50) == GOVERNOR_UNCHANGED)
		windows++;
	assert_int_equal(windows, 59);
	assert_int_equal(governor.level, GOVERNOR_LEDGER);
	/* A bad window begins the ten minutes again. */
	for (int i = 0; i < 30; i++)
		assert_int_equal(pass(&governor, &use, 5000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(pass(&governor, &use, 20000, 50), GOVERNOR_UNCHANGED);
	for (windows = 0; pass(&governor, &use, 5000, 50) == GOVERNOR_UNCHANGED;)
		windows++;
	assert_int_equal(windows, 60);
	assert_int_equal(governor.level, GOVERNOR_SIGNALS);
	for (int i = 0; i < 100; i++)
		assert_int_equal(pass(&governor, &use, 5000, 50), GOVERNOR_UNCHANGED);
}

static void many_switches_of_a_large_machine_may_cost_more(void **state)
{
	struct governor_limits large = limits;
	struct governor_use use = { .now_ns = SECOND };
	struct governor governor;

	large.cpus = 64;
	governor__start(&governor, &large, &use);
	for (int i = 0; i < 10; i++) {
		use.switches += 600000;
		assert_int_equal(pass(&governor, &use, 150000, 50), GOVERNOR_UNCHANGED);
	}
	for (int i = 0; i < 3; i++)
		use.switches += 400000;
	assert_int_equal(pass(&governor, &use, 170000, 50), GOVERNOR_UNCHANGED);
	assert_int_equal(governor.bad, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_configuration_with_the_same_limits_changes_nothing),
		cmocka_unit_test(three_bad_windows_in_a_row_are_one_level_down),
		cmocka_unit_test(early_steps_are_parts_of_a_window),
		cmocka_unit_test(ten_good_minutes_are_one_level_up),
		cmocka_unit_test(many_switches_of_a_large_machine_may_cost_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
