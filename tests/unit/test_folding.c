/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds made-up records of the ledger, for what a live machine does not show at will. */
#include "folded.h"

static uint64_t count(const struct bench *bench, int slot)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(bench->step, &count);
	uint64_t begun = 0;

	for (size_t i = 0; i < count; i++)
		begun += rows[i].key.slot == slot ? rows[i].count : 0;
	return begun;
}

static void an_interval_that_gets_another_state_is_no_negative_count(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_WAIT_POLL, 1000, 1500);

	record.account.count[SLOT_WAIT_POLL] = 3;
	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(count(&bench, SLOT_WAIT_POLL), 3);
	/* The open one was a wait for a disk. */
	record = record_of(1, SLOT_WAIT_DISK, 1000, 2500);
	record.account.count[SLOT_WAIT_POLL] = 2;
	record.account.count[SLOT_WAIT_DISK] = 1;
	begin(&bench, 2400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(count(&bench, SLOT_WAIT_POLL), 0);
	assert_int_equal(count(&bench, SLOT_WAIT_DISK), 1);
	/* The next one makes up for it. */
	record = record_of(1, SLOT_WAIT_POLL, 3000, 3500);
	record.account.ns[SLOT_WAIT_DISK] = 2000;
	record.account.count[SLOT_WAIT_POLL] = 4;
	record.account.count[SLOT_WAIT_DISK] = 1;
	begin(&bench, 3400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(count(&bench, SLOT_WAIT_POLL), 1);
	release(&bench);
}

static void a_thread_that_does_not_change_goes_on_in_its_state(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_WAIT_POLL, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 500);
	begin(&bench, 2400, false);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 900);
	/* It ran from 2600 on. */
	record = record_of(1, SLOT_RUN_ANY, 2600, 3000);
	record.account.ns[SLOT_WAIT_POLL] = 1600;
	begin(&bench, 2900, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 200);
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 400);
	release(&bench);
}

static void a_state_that_was_booked_too_long_is_made_up_for(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	/* Its record of this step is torn, so it seems to run on until 2400. */
	begin(&bench, 2400, false);
	end(&bench);
	/* In fact it has waited since 1600. */
	record = record_of(1, SLOT_WAIT_DISK, 1600, 3400);
	record.account.ns[SLOT_RUN_ANY] = 600;
	begin(&bench, 3300, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_DISK, NULL), 1000);
	/* The next record has the rest. */
	record = record_of(1, SLOT_RUN_ANY, 4000, 5400);
	record.account.ns[SLOT_RUN_ANY] = 600;
	record.account.ns[SLOT_WAIT_DISK] = 2400;
	begin(&bench, 5300, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_DISK, NULL) + sum(&bench, SLOT_RUN_ANY, NULL), 2000);
	assert_int_equal(sum(&bench, SLOT_WAIT_DISK, NULL), 1400);
	release(&bench);
}

static void a_last_record_ends_a_thread_and_frees_it(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1000, 1500);

	record.head.kind = LEDGER_EXIT;
	give(&bench, &record);
	assert_int_equal(folding__ended(bench.folding), 1);
	begin(&bench, 1600, false);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 500);
	assert_int_equal(folding__threads(bench.folding), 0);
	/* One that a snapshot has booked beyond its end. */
	record = record_of(2, SLOT_RUN_ANY, 1000, 1700);
	begin(&bench, 1650, false);
	give(&bench, &record);
	end(&bench);
	record.head.kind = LEDGER_EXIT;
	record.head.time_ns = 1690;
	give(&bench, &record);
	begin(&bench, 1800, false);
	end(&bench);
	assert_int_equal(folding__quality(bench.folding).overbooked_ns, 10);
	assert_int_equal(folding__threads(bench.folding), 0);
	release(&bench);
}

static const struct folding_call *call_of(const struct bench *bench, uint64_t workload,
					  uint32_t number)
{
	size_t count;
	const struct folding_call *calls = folding__calls(bench->folding, &count);

	for (size_t i = 0; i < count; i++)
		if (calls[i].workload == workload && calls[i].number == number)
			return &calls[i];
	return NULL;
}

static void take_calls(struct bench *bench, uint64_t thread, uint64_t number, uint32_t count)
{
	const struct ledger_thread_call call = { .thread = thread, .number = number };
	const struct ledger_call_sum sum = { .count = count, .errors = 1, .total_ns = 10 };

	assert_int_equal(folding__take_calls(bench->folding, &call, &sum), 0);
}

/* Also those of threads that the step sees later, or that have ended. */
static void calls_are_added_up_by_workload(void **state)
{
	struct bench bench = make();
	struct ledger_record ended = record_of(1, SLOT_RUN_ANY, 1000, 1500);
	struct ledger_record alive = record_of(2, SLOT_RUN_ANY, 1000, 1600);

	ended.head.kind = LEDGER_EXIT;
	give(&bench, &ended);
	take_calls(&bench, 1, 5, 3);
	take_calls(&bench, 2, 5, 4);
	take_calls(&bench, 2, 6, 1);
	take_calls(&bench, 0, 5, 9); /* of short lives */
	begin(&bench, 1600, true);
	give(&bench, &alive);
	end(&bench);
	assert_int_equal(call_of(&bench, 7, 5)->count, 7);
	assert_int_equal(call_of(&bench, FOLDING_NOBODY, 5)->count, 9);
	assert_int_equal(call_of(&bench, FOLDING_NOBODY, 5)->errors, 1);
	begin(&bench, 1700, false);
	end(&bench);
	assert_null(call_of(&bench, FOLDING_NOBODY, 5));
	release(&bench);
}

