/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/heap.h"
#include "signals/heap/heap.h"
#include "signals/heap/heap_files.h"
#include "signals/registry.h"

/* The columns, in their order. */
enum { BYTES, WEIGHT, CALLS };

static void assert_about(double is, double expected)
{
	if (fabs(is - expected) > 1e-6 * (fabs(expected) + 1))
		fail_msg("%g, not %g", is, expected);
}

/* --- records ---------------------------------------------------------------------------------- */

static struct heap_sample a_sample(void)
{
	return (struct heap_sample) { .head = { .size = sizeof(struct heap_sample), .version = 1 },
				      .thread = 9,
				      .stack = 77,
				      .bytes = 100,
				      .weight_bytes = 4096,
				      .operation = HEAP_CALLOC };
}

static const struct signal *the_signal(void)
{
	return registry__find("heap", 4);
}

static void a_sample_has_its_size_its_weight_and_its_stack(void **state)
{
	struct heap_sample record = a_sample();
	struct event event = {};

	assert_int_equal(the_signal()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.thread, 9);
	assert_int_equal(event.stack, 77);
	assert_string_equal(the_signal()->operation(event.operation), "calloc");
	assert_int_equal(event.values[BYTES].number, 100);
	assert_int_equal(event.values[WEIGHT].number, 4096);
	assert_true(event.values[CALLS].none);
}

static void decode_refuses_what_is_not_a_sample_and_leaves_the_output_alone(void **state)
{
	struct event event = { .thread = 5 };
	struct heap_sample record = a_sample();

	assert_int_equal(the_signal()->decode(&record, sizeof(record) - 1, &event), -EBADMSG);
	record.head.version = 2;
	assert_int_equal(the_signal()->decode(&record, sizeof(record), &event), -EBADMSG);
	record = a_sample();
	record.head.size--;
	assert_int_equal(the_signal()->decode(&record, sizeof(record), &event), -EBADMSG);
	record = a_sample();
	record.operation = HEAP_WINDOW;
	assert_int_equal(the_signal()->decode(&record, sizeof(record), &event), -EBADMSG);
	record = a_sample();
	record.bytes = 0;
	assert_int_equal(the_signal()->decode(&record, sizeof(record), &event), -EBADMSG);
	assert_int_equal(event.thread, 5);
	assert_null(the_signal()->operation(HEAP_OPERATIONS));
}

/* --- probes ----------------------------------------------------------------------------------- */

static void a_probe_goes_behind_code_that_only_compares(void **state)
{
	static const uint8_t test_then_jump[] = { 0x48, 0x85, 0xff, 0x74, 0x10 };
	static const uint8_t compare_then_push[] = { 0x80, 0x3d, 1, 2, 3, 4, 0, 0x55 };
	static const uint8_t push[] = { 0x55, 0x48, 0x89, 0xe5 };

	assert_int_equal(heap_files__skip(test_then_jump, sizeof(test_then_jump)), 3);
	assert_int_equal(heap_files__skip(compare_then_push, sizeof(compare_then_push)), 7);
	assert_int_equal(heap_files__skip(compare_then_push, 6), 0);
	assert_int_equal(heap_files__skip(push, sizeof(push)), 0);
	assert_int_equal(heap_files__skip(push, 0), 0);
}

/* --- estimates -------------------------------------------------------------------------------- */

/* Of slots of 100 ns each; those in which a window is not given have one of 10 ns, if any. */
static struct heap estimated(struct heap_slot *slots, size_t count)
{
	struct heap heap = { .slots = slots, .slot_count = count };

	for (size_t i = 0; i < count; i++) {
		slots[i].slot_ns = 100;
		if (!slots[i].window_ns && slots[i].cpu_ns > 0)
			slots[i].window_ns = 10;
	}
	assert_int_equal(heap__sum_up(&heap), 0);
	free(heap.groups);
	heap.groups = NULL;
	return heap;
}

static void windows_that_cover_everything_are_exact(void **state)
{
	struct heap_slot slots[] = {
		{ .bytes = 1000,
		  .calls = 10,
		  .frees = 3,
		  .cpu_ns = 5,
		  .slot_cpu_ns = 5,
		  .cost_ns = 9,
		  .window_ns = 100 },
		/* Its hits cost all of its CPU time. */
		{ .bytes = 24, .calls = 1, .frees = 1, .cost_ns = 1, .window_ns = 100 },
	};
	struct heap heap = estimated(slots, 2);

	assert_true(heap.is_exact);
	assert_about(heap.bytes.value, 1024);
	assert_about(heap.bytes.error, 0);
	assert_about(heap.calls.value, 11);
	assert_about(heap.frees.error, 0);
	assert_about(heap__covered(&heap), 1);
	assert_int_equal(heap__least_calls(&heap), 0);
}

