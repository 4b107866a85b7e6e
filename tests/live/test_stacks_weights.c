/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights: they are split over call paths as the time was, and add up to what the ledger has. */
#include "../harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stacks.h"

#define LEAST_WAITS 100

static const char *const paths[] = { "path_a", "path_b", "path_c" };

static struct stacks_recording split, waits;

static int record_all(void **state)
{
	const char *const *options = ARGS("-F", is_emulated() ? "99" : "999");

	split = stacks__record(options, WORKLOAD("split", is_emulated() ? "4000" : "5000"));
	waits = stacks__record(options, WORKLOAD("waits", "3000"));
	return 0;
}

static int release_all(void **state)
{
	stacks__release(&split);
	stacks__release(&waits);
	return 0;
}

static int64_t truth_ns(const char *path, const char *comm)
{
	return number_at(log_phase(split.log, path, comm), "ns");
}

/* What waiting costs on top, ready for a CPU, is on the same path. */
static int64_t sampled_ns(const char *path, const char *comm, bool is_runner)
{
	if (is_runner)
		return stacks__weight(&split, comm, "run", path);
	return stacks__weight(&split, comm, "wait", path) +
	       stacks__weight(&split, comm, "ready", path);
}

/* Two points, three standard errors of as many draws as there were, and what a hypervisor took. */
static void assert_split(const char *comm, bool is_runner)
{
	int64_t truth_sum_ns = 0, sampled_sum_ns = 0, draws = 0;

	for (int i = 0; i < 3; i++) {
		truth_sum_ns += truth_ns(paths[i], comm);
		sampled_sum_ns += sampled_ns(paths[i], comm, is_runner);
	}
	for (size_t i = 0; i < split.count; i++)
		draws += sample__is_of(&split.samples[i], comm, is_runner ? "run" : NULL);
	assert_true(draws > LEAST_WAITS);
	for (int i = 0; i < 3; i++) {
		double truth = (double)truth_ns(paths[i], comm) / (double)truth_sum_ns;
		double sampled =
			(double)sampled_ns(paths[i], comm, is_runner) / (double)sampled_sum_ns;
		double slack = 0.02 + 3 * sqrt(truth * (1 - truth) / (double)draws);

		if (is_runner)
			slack += (double)split.stolen_ns / (double)truth_sum_ns;

		print_message("# %s %s: %.2f %% of the time, %.2f %% of the weight\n", comm,
			      paths[i], truth * 100, sampled * 100);
		if (fabs(truth - sampled) > slack)
			fail_msg("%s %s: %.2f %%, should be %.2f ± %.2f", comm, paths[i],
				 sampled * 100, truth * 100, slack * 100);
	}
}

static void running_time_is_split_as_it_was(void **state)
{
	assert_split("split-run", true);
}

static void waiting_time_is_split_as_it_was(void **state)
{
	assert_split("split-wait", false);
}

static void nearly_all_of_it_is_on_one_of_the_paths(void **state)
{
	int64_t on_paths_ns = 0, all_ns = stacks__weight(&split, "split-run", "run", NULL);

	for (int i = 0; i < 3; i++)
		on_paths_ns += sampled_ns(paths[i], "split-run", true);
	assert_true(on_paths_ns * 100 >= all_ns * 90);
}

static void weights_fit_the_ledger_where_threads_run(void **state)
{
	assert_unbiased(&split);
}

static void weights_fit_the_ledger_where_threads_wait(void **state)
{
	assert_unbiased(&waits);
}

/*
 * Nearly all that the thread waited is on the path that it waited on. An emulated machine has so
 * few draws that only assert_unbiased() can compare them with the ledger.
 */
static void check_waits(const char *comm, const char *function)
{
	int64_t ledger_ns = sum_ns(waits.report, comm, "wait", NULL);
	int64_t on_path_ns = stacks__weight(&waits, comm, "wait", function);

	assert_true(ledger_ns > 0);
	assert_whole(&waits, comm, 20, is_emulated() ? 70 : 85);
	assert_true(on_path_ns * 10 > stacks__weight(&waits, comm, "wait", NULL) * 8);
	assert_true(is_emulated() || on_path_ns * 10 > ledger_ns * 8);
}

static void several_waits_in_one_call_keep_their_weight(void **state)
{
	check_waits("chunks", "write_chunks");
}

static void a_call_that_goes_on_after_signals_keeps_its_stack(void **state)
{
	check_waits("restarted", "read_once");
}

static void a_call_that_signals_break_off_keeps_its_stack(void **state)
{
	check_waits("broken-off", "poll_broken_off");
}

static void a_wait_for_a_page_has_a_stack(void **state)
{
	log_phase(waits.log, "fault", NULL);
	check_waits("fault", "touch");
}

/* Its process ends it, in the middle of its read. */
static void a_thread_that_is_never_back_keeps_its_weight(void **state)
{
	int64_t ledger_ns = sum_ns(waits.report, "never", "wait", NULL);

	assert_true(ledger_ns > 0);
	assert_near("never", stacks__weight(&waits, "never", "wait", NULL), ledger_ns);
}

static void who_ends_a_wait_has_a_stack_though_it_ends_on_another_cpu(void **state)
{
	int64_t all = 0, rung = 0;

	for (size_t i = 0; i < waits.count; i++) {
		const struct sample_row *sample = &waits.samples[i];

		if (!sample__is_of(sample, "bell-waiter", "wait"))
			continue;
		all++;
		if (strstr(sample->waker, ";ring_bell;"))
			rung++;
		else
			print_message("#   '%s'\n", sample->waker);
	}
	print_message("# %" PRId64 " of %" PRId64 " from ring_bell\n", rung, all);
	assert_true(all >= 20);
	assert_true(rung * 100 >= all * (is_emulated() ? 50 : 90));
}

static void threads_that_are_ready_have_stacks(void **state)
{
	int64_t ready_ns = stacks__weight(&waits, "crowd", "ready", NULL);

	assert_true(ready_ns > 0);
	assert_true(stacks__weight(&waits, "crowd", "ready", "crowd_member") * 10 > ready_ns * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(running_time_is_split_as_it_was),
		cmocka_unit_test(waiting_time_is_split_as_it_was),
		cmocka_unit_test(nearly_all_of_it_is_on_one_of_the_paths),
		cmocka_unit_test(weights_fit_the_ledger_where_threads_run),
		cmocka_unit_test(weights_fit_the_ledger_where_threads_wait),
		cmocka_unit_test(several_waits_in_one_call_keep_their_weight),
		cmocka_unit_test(a_call_that_goes_on_after_signals_keeps_its_stack),
		cmocka_unit_test(a_call_that_signals_break_off_keeps_its_stack),
		cmocka_unit_test(a_wait_for_a_page_has_a_stack),
		cmocka_unit_test(a_thread_that_is_never_back_keeps_its_weight),
		cmocka_unit_test(who_ends_a_wait_has_a_stack_though_it_ends_on_another_cpu),
		cmocka_unit_test(threads_that_are_ready_have_stacks),
	};

	return cmocka_run_group_tests(tests, record_all, release_all);
}
