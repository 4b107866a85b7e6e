/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "agent/minutes.h"

#define SECOND UINT64_C(1000000000)
/* 2026-11-17 12:00:00 UTC is a full minute. */
#define NOON (UINT64_C(1794916800))

static void steps_and_minutes_follow_the_time_of_day(void **state)
{
	struct minutes minutes = {};
	uint64_t offset = NOON * SECOND - 100 * SECOND; /* the machine started 100 s before noon */

	minutes__start(&minutes, 117 * SECOND, offset); /* 12:00:17 */
	assert_int_equal(minutes.begin_s, NOON);
	assert_int_equal(minutes__passed_ns(&minutes, 117 * SECOND), 17 * SECOND);
	assert_int_equal(minutes__next(&minutes, 117 * SECOND, 10 * SECOND), 120 * SECOND);
	assert_int_equal(minutes__next(&minutes, 120 * SECOND, 10 * SECOND), 130 * SECOND);
	assert_false(minutes__is_over(&minutes, 160 * SECOND - 1));
	assert_true(minutes__is_over(&minutes, 160 * SECOND));
	minutes__begin(&minutes, 160 * SECOND + 5, offset + 3);
	assert_int_equal(minutes.begin_s, NOON + 60);
	assert_int_equal(minutes.begin_ns, 160 * SECOND + 5);
	assert_int_equal(minutes.epoch, NOON + 17);
}

static void a_gap_is_split_into_its_minutes(void **state)
{
	uint64_t offset = NOON * SECOND - 100 * SECOND, from = 117 * SECOND; /* 12:00:17 */
	struct minutes minutes = {};
	struct minutes_gap gap;

	minutes__start(&minutes, 265 * SECOND, offset); /* 12:02:45 */
	assert_true(minutes__split_gap(&minutes, &from, 265 * SECOND, &gap));
	assert_int_equal(gap.begin_s, NOON);
	assert_int_equal(gap.ns, 43 * SECOND);
	assert_true(minutes__split_gap(&minutes, &from, 265 * SECOND, &gap));
	assert_int_equal(gap.begin_s, NOON + 60);
	assert_int_equal(gap.ns, 60 * SECOND);
	assert_false(minutes__split_gap(&minutes, &from, 265 * SECOND, &gap));
	assert_int_equal(gap.begin_s, NOON + 60);
	assert_int_equal(from, 220 * SECOND);
}

static void a_step_of_the_clock_begins_an_epoch(void **state)
{
	struct minutes minutes = {};
	uint64_t offset = NOON * SECOND, epoch;

	minutes__start(&minutes, 30 * SECOND, offset);
	epoch = minutes.epoch;
	/* An hour back: the minutes come again, with another epoch. */
	minutes__begin(&minutes, 60 * SECOND, offset - 3600 * SECOND);
	assert_int_equal(minutes.begin_s, NOON + 60 - 3600);
	assert_true(minutes.epoch > epoch);
	epoch = minutes.epoch;
	minutes__begin(&minutes, 120 * SECOND, offset - 3600 * SECOND + SECOND / 2);
	assert_int_equal(minutes.epoch, epoch);
	minutes__begin(&minutes, 180 * SECOND, offset);
	assert_true(minutes.epoch > epoch);
}

static void a_minute_that_comes_twice_has_another_epoch(void **state)
{
	struct minutes minutes = {};
	uint64_t offset = NOON * SECOND, epoch;

	minutes__start(&minutes, 30 * SECOND, offset);
	epoch = minutes.epoch;
	/* Half a second back, just after the minute. */
	minutes__begin(&minutes, 60 * SECOND + 1, offset - SECOND / 2);
	assert_int_equal(minutes.begin_s, NOON);
	assert_true(minutes.epoch > epoch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_and_minutes_follow_the_time_of_day),
		cmocka_unit_test(a_gap_is_split_into_its_minutes),
		cmocka_unit_test(a_step_of_the_clock_begins_an_epoch),
		cmocka_unit_test(a_minute_that_comes_twice_has_another_epoch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