/* Twice the CPU time, twice the bytes: there is nothing to be wrong about. */
static void windows_that_agree_have_no_error(void **state)
{
	struct heap_slot slots[] = {
		{ .bytes = 100, .cpu_ns = 10, .slot_cpu_ns = 100 },
		{ .bytes = 200, .cpu_ns = 20, .slot_cpu_ns = 50 },
		{ .bytes = 20, .cpu_ns = 2, .slot_cpu_ns = 50 },
		{ .bytes = 50, .cpu_ns = 5, .slot_cpu_ns = 50 },
		{ .bytes = 130, .cpu_ns = 13, .slot_cpu_ns = 100 },
		{ .slot_cpu_ns = 150 },
	};
	struct heap heap = estimated(slots, 6);

	assert_false(heap.is_exact);
	assert_int_equal(heap.windows, 5);
	assert_about(heap.bytes.value, 5000);
	assert_about(heap.bytes.error, 0);
	assert_about(heap__covered(&heap), 0.1);
	/* 0.9 to the power of 29 is 0.047. */
	assert_int_equal(heap__least_calls(&heap), 29);
}

/*
 * Bytes 8, 12, 8, 12, 8 and 12 in windows of CPU time 1, of 60: the rate is 10, and the total 600.
 * In each of the three pairs, the squares are 2 × 2², times n/(n−1) = 2: 16; scaled by 10² and
 * (1 − 0.1): 1440. With 3 degrees of freedom, t is 3.182. Half of the relative square is added.
 */
static void the_error_follows_from_how_windows_differ(void **state)
{
	struct heap_slot slots[6];
	double error = 3.182 * sqrt(3 * 1440);
	struct heap heap;

	for (size_t i = 0; i < 6; i++)
		slots[i] = (struct heap_slot) { .bytes = i % 2 ? 12 : 8,
						.cpu_ns = 1,
						.slot_cpu_ns = 10 };
	heap = estimated(slots, 6);
	assert_int_equal(heap.group_count, 3);
	assert_about(heap.bytes.value, 600);
	assert_about(heap.bytes.error, error + error * error / 1200);
}

/* One pair has almost all of the variance, so that the others tell nothing about it. */
static void an_error_from_one_pair_of_windows_is_large(void **state)
{
	struct heap_slot slots[6];
	double error = 12.706 * sqrt(2 * 36 * 2 * 100 * 0.9);
	struct heap heap;

	for (size_t i = 0; i < 6; i++)
		slots[i] = (struct heap_slot) { .bytes = i == 1 ? 16
							 : i    ? 10
								: 4,
						.cpu_ns = 1,
						.slot_cpu_ns = 10 };
	heap = estimated(slots, 6);
	assert_about(heap.bytes.error, error + error * error / 1200);
}

/* Two phases, with windows of 1/10 and 1/2 of their slots. Each phase has what its windows say. */
static void a_phase_with_longer_windows_has_no_more_weight(void **state)
{
	struct heap_slot slots[8];
	struct heap heap;

	for (size_t i = 0; i < 8; i++)
		slots[i] = i < 4 ? (struct heap_slot) { .calls = 100,
							.cpu_ns = 10,
							.window_ns = 10,
							.slot_cpu_ns = 100 }
				 : (struct heap_slot) { .calls = 50,
							.cpu_ns = 50,
							.window_ns = 50,
							.slot_cpu_ns = 100 };
	heap = estimated(slots, 8);
	assert_int_equal(heap.group_count, 4);
	assert_about(heap.calls.value, 4 * 1000 + 4 * 100);
	assert_about(heap.calls.error, 0);
}

/*
 * Hits take half of the time in a window, so that it has half of the calls that it would have
 * without them. In a server, that does not matter.
 */
static void a_window_that_hits_slow_down_weighs_more(void **state)
{
	struct heap_slot slots[] = {
		{ .calls = 100, .cpu_ns = 5, .cost_ns = 5, .slot_cpu_ns = 100 },
		{ .calls = 10, .cpu_ns = 10, .slot_cpu_ns = 100 },
	};
	struct heap heap = estimated(slots, 2);

	assert_true(heap.is_slowed);
	assert_about(heap.calls.value, 2000 + 100);
	slots[0].slot_cpu_ns = 50;
	slots[0].cost_ns = 50;
	heap = estimated(slots, 2);
	assert_false(heap.is_slowed);
	assert_about(heap.calls.value, 1000 + 100);
}

/* If the CPU time in windows varies, more of them are needed to tell what they stand for. */
static void a_program_that_runs_now_and_then_is_one_group(void **state)
{
	struct heap_slot slots[20];
	struct heap heap;

	for (size_t i = 0; i < 20; i++)
		slots[i] = (struct heap_slot) { .calls = i % 4 ? 0 : 40,
						.cpu_ns = i % 4 ? 0.1 : 37,
						.slot_cpu_ns = 100 };
	heap = estimated(slots, 20);
	assert_int_equal(heap.group_count, 1);
	assert_about(heap.calls.value, 2000 * 5 * 40 / (5 * 37 + 15 * 0.1));
}

