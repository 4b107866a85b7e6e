/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap: what the program counts itself must be what the recording has, exactly if calls are few,
 * and else within what the report says.
 */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

struct truth {
	unsigned long calls, bytes, frees;
};

static char counter_file[64];

static struct truth read_truth(void)
{
	FILE *file = fopen(counter_file, "re");
	struct truth truth;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu %lu", &truth.calls, &truth.bytes, &truth.frees), 3);
	fclose(file);
	unlink(counter_file);
	return truth;
}

static json_t *heap_of(json_t *report)
{
	json_t *signals = json_object_get(report, "signals"), *one;
	size_t i;

	json_array_foreach (signals, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), "heap"))
			return json_object_get(one, "heap");
	fail_msg("the report has no heap");
	return NULL;
}

static json_t *record(const char *budget, const char *seconds, const char *work)
{
	struct output output;
	json_t *report;
	char path[64];

	snprintf(counter_file, sizeof(counter_file), "/tmp/heap-counter-%d", getpid());
	setenv("HEAP_COUNTER_FILE", counter_file, 1);
	trial__path(path, sizeof(path));
	output = live__gapless("record", "--memory-heap", "--signals", "none", "--budget", budget,
			       "--no-report", "-o", path, "--", workload__path("heap_user"),
			       seconds, work);
	if (output.status)
		fail_msg("gapless failed: %s", output.err);
	live__release(&output);
	report = trial__report(path);
	trial__remove(path);
	return report;
}

static double number_of(const json_t *heap, const char *name, const char *what)
{
	return json_number_value(json_object_get(json_object_get(heap, name), what));
}

static void assert_exact(const json_t *heap, const char *name, unsigned long truth)
{
	assert_int_equal(number_of(heap, name, "estimate"), truth);
	assert_int_equal(number_of(heap, name, "error"), 0);
}

/* Twice the interval, and an error that is no excuse for anything. */
static void assert_estimated(const json_t *heap, const char *name, unsigned long truth)
{
	double estimate = number_of(heap, name, "estimate"), error = number_of(heap, name, "error");

	print_message("%s: %.0f, estimated %.0f ± %.0f\n", name, (double)truth, estimate, error);
	if (estimate < (double)truth - 2 * error || estimate > (double)truth + 2 * error)
		fail_msg("%s: %lu, not %.0f ± %.0f", name, truth, estimate, error);
}

/* Without a budget, probes stay: every call counts, and a call that glibc passes on counts once. */
static void every_call_is_counted_once_if_probes_stay(void **state)
{
	json_t *report = record("none", "1", "100000"), *heap = heap_of(report);
	struct truth truth = read_truth();

	assert_true(json_is_true(json_object_get(heap, "exact")));
	assert_exact(heap, "calls", truth.calls);
	assert_exact(heap, "bytes", truth.bytes);
	assert_exact(heap, "frees", truth.frees);
	json_decref(report);
}

/* The function with most bytes leads the list of stacks. */
static void assert_led_by(const json_t *heap, const char *function)
{
	const json_t *first = json_array_get(json_object_get(heap, "stacks"), 0), *one;
	const json_t *functions = json_object_get(first, "functions");
	bool is_there = false;
	size_t i;

	json_array_foreach (functions, i, one)
		is_there |= !strcmp(json_string_value(one), function);
	if (!is_there)
		fail_msg("the first stack does not have '%s'", function);
}

static void many_calls_are_estimated(void **state)
{
	json_t *report = record("25%", "3", "1000"), *heap = heap_of(report);
	struct truth truth = read_truth();

	assert_true(json_is_false(json_object_get(heap, "exact")));
	assert_true(json_integer_value(json_object_get(heap, "windows")) > 0);
	if (json_integer_value(json_object_get(heap, "windows")) > 1) {
		assert_estimated(heap, "calls", truth.calls);
		assert_estimated(heap, "bytes", truth.bytes);
		assert_estimated(heap, "frees", truth.frees);
	}
	assert_led_by(heap, "large");
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_is_counted_once_if_probes_stay),
		HERE(many_calls_are_estimated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
