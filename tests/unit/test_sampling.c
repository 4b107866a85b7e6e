/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <stdlib.h>
#include <string.h>

#include "fold/sampling.h"

static struct sampling *make(size_t most_rows, size_t most_stacks)
{
	const struct sampling_limits limits = { most_rows, most_stacks };
	struct sampling *sampling;

	assert_int_equal(sampling__new(&limits, &sampling), 0);
	return sampling;
}

static uint64_t add_stack(struct sampling *sampling, uint64_t module, uint64_t offset)
{
	const uint64_t modules[] = { 7, module }, offsets[] = { 1, offset };
	uint64_t hash = 99;

	assert_int_equal(sampling__add_stack(sampling, modules, offsets, 2, &hash), 0);
	return hash;
}

static void add(struct sampling *sampling, uint64_t workload, uint64_t stack, uint64_t ns)
{
	const struct sampling_key key = { .workload = workload,
					  .stack = stack,
					  .slot = SLOT_RUN_ANY };

	assert_int_equal(sampling__add(sampling, &key, ns, 1, 1.0), 0);
}

static uint64_t sum_of(const struct sampling *sampling)
{
	size_t count;
	const struct sampling_row *rows = sampling__rows(sampling, &count);
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		ns += rows[i].ns;
	return ns;
}

static void samples_of_one_stack_are_one_row(void **state)
{
	struct sampling *sampling = make(10, 10);
	const struct sampling_stack *stacks;
	const struct sampling_row *rows;
	uint64_t stack = add_stack(sampling, 8, 0x10);
	size_t count;

	assert_int_equal(add_stack(sampling, 8, 0x10), stack);
	add(sampling, 1, stack, 3);
	add(sampling, 1, stack, 4);
	add(sampling, 2, stack, 5);
	rows = sampling__rows(sampling, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].ns, 7);
	assert_int_equal(rows[0].n, 2);
	assert_true(rows[0].ns2 == 25);
	assert_int_equal(rows[1].key.workload, 2);
	stacks = sampling__stacks(sampling, &count);
	assert_int_equal(count, 1);
	assert_int_equal(stacks[0].hash, stack);
	assert_int_equal(stacks[0].depth, 2);
	assert_int_equal(stacks[0].modules[1], 8);
	assert_int_equal(stacks[0].offsets[1], 0x10);
	sampling__free(sampling);
}

static void hashes_depend_on_the_frames_and_their_order_alone(void **state)
{
	const uint64_t modules[] = { 1, 2 }, offsets[] = { 3, 4 };
	const uint64_t turned[] = { 2, 1 }, turned_offsets[] = { 4, 3 };
	uint64_t hash = sampling__hash_stack(modules, offsets, 2);

	assert_int_equal(sampling__hash_stack(modules, offsets, 2), hash);
	assert_int_not_equal(sampling__hash_stack(turned, turned_offsets, 2), hash);
	assert_int_not_equal(sampling__hash_stack(modules, offsets, 1), hash);
	assert_int_not_equal(sampling__hash_stack(modules, offsets, 0), SAMPLING_OTHER);
	assert_int_equal(sampling__hash_build_id("ab01"), sampling__hash_build_id("ab01"));
	assert_int_not_equal(sampling__hash_build_id("ab01"), sampling__hash_build_id("ab10"));
	assert_int_not_equal(sampling__hash_file("/a", 1), sampling__hash_file("/a", 2));
	assert_int_not_equal(sampling__hash_file("/a", 1), sampling__hash_file("/b", 1));
	/* A fleet compares them between versions too: they must stay what they are. */
	assert_int_equal(hash, UINT64_C(0x77e5e075feeea7fb));
	assert_int_equal(sampling__hash_build_id("ab01"), UINT64_C(0x244e9d8a79322f73));
}

static void weights_are_conserved_beyond_the_limit_of_stacks(void **state)
{
	struct sampling *sampling = make(1000, 3);
	size_t count;

	for (uint64_t i = 0; i < 10; i++)
		add(sampling, 1, add_stack(sampling, 8, i), 100 + i);
	assert_int_equal(sum_of(sampling), 1045);
	(void)sampling__stacks(sampling, &count);
	assert_int_equal(count, 3);
	(void)sampling__rows(sampling, &count);
	assert_int_equal(count, 4); /* three stacks and "(other)" */
	assert_int_equal(sampling__folded(sampling), 7);
	sampling__free(sampling);
}

static void weights_are_conserved_beyond_the_limit_of_rows(void **state)
{
	struct sampling *sampling = make(5, 1000);
	const struct sampling_row *rows;
	size_t count;

	for (uint64_t i = 0; i < 1000; i++)
		add(sampling, i % 100, add_stack(sampling, 8, i), i);
	assert_int_equal(sum_of(sampling), 999 * 500);
	rows = sampling__rows(sampling, &count);
	assert_int_equal(count, 11); /* twice the limit, and one for all other workloads */
	assert_int_equal(rows[10].key.workload, UINT64_MAX);
	assert_int_equal(rows[10].key.stack, SAMPLING_OTHER);
	assert_true(sampling__folded(sampling) > 0);
	sampling__free(sampling);
}

static void weights_are_divided_by_the_probability(void **state)
{
	struct sampling *sampling = make(5, 5);
	const struct sampling_key key = { .workload = 1, .slot = SLOT_RUN_ANY };
	const struct sampling_row *rows;
	size_t count;

	assert_int_equal(sampling__add(sampling, &key, 10, 1, 0.1), 0);
	assert_int_equal(sampling__add(sampling, &key, 10, 4, 0.1), 0);
	rows = sampling__rows(sampling, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].ns, 200);
	assert_int_equal(rows[0].n, 5);
	/* 100² and 4 × 25² */
	assert_true(rows[0].ns2 > 12499 && rows[0].ns2 < 12501);
	sampling__clear(sampling);
	(void)sampling__rows(sampling, &count);
	assert_int_equal(count, 0);
	add(sampling, 1, add_stack(sampling, 8, 9), 1);
	assert_int_equal(sum_of(sampling), 1);
	sampling__free(sampling);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_one_stack_are_one_row),
		cmocka_unit_test(hashes_depend_on_the_frames_and_their_order_alone),
		cmocka_unit_test(weights_are_conserved_beyond_the_limit_of_stacks),
		cmocka_unit_test(weights_are_conserved_beyond_the_limit_of_rows),
		cmocka_unit_test(weights_are_divided_by_the_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
