/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Something that does not end keeps nobody waiting. */
#include "../harness.h"

#include <unistd.h>

#include "agent/ending.h"

#define SECOND_NS UINT64_C(1000000000)

static void read_a_byte(void *thing)
{
	char byte;

	(void)!read(*(int *)thing, &byte, 1);
}

static void whoever_waits_for_an_end_waits_for_a_bounded_time(void **state)
{
	struct ending ending = {};
	int pair[2];

	assert_int_equal(pipe(pair), 0);
	assert_true(ending__is_over(&ending, 0));
	ending__begin(&ending, read_a_byte, &pair[0]);
	assert_false(ending__is_over(&ending, 0));
	assert_false(ending__is_over(&ending, SECOND_NS / 100));
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_true(ending__is_over(&ending, 100 * SECOND_NS));
	assert_true(ending__is_over(&ending, 0));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_waits_for_an_end_waits_for_a_bounded_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
