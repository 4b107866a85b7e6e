/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds made-up records of the ledger, for what a live machine does not show at will. */
#include "../harness.h"

#include <stdio.h>

#include "fold/folding.h"
#include "fold/proof.h"
#include "identity/identity.h"

static uint64_t workload_of(void *context, const struct folding_process *process)
{
	return process->cgroup_id;
}

static const char *service_of(void *context, uint64_t workload)
{
	return workload == 7 ? "seven" : "eight";
}

struct bench {
	struct folding *folding;
	struct bucket *step;
};

static struct bench make(void)
{
	const struct folding_options options = { workload_of, service_of, identity__fold_name,
						 NULL };
	const struct bucket_limits limits = { 1000, 8, 64 };
	struct bench bench;

	assert_int_equal(folding__new(&options, &bench.folding), 0);
	assert_int_equal(bucket__new(&limits, &bench.step), 0);
	return bench;
}

static void release(struct bench *bench)
{
	folding__free(bench->folding);
	bucket__free(bench->step);
}

/* A thread that has been in `slot` since since_ns; it began at 1000. */
static struct ledger_record record_of(uint64_t id, int slot, uint64_t since_ns, uint64_t now_ns)
{
	struct ledger_record record = {
		.head = { .size = sizeof(record),
			  .kind = LEDGER_THREAD,
			  .version = 1,
			  .time_ns = now_ns },
		.id = id,
		.pid = (uint32_t)id,
		.tid = (uint32_t)id,
		.cgroup_id = id < 10 ? 7 : 8,
		.account = { .slot = (uint32_t)slot, .since_ns = since_ns, .first_ns = 1000 },
	};

	snprintf(record.comm, sizeof(record.comm), "thread-%d", (int)id);
	record.wait = (struct ledger_key) { .thread = id, .slot = (uint8_t)slot };
	return record;
}

static void give(struct bench *bench, const struct ledger_record *record)
{
	assert_int_equal(folding__take(bench->folding, &record->head), 0);
}

static void begin(struct bench *bench, uint64_t now_ns, bool is_whole)
{
	bucket__clear(bench->step);
	assert_int_equal(folding__begin(bench->folding, now_ns, is_whole, bench->step), 0);
}

static void end(struct bench *bench)
{
	assert_int_equal(folding__end(bench->folding), 0);
	assert_true(bucket__closes(bench->step));
}

static uint64_t sum(const struct bench *bench, int slot, const char *by)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(bench->step, &count);
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].key.slot == slot && (!by || !strcmp(rows[i].key.by_service, by)))
			ns += rows[i].ns;
	return ns;
}

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

static struct ledger_key lock_of(uint64_t id, uint64_t by)
{
	return (struct ledger_key) { .thread = id,
				     .slot = SLOT_WAIT_LOCK_OWNED,
				     .object_kind = OBJECT_FUTEX,
				     .by = by,
				     .by_kind = BY_THREAD,
				     .evidence = EVIDENCE_OWNER };
}

static void a_finished_wait_is_booked_once_although_it_was_open_before(void **state)
{
	struct bench bench = make();
	struct ledger_record holder = record_of(11, SLOT_RUN_ANY, 1000, 1500);
	struct ledger_record record = record_of(1, SLOT_WAIT_LOCK_OWNED, 1000, 1500);
	struct ledger_key key = lock_of(1, 11);

	/* The holder's record comes after that of the waiter. */
	record.wait = key;
	begin(&bench, 1400, true);
	give(&bench, &record);
	give(&bench, &holder);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "eight"), 500);
	/* The wait ended at 1800, after 800 in all. */
	assert_int_equal(folding__take_wait(bench.folding, &key, &(struct ledger_sum) { 800, 1 }),
			 0);
	record = record_of(1, SLOT_RUN_ANY, 1800, 2500);
	record.account.ns[SLOT_WAIT_LOCK_OWNED] = 800;
	record.account.count[SLOT_WAIT_LOCK_OWNED] = 1;
	begin(&bench, 2400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "eight"), 300);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, NULL), 300);
	assert_int_equal(sum(&bench, SLOT_RUN_ANY, NULL), 700 + 900);
	release(&bench);
}

static struct ledger_key port_of(uint64_t id, uint16_t port)
{
	return (struct ledger_key) { .thread = id,
				     .slot = SLOT_WAIT_NET,
				     .object_kind = OBJECT_SOCKET,
				     .object = { LEDGER_SOCKET_CLASS(2, port, 0) } };
}

