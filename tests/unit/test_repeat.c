/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>

#include "cli/record.h"

static void name_is(const char *base, uint64_t number, const char *expected)
{
	char name[PATH_MAX];

	assert_int_equal(record__name(base, number, name), 0);
	assert_string_equal(name, expected);
}

static void the_number_comes_before_the_suffix(void **state)
{
	name_is("run.gapless", 1, "run-1.gapless");
	name_is("a.b/run.gapless", 12, "a.b/run-12.gapless");
	name_is("run.old.gapless", 1000, "run.old-1000.gapless");
}

static void without_a_suffix_it_comes_last(void **state)
{
	name_is("run", 3, "run-3");
	name_is("a.b/run", 3, "a.b/run-3");
	name_is("/tmp/.hidden", 3, "/tmp/.hidden-3");
	name_is("..", 3, ".-3.");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	char base[PATH_MAX], name[PATH_MAX];

	memset(base, 'x', sizeof(base));
	base[sizeof(base) - 1] = '\0';
	assert_int_equal(record__name(base, 1, name), -ENAMETOOLONG);
	base[sizeof(base) - 3] = '\0';
	assert_int_equal(record__name(base, 1, name), 0);
	assert_int_equal(record__name(base, 10, name), -ENAMETOOLONG);
}

static void the_exit_status_is_the_command_s_unless_the_recording_failed(void **state)
{
	const struct record_result good = {}, bad = { .status = 7 };

	assert_int_equal(record__exit_status(0, &good), 0);
	assert_int_equal(record__exit_status(0, &bad), 7);
	assert_int_equal(record__exit_status(-ENOSPC, &bad), 1);
	assert_int_equal(record__exit_status(-ECHILD, &good), 1);
	assert_int_equal(record__exit_status(-ECHILD, &bad), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_comes_before_the_suffix),
		cmocka_unit_test(without_a_suffix_it_comes_last),
		cmocka_unit_test(a_name_that_is_too_long_is_refused),
		cmocka_unit_test(the_exit_status_is_the_command_s_unless_the_recording_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