/* Hits cost as much as the program: 15 % of that is 15 % of the estimate. */
static void the_cost_of_hits_is_known_within_limits(void **state)
{
	struct heap_slot slots[6];
	struct heap heap;

	for (size_t i = 0; i < 6; i++)
		slots[i] = (struct heap_slot) {
			.bytes = 10, .cpu_ns = 1, .cost_ns = 1, .slot_cpu_ns = 10, .slot_cost_ns = 1
		};
	heap = estimated(slots, 6);
	assert_about(heap.bytes.value, 600);
	assert_about(heap.bytes.error, 0.15 * 600);
	assert_about(heap__cost(&heap), 1. / 11);
}

/* A slot that is all window adds what it has, and says nothing about the others. */
static void a_slot_that_is_all_window_is_known(void **state)
{
	struct heap_slot slots[] = {
		{ .bytes = 7777, .cpu_ns = 10, .slot_cpu_ns = 10, .window_ns = 100 },
		{ .bytes = 100, .cpu_ns = 10, .slot_cpu_ns = 100 },
		{ .bytes = 200, .cpu_ns = 20, .slot_cpu_ns = 200 },
	};
	struct heap heap = estimated(slots, 3), no_windows;

	assert_about(heap.bytes.value, 7777 + 3000);
	assert_int_equal(heap.windows, 2);
	assert_about(heap__covered(&heap), 40. / 310);
	/* Unless there is nothing else. */
	slots[1] = slots[2] = (struct heap_slot) { .slot_cpu_ns = 5 };
	no_windows = estimated(slots, 3);
	assert_about(no_windows.bytes.value, 2 * 7777);
	assert_true(no_windows.bytes.error < 0);
}

static void few_windows_have_an_estimate_but_no_error(void **state)
{
	struct heap_slot slots[5];
	struct heap heap, none = estimated(NULL, 0);

	for (size_t i = 0; i < 5; i++)
		slots[i] = (struct heap_slot) { .bytes = 10, .cpu_ns = 1, .slot_cpu_ns = 10 };
	heap = estimated(slots, 4);
	assert_about(heap.bytes.value, 400);
	assert_true(heap.bytes.error < 0);
	heap = estimated(slots, 5);
	assert_about(heap.bytes.value, 500);
	assert_about(heap.bytes.error, 0);
	assert_false(none.is_exact);
	assert_about(none.bytes.value, 0);
	assert_true(none.bytes.error < 0);
	assert_about(heap__covered(&none), 0);
}

/* What is drawn within windows adds its own variance, also when windows cover everything. */
static void drawing_within_windows_adds_to_the_error(void **state)
{
	struct heap_slot slots[] = { { .cpu_ns = 1, .slot_cpu_ns = 1, .window_ns = 100 },
				     { .cpu_ns = 1, .slot_cpu_ns = 1, .window_ns = 100 } };
	struct heap heap = estimated(slots, 2);
	struct heap_ratio ratio = {};

	heap__add(&heap, &ratio, &slots[0], 10, 16);
	assert_about(heap__estimate(&heap, &ratio).value, 10);
	assert_about(heap__estimate(&heap, &ratio).error, 12.706 * 4);
}

static void student_has_the_values_of_the_tables(void **state)
{
	assert_true(isinf(heap__student(0)));
	assert_about(heap__student(1), 12.706);
	assert_about(heap__student(0.5), 12.706);
	assert_about(heap__student(1.5), (12.706 + 4.303) / 2);
	assert_about(heap__student(10), 2.228);
	assert_true(fabs(heap__student(30) - 2.042) < 0.002);
	assert_true(fabs(heap__student(60) - 2.000) < 0.002);
	assert_true(fabs(heap__student(1000) - 1.962) < 0.002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_its_size_its_weight_and_its_stack),
		cmocka_unit_test(decode_refuses_what_is_not_a_sample_and_leaves_the_output_alone),
		cmocka_unit_test(a_probe_goes_behind_code_that_only_compares),
		cmocka_unit_test(windows_that_cover_everything_are_exact),
		cmocka_unit_test(windows_that_agree_have_no_error),
		cmocka_unit_test(the_error_follows_from_how_windows_differ),
		cmocka_unit_test(an_error_from_one_pair_of_windows_is_large),
		cmocka_unit_test(a_phase_with_longer_windows_has_no_more_weight),
		cmocka_unit_test(a_window_that_hits_slow_down_weighs_more),
		cmocka_unit_test(a_program_that_runs_now_and_then_is_one_group),
		cmocka_unit_test(the_cost_of_hits_is_known_within_limits),
		cmocka_unit_test(a_slot_that_is_all_window_is_known),
		cmocka_unit_test(few_windows_have_an_estimate_but_no_error),
		cmocka_unit_test(drawing_within_windows_adds_to_the_error),
		cmocka_unit_test(student_has_the_values_of_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
