/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms as text, to the letter. */
#include "../harness.h"

#include "report/histogram.h"
#include "vocabulary/histogram.h"

static struct bucket at(uint64_t value, int64_t count)
{
	return (struct bucket) { (int)histogram_bucket(value), count };
}

static void check_text(const struct histogram *histogram, int width, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	histogram__print(out, histogram, width);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

/* A hump at 100 µs and a second one at 30 ms: what an average hides. */
static void times_have_a_row_for_each_power_of_two(void **state)
{
	const struct bucket counts[] = { at(70000, 5), at(100000, 30), at(140000, 20),
					 at(30000000, 3) };
	const struct histogram histogram = { "service", "ns", counts, 4, 31000000 };

	check_text(&histogram, 80,
		   "               service :     count  distribution\n"
		   "  65.5 µs ->    131 µs :        35 |****************************************|\n"
		   "   131 µs ->    262 µs :        20 |**********************                  |\n"
		   "   262 µs ->    524 µs :         0 |                                        |\n"
		   "   524 µs ->   1.05 ms :         0 |                                        |\n"
		   "  1.05 ms ->   2.10 ms :         0 |                                        |\n"
		   "  2.10 ms ->   4.19 ms :         0 |                                        |\n"
		   "  4.19 ms ->   8.39 ms :         0 |                                        |\n"
		   "  8.39 ms ->   16.8 ms :         0 |                                        |\n"
		   "  16.8 ms ->   33.6 ms :         3 |***                                     |\n"
		   "p50 102 µs, p95 30.4 ms, max 31.0 ms, of 58\n");
}

static void bytes_have_binary_units(void **state)
{
	const struct bucket counts[] = { at(0, 1), at(512, 2), at(4096, 1234567) };
	const struct histogram histogram = { "size", "bytes", counts, 3, 4096 };

	check_text(&histogram, 55,
		   "                  size :     count  distribution\n"
		   "      0 B ->       1 B :         1 |                  |\n"
		   "      1 B ->       2 B :         0 |                  |\n"
		   "      2 B ->       4 B :         0 |                  |\n"
		   "      4 B ->       8 B :         0 |                  |\n"
		   "      8 B ->      16 B :         0 |                  |\n"
		   "     16 B ->      32 B :         0 |                  |\n"
		   "     32 B ->      64 B :         0 |                  |\n"
		   "     64 B ->     128 B :         0 |                  |\n"
		   "    128 B ->     256 B :         0 |                  |\n"
		   "    256 B ->     512 B :         0 |                  |\n"
		   "    512 B ->     1 KiB :         2 |                  |\n"
		   "    1 KiB ->     2 KiB :         0 |                  |\n"
		   "    2 KiB ->     4 KiB :         0 |                  |\n"
		   "    4 KiB ->     8 KiB : 1,234,567 |******************|\n"
		   "p50 4.10 kB, p99 4.10 kB, max 4.10 kB, of 1,234,570\n");
}

static void what_is_counted_is_named_and_ends_with_the_last_value(void **state)
{
	const struct bucket counts[] = { at(0, 4), at(1, 2), at(3, 1), at(6, 8) };
	const struct histogram histogram = { "depth", "requests", counts, 4, 6 };

	check_text(&histogram, 47,
		   "       depth, requests :     count  distribution\n"
		   "        0 ->         0 :         4 |*****     |\n"
		   "        1 ->         1 :         2 |**        |\n"
		   "        2 ->         3 :         1 |*         |\n"
		   "        4 ->         7 :         8 |**********|\n"
		   "p50 6 requests, p90 6 requests, max 6 requests, of 15\n");
}

static void what_is_longer_than_all_buckets_has_no_end(void **state)
{
	const struct bucket counts[] = { at(1ull << 62, 1) };
	const struct histogram histogram = { "time", "ns", counts, 1, 0 };

	check_text(&histogram, 40,
		   "                  time :     count  distribution\n"
		   " 4.58 min ->      more :         1 |**********|\n"
		   "of 1\n");
}

static void a_wide_terminal_has_all_percentiles_that_the_count_carries(void **state)
{
	struct bucket bucket = at(5, 1000);
	const struct histogram histogram = { "depth", "requests", &bucket, 1, 0 };

	check_text(
		&histogram, 120,
		"       depth, requests :     count  distribution\n"
		"        4 ->         7 :     1,000 |****************************************|\n"
		"p50 5 requests, p90 5 requests, p95 5 requests, p99 5 requests, p99.9 5 requests, "
		"of 1,000\n");
	bucket.count = 99;
	check_text(&histogram, 120,
		   "       depth, requests :     count  distribution\n"
		   "        4 ->         7 :        99 |****************************************|\n"
		   "p50 5 requests, p90 5 requests, p95 5 requests, of 99\n");
}

static void nothing_is_no_text(void **state)
{
	const struct histogram histogram = { "time", "ns", NULL, 0, 0 };

	check_text(&histogram, 80, "");
}

static void a_hostile_recording_stays_inside(void **state)
{
	const struct bucket counts[] = { { -5, 1 }, { 1 << 30, 2 } };
	const struct histogram histogram = { "a\033[2Jb", "\033x", counts, 2, 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	histogram__print(out, &histogram, -1);
	fclose(out);
	assert_null(strchr(text, '\033'));
	assert_int_equal(histogram__total(&histogram), 3);
	free(text);
}

static void one_is_singular(void **state)
{
	static const char *const known[][2] = {
		{ "calls", "1 call" },           { "processes", "1 process" },
		{ "fetches", "1 fetch" },        { "flushes", "1 flush" },
		{ "entries", "1 entry" },        { "boxes", "1 box" },
		{ "new writes", "1 new write" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_string_equal(words__count(1, known[i][0]).text, known[i][1]);
	assert_string_equal(words__count(0, "calls").text, "0 calls");
	assert_string_equal(words__count(12700, "calls").text, "12,700 calls");
	assert_string_equal(histogram__value(1, "pages").text, "1 page");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_a_row_for_each_power_of_two),
		cmocka_unit_test(bytes_have_binary_units),
		cmocka_unit_test(what_is_counted_is_named_and_ends_with_the_last_value),
		cmocka_unit_test(what_is_longer_than_all_buckets_has_no_end),
		cmocka_unit_test(a_wide_terminal_has_all_percentiles_that_the_count_carries),
		cmocka_unit_test(nothing_is_no_text),
		cmocka_unit_test(a_hostile_recording_stays_inside),
		cmocka_unit_test(one_is_singular),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
