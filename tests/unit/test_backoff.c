/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "agent/backoff.h"

#define SECOND_NS UINT64_C(1000000000)

static void each_wait_is_twice_as_long_up_to_half_a_minute(void **state)
{
	static const unsigned expected[] = { 1, 2, 4, 8, 16, 30, 30 };
	struct backoff backoff = {};

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(backoff__next_s(&backoff, 11 * SECOND_NS), expected[i]);
}

static void a_long_life_begins_again(void **state)
{
	struct backoff backoff = {};

	assert_int_equal(backoff__next_s(&backoff, 0), 1);
	assert_int_equal(backoff__next_s(&backoff, 599 * SECOND_NS), 2);
	assert_int_equal(backoff__next_s(&backoff, 600 * SECOND_NS), 1);
	assert_int_equal(backoff__next_s(&backoff, 0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_is_twice_as_long_up_to_half_a_minute),
		cmocka_unit_test(a_long_life_begins_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