static void a_thread_that_ends_during_a_snapshot_does_not_go_on(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_WAIT_POLL, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	/* It ran from 1600 on and ended at 2000. */
	record = record_of(1, SLOT_RUN_ANY, 1600, 2000);
	record.account.ns[SLOT_WAIT_POLL] = 600;
	record.head.kind = LEDGER_EXIT;
	begin(&bench, 2400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 0);
	begin(&bench, 3400, false);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 100);
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 400);
	assert_int_equal(folding__threads(bench.folding), 0);
	assert_int_equal(folding__quality(bench.folding).overbooked_ns, 0);
	release(&bench);
}

static void a_thread_that_is_missing_twice_has_vanished(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(folding__threads(bench.folding), 1);
		begin(&bench, 2000 + (uint64_t)i, true);
		end(&bench);
	}
	assert_int_equal(folding__threads(bench.folding), 0);
	assert_int_equal(folding__quality(bench.folding).vanished, 1);
	release(&bench);
}

static void a_thread_that_is_missing_does_not_go_on_in_its_state(void **state)
{
	struct bench bench = make();
	struct ledger_record gone = record_of(1, SLOT_WAIT_POLL, 1000, 1500);
	struct ledger_record torn = record_of(2, SLOT_WAIT_POLL, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &gone);
	give(&bench, &torn);
	end(&bench);
	begin(&bench, 2400, false);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 1800);
	begin(&bench, 3400, true);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 0);
	begin(&bench, 4400, false);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 0);
	/* One of them is there after all, and has lost nothing. */
	torn.head.time_ns = 5500;
	begin(&bench, 5400, true);
	give(&bench, &torn);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_POLL, NULL), 3100);
	assert_int_equal(folding__threads(bench.folding), 1);
	assert_int_equal(folding__quality(bench.folding).vanished, 1);
	assert_int_equal(folding__quality(bench.folding).overbooked_ns, 900);
	release(&bench);
}

static void a_step_that_fails_loses_nothing_and_ends_nobody(void **state)
{
	struct bench bench = make();
	struct ledger_record first = record_of(1, SLOT_RUN_ANY, 1000, 1500);
	struct ledger_record second = record_of(2, SLOT_RUN_ANY, 1000, 1500);

	begin(&bench, 1400, true);
	give(&bench, &first);
	give(&bench, &second);
	end(&bench);
	bucket__clear(bench.step);
	/* Several whole snapshots fail after the first thread. The rows go on in one bucket. */
	for (uint64_t now_ns = 2000; now_ns <= 5000; now_ns += 1000) {
		first.head.time_ns = now_ns;
		assert_int_equal(
			folding__begin(bench.folding, now_ns - 100, now_ns > 2000, bench.step), 0);
		give(&bench, &first);
		folding__give_up(bench.folding);
		assert_true(bucket__closes(bench.step));
	}
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 3500);
	second = record_of(2, SLOT_WAIT_DISK, 1600, 6000);
	second.account.ns[SLOT_RUN_ANY] = 600;
	first.head.time_ns = 6000;
	assert_int_equal(folding__begin(bench.folding, 5900, true, bench.step), 0);
	give(&bench, &first);
	give(&bench, &second);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 4500 + 100);
	assert_int_equal(sum(&bench, SLOT_WAIT_DISK, NULL), 4400);
	assert_int_equal(folding__threads(bench.folding), 2);
	assert_int_equal(folding__quality(bench.folding).vanished, 0);
	release(&bench);
}

static void records_that_do_not_close_or_are_not_ours_are_counted(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1100, 1500);

	begin(&bench, 1400, true);
	give(&bench, &record);
	record.head.size--;
	give(&bench, &record);
	record = record_of(1, SLOT_COUNT, 1000, 1500);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(folding__threads(bench.folding), 0);
	assert_int_equal(folding__quality(bench.folding).torn, 2);
	assert_int_equal(folding__quality(bench.folding).malformed, 1);
	release(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_that_gets_another_state_is_no_negative_count),
		cmocka_unit_test(a_thread_that_does_not_change_goes_on_in_its_state),
		cmocka_unit_test(a_state_that_was_booked_too_long_is_made_up_for),
		cmocka_unit_test(a_last_record_ends_a_thread_and_frees_it),
		cmocka_unit_test(calls_are_added_up_by_workload),
		cmocka_unit_test(a_thread_that_ends_during_a_snapshot_does_not_go_on),
		cmocka_unit_test(a_thread_that_is_missing_twice_has_vanished),
		cmocka_unit_test(a_thread_that_is_missing_does_not_go_on_in_its_state),
		cmocka_unit_test(a_step_that_fails_loses_nothing_and_ends_nobody),
		cmocka_unit_test(records_that_do_not_close_or_are_not_ours_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
