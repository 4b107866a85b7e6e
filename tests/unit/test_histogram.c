/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "vocabulary/histogram.h"

static void a_small_value_has_a_bucket_of_its_own(void **state)
{
	for (__u64 value = 0; value < 16; value++) {
		assert_int_equal(histogram_bucket(value), value);
		assert_int_equal(histogram_bucket_start((__u32)value), value);
	}
}

static void every_bucket_starts_where_the_one_before_ends(void **state)
{
	for (__u32 bucket = 1; bucket < HISTOGRAM_BUCKETS; bucket++) {
		__u64 start = histogram_bucket_start(bucket);

		assert_int_equal(histogram_bucket(start), bucket);
		assert_int_equal(histogram_bucket(start - 1), bucket - 1);
	}
}

static void a_buckets_middle_is_near_all_its_values(void **state)
{
	for (__u32 bucket = 0; bucket + 1 < HISTOGRAM_BUCKETS; bucket++) {
		__u64 start = histogram_bucket_start(bucket);
		__u64 end = histogram_bucket_start(bucket + 1);
		double middle = (double)(start + (end - start) / 2);

		assert_true(middle - (double)start <= 0.063 * (double)start);
		assert_true((double)(end - 1) - middle <= 0.063 * (double)(end - 1));
	}
}

static void the_last_bucket_takes_everything(void **state)
{
	assert_int_equal(histogram_bucket(1ull << HISTOGRAM_TOP_BIT), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_bucket((1ull << HISTOGRAM_TOP_BIT) - 1), HISTOGRAM_BUCKETS - 2);
	assert_int_equal(histogram_bucket(~0ull), HISTOGRAM_BUCKETS - 1);
	assert_true(histogram_bucket_start(HISTOGRAM_BUCKETS - 1) == 1ull << HISTOGRAM_TOP_BIT);
}

static void the_logarithm_is_exact(void **state)
{
	for (__u32 bit = 0; bit < 64; bit++) {
		assert_int_equal(histogram_log2(1ull << bit), bit);
		assert_int_equal(histogram_log2(bit == 63 ? ~0ull : (2ull << bit) - 1), bit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_value_has_a_bucket_of_its_own),
		cmocka_unit_test(every_bucket_starts_where_the_one_before_ends),
		cmocka_unit_test(a_buckets_middle_is_near_all_its_values),
		cmocka_unit_test(the_last_bucket_takes_everything),
		cmocka_unit_test(the_logarithm_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
