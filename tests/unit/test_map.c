/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "base/map.h"

#define KEYS 5000

static void what_is_put_is_found_and_what_is_taken_is_gone(void **state)
{
	struct map map = {};
	int value;

	assert_null(map__get(&map, 1));
	assert_null(map__take(&map, 1));
	assert_int_equal(map__put(&map, 1, &value), 0);
	assert_ptr_equal(map__get(&map, 1), &value);
	assert_int_equal(map.count, 1);
	assert_int_equal(map__put(&map, 1, &map), 0);
	assert_int_equal(map.count, 1);
	assert_ptr_equal(map__take(&map, 1), &map);
	assert_null(map__get(&map, 1));
	assert_int_equal(map.count, 0);
	map__release(&map);
}

/* Against an array that is right by being stupid; few distinct keys, so that chains form. */
static void random_changes_agree_with_an_array(void **state)
{
	static void *expected[KEYS];
	struct map map = {};
	size_t at = 0, count = 0;
	uint64_t random = 1;

	for (int i = 0; i < 200000; i++) {
		uint64_t key;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		key = (random >> 33) % KEYS;
		if (random >> 63) {
			assert_int_equal(map__put(&map, key << 32, &expected[key]), 0);
			expected[key] = &expected[key];
		} else {
			assert_ptr_equal(map__take(&map, key << 32), expected[key]);
			expected[key] = NULL;
		}
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		assert_ptr_equal(map__get(&map, key << 32), expected[key]);
		count += expected[key] != NULL;
	}
	assert_int_equal(map.count, count);
	while (map__next(&map, &at))
		count--;
	assert_int_equal(count, 0);
	map__release(&map);
}

static bool is_odd(void *context, uint64_t key, void *value)
{
	assert_ptr_equal(value, context);
	return key >> 32 & 1;
}

static void a_sweep_takes_out_what_is_over_and_leaves_the_rest(void **state)
{
	struct map map = {};
	int value;

	map__sweep(&map, is_odd, &value);
	for (uint64_t key = 0; key < KEYS; key++)
		assert_int_equal(map__put(&map, key << 32, &value), 0);
	map__sweep(&map, is_odd, &value);
	assert_int_equal(map.count, (KEYS + 1) / 2);
	for (uint64_t key = 0; key < KEYS; key++)
		assert_ptr_equal(map__get(&map, key << 32), key & 1 ? NULL : &value);
	map__release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_found_and_what_is_taken_is_gone),
		cmocka_unit_test(random_changes_agree_with_an_array),
		cmocka_unit_test(a_sweep_takes_out_what_is_over_and_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
