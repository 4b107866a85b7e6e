/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with a period that the clock's mean period divides: ticks still hit all parts of it. */
#include "../harness.h"

#include <inttypes.h>
#include <math.h>

#include "stacks.h"

#define SEED "20260704"

static struct stacks_recording recording;

static int record(void **state)
{
	/* Two ticks for each period of the program, on average; an emulated machine is slower. */
	const char *rate = is_emulated() ? "100" : "1000";
	const char *period_us = is_emulated() ? "20000" : "2000";

	recording =
		stacks__record(ARGS("-F", rate, "--seed", SEED),
			       WORKLOAD("lockstep", period_us, is_emulated() ? "4000" : "2000"));
	return 0;
}

static int release(void **state)
{
	stacks__release(&recording);
	return 0;
}

static void check_part(const char *part)
{
	double truth_ns = (double)number_at(log_phase(recording.log, part, "lockstep"), "ns");
	double sum_ns = 0, variance = 0, error_ns, slack_ns;
	char wanted[32];

	snprintf(wanted, sizeof(wanted), ";%s;", part);
	for (size_t i = 0; i < recording.count; i++) {
		const struct sample_row *sample = &recording.samples[i];

		if (!sample__is_of(sample, "lockstep", "run") || !strstr(sample->line, wanted))
			continue;
		sum_ns += (double)sample->weight_ns;
		variance += (double)sample->weight_ns * (double)sample->weight_ns;
	}
	error_ns = sqrt(variance);
	print_message("# %s: %.0f ms, by its samples %.0f ±%.0f\n", part, truth_ns / 1e6,
		      sum_ns / 1e6, 2 * error_ns / 1e6);
	/* The workload's clock leaves out what the hypervisor took. */
	slack_ns = 3.5 * error_ns + 0.02 * truth_ns;
	if (truth_ns - sum_ns > slack_ns ||
	    sum_ns - truth_ns > slack_ns + (double)recording.stolen_ns)
		fail_msg("%s: %.0f ms, should be %.0f", part, sum_ns / 1e6, truth_ns / 1e6);
}

static void the_early_part_has_its_time(void **state)
{
	check_part("early_part");
}

static void the_late_part_has_its_time(void **state)
{
	check_part("late_part");
}

static void weights_fit_the_ledger(void **state)
{
	assert_unbiased(&recording);
}

/* The mean stays what was asked for, and weights are spread from half of it to twice as much. */
static void periods_differ(void **state)
{
	int64_t ticks = 0, short_ones = 0, long_ones = 0;

	for (size_t i = 0; i < recording.count; i++) {
		const struct sample_row *sample = &recording.samples[i];

		if (!sample->is_tick)
			continue;
		ticks++;
		short_ones += sample->weight_ns * 10 < sample->period_ns * 9;
		long_ones += sample->weight_ns * 10 > sample->period_ns * 11;
	}
	print_message("# of %" PRId64 " ticks, %" PRId64 " weigh less and %" PRId64 " more\n",
		      ticks, short_ones, long_ones);
	assert_true(short_ones * 10 > ticks && long_ones * 10 > ticks);
}

static void the_seed_is_in_the_recording(void **state)
{
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_prepare_v2(recording.db,
					    "SELECT value FROM meta WHERE key = 'sample_seed'", -1,
					    &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), SEED);
	sqlite3_finalize(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(the_early_part_has_its_time),
		HERE(the_late_part_has_its_time),
		cmocka_unit_test(weights_fit_the_ledger),
		cmocka_unit_test(periods_differ),
		cmocka_unit_test(the_seed_is_in_the_recording),
	};

	return cmocka_run_group_tests(tests, record, release);
}