static uint64_t sum_of_object(const struct bench *bench, const char *object)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(bench->step, &count);
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].key.object, object))
			ns += rows[i].ns;
	return ns;
}

static void what_was_booked_ahead_is_taken_off_its_own_object(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_WAIT_NET, 1000, 1500);
	struct ledger_key first = port_of(1, 5432), second = port_of(1, 6379);

	record.wait = first;
	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum_of_object(&bench, "tcp :5432"), 500);
	/* The first wait took 800 in all; then one of 100 for the second, and now one more. */
	assert_int_equal(folding__take_wait(bench.folding, &first, &(struct ledger_sum) { 800, 1 }),
			 0);
	assert_int_equal(
		folding__take_wait(bench.folding, &second, &(struct ledger_sum) { 100, 1 }), 0);
	record = record_of(1, SLOT_WAIT_NET, 2100, 2500);
	record.wait = second;
	record.account.ns[SLOT_WAIT_NET] = 900;
	record.account.ns[SLOT_RUN_ANY] = 200;
	begin(&bench, 2400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum_of_object(&bench, "tcp :5432"), 300);
	assert_int_equal(sum_of_object(&bench, "tcp :6379"), 500);
	release(&bench);
}

static void the_cell_of_a_record_is_not_taken_twice(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1400, 1500);
	struct ledger_key key = lock_of(1, 1);

	record.account.ns[SLOT_WAIT_LOCK_OWNED] = 400;
	record.account.count[SLOT_WAIT_LOCK_OWNED] = 2;
	record.cell = key;
	record.cell_sum = (struct ledger_sum) { 400, 2 };
	begin(&bench, 1450, true);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"), 400);
	/* One more of 100, and the cell goes into the map. Another one of 50 has no sum yet. */
	assert_int_equal(folding__take_wait(bench.folding, &key, &(struct ledger_sum) { 500, 3 }),
			 0);
	record = record_of(1, SLOT_RUN_ANY, 1700, 2000);
	record.account.ns[SLOT_WAIT_LOCK_OWNED] = 550;
	record.account.ns[SLOT_RUN_ANY] = 150;
	record.account.count[SLOT_WAIT_LOCK_OWNED] = 4;
	begin(&bench, 1950, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"), 100);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, NULL), 150);
	assert_int_equal(folding__quality(bench.folding).unnamed_wait_ns, 50);
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

static void only_what_is_proven_is_called_idle_or_held_up(void **state)
{
	struct ledger_key wait = { .slot = SLOT_WAIT_POLL };

	assert_int_equal(proof__kind(&wait), KIND_UNDECIDED);
	wait.turn = TURN_ANSWERED;
	assert_int_equal(proof__kind(&wait), KIND_UNDECIDED);
	wait.turn = TURN_ASKED;
	assert_int_equal(proof__kind(&wait), KIND_DELAYING);
	wait = (struct ledger_key) { .slot = SLOT_WAIT_SLEEP };
	assert_int_equal(proof__kind(&wait), KIND_UNDECIDED);
	wait.in_request = 1;
	assert_int_equal(proof__kind(&wait), KIND_DELAYING);
	wait = (struct ledger_key) { .slot = SLOT_WAIT_LOCK };
	assert_int_equal(proof__kind(&wait), KIND_UNDECIDED);
	wait = (struct ledger_key) { .slot = SLOT_WAIT_ACCEPT };
	assert_int_equal(proof__kind(&wait), KIND_IDLE);
	wait = (struct ledger_key) { .slot = SLOT_WAIT_DISK };
	assert_int_equal(proof__kind(&wait), KIND_DELAYING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_that_gets_another_state_is_no_negative_count),
		cmocka_unit_test(a_thread_that_does_not_change_goes_on_in_its_state),
		cmocka_unit_test(a_state_that_was_booked_too_long_is_made_up_for),
		cmocka_unit_test(a_finished_wait_is_booked_once_although_it_was_open_before),
		cmocka_unit_test(what_was_booked_ahead_is_taken_off_its_own_object),
		cmocka_unit_test(the_cell_of_a_record_is_not_taken_twice),
		cmocka_unit_test(a_last_record_ends_a_thread_and_frees_it),
		cmocka_unit_test(a_thread_that_is_missing_twice_has_vanished),
		cmocka_unit_test(records_that_do_not_close_or_are_not_ours_are_counted),
		cmocka_unit_test(only_what_is_proven_is_called_idle_or_held_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
