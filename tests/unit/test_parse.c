/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>

#include "base/daytime.h"
#include "base/parse.h"

#define UNTOUCHED 0x5a5a

static void duration_is(const char *text, uint64_t expected_ns)
{
	uint64_t ns = UNTOUCHED;

	assert_int_equal(parse__duration(text, &ns), 0);
	assert_int_equal(ns, expected_ns);
}

static void duration_fails(const char *text, int err)
{
	uint64_t ns = UNTOUCHED;

	assert_int_equal(parse__duration(text, &ns), err);
	assert_int_equal(ns, UNTOUCHED);
}

static void offsets_are_durations_that_may_be_zero(void **state)
{
	uint64_t ns = 7;

	assert_int_equal(parse__offset("0", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(parse__offset("1.5s", &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(parse__offset("0.0ms", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(parse__offset("9223372036854775807ns", &ns), 0);
	assert_int_equal(ns, INT64_MAX);
	assert_int_equal(parse__offset("9223372036854775808ns", &ns), -ERANGE);
	assert_int_equal(parse__offset("", &ns), -EINVAL);
	assert_int_equal(parse__offset("-1s", &ns), -EINVAL);
	assert_int_equal(ns, INT64_MAX);
}

static void durations_take_every_unit(void **state)
{
	duration_is("10", 10000000000);
	duration_is("100ns", 100);
	duration_is("250us", 250000);
	duration_is("500ms", 500000000);
	duration_is("1.5s", 1500000000);
	duration_is("0.000000001s", 1);
	duration_is("2m", 120000000000);
	duration_is("2min", 120000000000);
	duration_is("1h", 3600000000000);
	duration_is("18446744073709551615ns", UINT64_MAX);
}

static void durations_refuse_what_is_none(void **state)
{
	const char *const bad[] = { "",    "s",   "-1s", "+1s", "1 s",  " 1s",  "1.s",
				    ".5s", "1e3", "10x", "1s1", "0x10", "1,5s", "\xff" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		duration_fails(bad[i], -EINVAL);
}

static void durations_refuse_zero_and_overflow(void **state)
{
	duration_fails("0", -ERANGE);
	duration_fails("0.4ns", -ERANGE);
	duration_fails("18446744073709551616ns", -ERANGE);
	duration_fails("5124096h", -ERANGE);
	duration_fails("99999999999999999999999999s", -ERANGE);
}

static void sizes_count_in_powers_of_1024(void **state)
{
	const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = { { "0", 0 },           { "4096", 4096 },       { "64k", 65536 },
		      { "16M", 16 << 20 },  { "1.5G", 3ULL << 29 }, { "1GiB", 1 << 30 },
		      { "2TB", 2ULL << 40 } };
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(parse__size(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
	assert_int_equal(parse__size("16777216T", &bytes), -ERANGE);
	assert_int_equal(parse__size("1kk", &bytes), -EINVAL);
}

static void numbers_keep_their_bounds(void **state)
{
	uint64_t number = UNTOUCHED;

	assert_int_equal(parse__number("5", 1, 10, &number), 0);
	assert_int_equal(number, 5);
	assert_int_equal(parse__number("0", 1, 10, &number), -ERANGE);
	assert_int_equal(parse__number("11", 1, 10, &number), -ERANGE);
	assert_int_equal(parse__number("1.0", 1, 10, &number), -EINVAL);
	assert_int_equal(parse__number("", 1, 10, &number), -EINVAL);
	assert_int_equal(number, 5);
}

static void lists_give_every_word_even_empty_ones(void **state)
{
	const char *list = "a,,bc";
	size_t length;

	assert_string_equal(parse__next_word(&list, &length), "a,,bc");
	assert_int_equal(length, 1);
	parse__next_word(&list, &length);
	assert_int_equal(length, 0);
	assert_string_equal(parse__next_word(&list, &length), "bc");
	assert_int_equal(length, 2);
	assert_null(parse__next_word(&list, &length));
}

static void nearest_finds_slips_and_beginnings_but_does_not_guess(void **state)
{
	const char *const known[] = { "doctor", "list", "record", "report", NULL };

	assert_string_equal(parse__nearest("docter", known), "doctor");
	assert_string_equal(parse__nearest("lsit", known), "list");
	assert_string_equal(parse__nearest("repo", known), "report");
	assert_null(parse__nearest("frobnicate", known));
	assert_null(parse__nearest("xyz", known));
	assert_null(parse__nearest("averyveryveryveryverylongwordthatfitsnowhere", known));
}

static void daytime_takes_hours_minutes_and_seconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "0:00", 0 },
		{ "9:05", (9 * 60 + 5) * 60 * UINT64_C(1000000000) },
		{ "14:20:05", ((14 * 60 + 20) * 60 + 5) * UINT64_C(1000000000) },
		{ "23:59:59.25", UINT64_C(86399250000000) },
	};
	static const char *const bad[] = { "",      "14",      "14:",       "24:00",     "14:60",
					   "14:2",  "14:20:5", "14:20:60",  "14:20:05.", "14:20 ",
					   "-1:20", "114:20",  "14:20:05s", "14:20:05:1" };
	uint64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(daytime__parse(cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(daytime__parse(bad[i], &ns), -EINVAL);
}

static void daytime_is_shown_in_its_zone(void **state)
{
	const int64_t ns = 1700000000 * INT64_C(1000000000) + 999999999;

	assert_string_equal(daytime__words(ns, 0).text, "22:13:20");
	assert_string_equal(daytime__words(ns, 7200).text, "00:13:20");
	assert_string_equal(daytime__date(ns, 7200).text, "2023-11-15");
	assert_string_equal(daytime__words(-1, 0).text, "23:59:59");
	assert_int_equal(daytime__of_day_ns(ns, 7200), INT64_C(800999999999));
	assert_int_equal(daytime__of_day_ns(-1, 0), DAYTIME_DAY_NS - 1);
	assert_string_equal(daytime__zone(0).text, "UTC");
	assert_string_equal(daytime__zone(3600).text, "UTC+1");
	assert_string_equal(daytime__zone(-12600).text, "UTC-3:30");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_take_every_unit),
		cmocka_unit_test(offsets_are_durations_that_may_be_zero),
		cmocka_unit_test(durations_refuse_what_is_none),
		cmocka_unit_test(durations_refuse_zero_and_overflow),
		cmocka_unit_test(sizes_count_in_powers_of_1024),
		cmocka_unit_test(numbers_keep_their_bounds),
		cmocka_unit_test(lists_give_every_word_even_empty_ones),
		cmocka_unit_test(nearest_finds_slips_and_beginnings_but_does_not_guess),
		cmocka_unit_test(daytime_takes_hours_minutes_and_seconds),
		cmocka_unit_test(daytime_is_shown_in_its_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
