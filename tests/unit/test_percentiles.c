/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Percentiles from buckets, against known values. */
#include "../harness.h"

#include <stdlib.h>

#include "vocabulary/histogram.h"
#include "vocabulary/percentiles.h"

static struct bucket at(uint64_t value, int64_t count)
{
	return (struct bucket) { (int)histogram_bucket(value), count };
}

static void each_is_the_middle_of_the_bucket_that_its_value_is_in(void **state)
{
	const struct bucket buckets[] = { at(1000, 500), at(2000, 400), at(4000, 50),
					  at(8000, 40),  at(16000, 9),  at(1000000, 1) };
	int64_t values[PERCENTILES];

	percentiles__find(buckets, 6, 1000, 0, values);
	assert_int_equal(values[P50], 992);
	assert_int_equal(values[P90], 1984);
	assert_int_equal(values[P95], 3968);
	assert_int_equal(values[P99], 7936);
	assert_int_equal(values[P999], 15872);
}

static void one_value_more_is_in_the_next_bucket(void **state)
{
	const struct bucket buckets[] = { at(1000, 989), at(1000000, 11) };
	int64_t values[PERCENTILES];

	percentiles__find(buckets, 2, 1000, 0, values);
	assert_int_equal(values[P95], 992);
	assert_int_equal(values[P99], 1015808);
}

static void a_percentile_has_no_value_where_too_few_values_carry_it(void **state)
{
	static const int64_t least[PERCENTILES] = { 2, 10, 20, 100, 1000 };

	for (int i = 0; i < PERCENTILES; i++)
		for (int64_t count = least[i] - 1; count <= least[i]; count++) {
			const struct bucket bucket = at(5, count);
			int64_t values[PERCENTILES];

			percentiles__find(&bucket, 1, count, 0, values);
			for (int j = 0; j < PERCENTILES; j++)
				assert_int_equal(values[j], count >= least[j] ? 5 : -1);
		}
}

static void none_is_above_the_largest_value_seen(void **state)
{
	const struct bucket buckets[] = { at(1000, 50), at(1000000, 50) };
	int64_t values[PERCENTILES];

	percentiles__find(buckets, 2, 100, 1000000, values);
	assert_int_equal(values[P50], 992);
	assert_int_equal(values[P90], 1000000);
	assert_int_equal(values[P99], 1000000);
	percentiles__find(buckets, 2, 100, 5, values);
	assert_int_equal(values[P50], 5);
}

static void nothing_has_none(void **state)
{
	int64_t values[PERCENTILES];

	percentiles__find(NULL, 0, 0, 0, values);
	for (int i = 0; i < PERCENTILES; i++)
		assert_int_equal(values[i], -1);
	assert_int_equal(percentiles__highest(values), P50);
}

static void the_highest_is_p99_at_most(void **state)
{
	static const enum percentile highest[] = { P50, P90, P95, P99, P99 };

	for (int i = 0; i < PERCENTILES; i++) {
		int64_t count = percentiles__words(i)->least, values[PERCENTILES];
		const struct bucket bucket = at(5, count);

		percentiles__find(&bucket, 1, count, 0, values);
		assert_int_equal(percentiles__highest(values), highest[i]);
	}
}

static void buckets_and_counts_that_cannot_be_stay_inside(void **state)
{
	const struct bucket buckets[] = { { -5, INT64_MAX / 4 }, { 1 << 30, INT64_MAX / 4 } };
	int64_t values[PERCENTILES];

	percentiles__find(buckets, 2, INT64_MAX / 2, 0, values);
	assert_int_equal(values[P50], 0);
	assert_true(values[P999] > 1ll << HISTOGRAM_TOP_BIT);
}

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void they_are_within_their_bucket_of_the_exact_ones(void **state)
{
	enum { COUNT = 10000 };
	static int64_t values[COUNT];
	static struct bucket buckets[HISTOGRAM_BUCKETS];

	srand(7);
	for (int round = 0; round < 20; round++) {
		int64_t found[PERCENTILES];

		for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
			buckets[i] = (struct bucket) { i, 0 };
		for (int i = 0; i < COUNT; i++) {
			values[i] = (int64_t)rand() % (1ll << (rand() % 30 + 1));
			buckets[histogram_bucket((__u64)values[i])].count++;
		}
		qsort(values, COUNT, sizeof(*values), compare_values);
		percentiles__find(buckets, HISTOGRAM_BUCKETS, COUNT, 0, found);
		for (int i = 0; i < PERCENTILES; i++) {
			int at = COUNT / 1000 * percentiles__words(i)->per_mille - 1;
			double exact = (double)values[at];

			assert_true((double)found[i] <= exact * 1.063 &&
				    (double)found[i] >= exact * 0.937);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_the_middle_of_the_bucket_that_its_value_is_in),
		cmocka_unit_test(one_value_more_is_in_the_next_bucket),
		cmocka_unit_test(a_percentile_has_no_value_where_too_few_values_carry_it),
		cmocka_unit_test(none_is_above_the_largest_value_seen),
		cmocka_unit_test(nothing_has_none),
		cmocka_unit_test(the_highest_is_p99_at_most),
		cmocka_unit_test(buckets_and_counts_that_cannot_be_stay_inside),
		cmocka_unit_test(they_are_within_their_bucket_of_the_exact_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
