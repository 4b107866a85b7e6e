/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds waits: what they were for, who ended them, and what is proven by that. */
#include "folded.h"

#include "fold/proof.h"

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

static void a_sum_that_was_lost_does_not_take_the_names_of_later_waits(void **state)
{
	struct bench bench = make();
	struct ledger_record record = record_of(1, SLOT_WAIT_NET, 1000, 1500);
	struct ledger_key key = port_of(1, 5432);

	folding__expect_sums(bench.folding, 1390);
	begin(&bench, 1400, true);
	give(&bench, &record);
	end(&bench);
	/* The wait ended at 2000, and its sum does not come. */
	record = record_of(1, SLOT_RUN_ANY, 2000, 2500);
	record.account.ns[SLOT_WAIT_NET] = 1000;
	folding__expect_sums(bench.folding, 2390);
	begin(&bench, 2400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(folding__quality(bench.folding).unnamed_wait_ns, 500);
	/* One of 110 ended just before the snapshot; its sum comes later. Another one lasts. */
	record = record_of(1, SLOT_WAIT_NET, 3460, 3500);
	record.wait = key;
	record.account.ns[SLOT_WAIT_NET] = 1110;
	record.account.ns[SLOT_RUN_ANY] = 1350;
	folding__expect_sums(bench.folding, 3390);
	begin(&bench, 3400, false);
	give(&bench, &record);
	end(&bench);
	/* Now with a sum: that of 110, the one that lasted until 3900, and one of 300. */
	assert_int_equal(folding__take_wait(bench.folding, &key, &(struct ledger_sum) { 850, 3 }),
			 0);
	record = record_of(1, SLOT_RUN_ANY, 4300, 4500);
	record.account.ns[SLOT_WAIT_NET] = 1850;
	record.account.ns[SLOT_RUN_ANY] = 1450;
	folding__expect_sums(bench.folding, 4390);
	begin(&bench, 4400, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum_of_object(&bench, "tcp :5432"), 850 - 150);
	assert_int_equal(sum(&bench, SLOT_WAIT_NET, NULL), 700);
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
	record.cell_number = 1;
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
	record.cell_number = 2;
	begin(&bench, 1950, false);
	give(&bench, &record);
	end(&bench);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"), 100);
	assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, NULL), 150);
	assert_int_equal(folding__quality(bench.folding).unnamed_wait_ns, 50);
	release(&bench);
}

/* Thread 1 has waited for `wait_ns` in all, in `count` waits; its cell has this sum. */
static void step_with_cell(struct bench *bench, uint64_t now_ns, uint64_t wait_ns, uint32_t count,
			   uint32_t number, const struct ledger_key *key, struct ledger_sum sum)
{
	struct ledger_record record = record_of(1, SLOT_RUN_ANY, 1000 + wait_ns, now_ns);

	record.account.ns[SLOT_WAIT_LOCK_OWNED] = wait_ns;
	record.account.count[SLOT_WAIT_LOCK_OWNED] = count;
	record.cell = *key;
	record.cell_sum = sum;
	record.cell_number = number;
	begin(bench, now_ns - 50, false);
	give(bench, &record);
	end(bench);
}

static void give_sum(struct bench *bench, const struct ledger_key *key, struct ledger_sum sum)
{
	assert_int_equal(folding__take_wait(bench->folding, key, &sum), 0);
}

/* 400 and 100 for one thread, 50 for the other, 30 for the first: its cell has the same key. */
static void a_cell_that_comes_back_is_another_one(void **state)
{
	const struct ledger_key first = lock_of(1, 11), other = lock_of(1, 1);

	for (int is_late = 0; is_late < 2; is_late++) {
		struct bench bench = make();
		struct ledger_record holder = record_of(11, SLOT_RUN_ANY, 1000, 1100);

		begin(&bench, 1050, true);
		give(&bench, &holder);
		end(&bench);
		step_with_cell(&bench, 2000, 400, 2, 1, &first, (struct ledger_sum) { 400, 2 });
		assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "eight"), 400);
		/* If the cells go into the map after the sums were taken, these come later. */
		for (int step = 0; step < 2; step++) {
			if (step == is_late) {
				give_sum(&bench, &first, (struct ledger_sum) { 500, 3 });
				give_sum(&bench, &other, (struct ledger_sum) { 50, 1 });
			}
			step_with_cell(&bench, 3000 + 1000 * (uint64_t)step,
				       580 + 70 * (uint64_t)step, 5 + (uint32_t)step, 3, &first,
				       step ? (struct ledger_sum) { 100, 2 }
					    : (struct ledger_sum) { 30, 1 });
			if (!step)
				assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "eight"),
						 is_late ? 30 : 130);
			if (!step)
				assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"),
						 is_late ? 0 : 50);
			if (step)
				assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "eight") +
							 sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"),
						 70);
		}
		/* It goes into the map once more, with nothing new, before a wait of 40. */
		give_sum(&bench, &first, (struct ledger_sum) { 100, 2 });
		step_with_cell(&bench, 5000, 690, 7, 4, &other, (struct ledger_sum) { 40, 1 });
		assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, "seven"), 40);
		assert_int_equal(sum(&bench, SLOT_WAIT_LOCK_OWNED, NULL), 40);
		release(&bench);
	}
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
		cmocka_unit_test(a_finished_wait_is_booked_once_although_it_was_open_before),
		cmocka_unit_test(what_was_booked_ahead_is_taken_off_its_own_object),
		cmocka_unit_test(a_sum_that_was_lost_does_not_take_the_names_of_later_waits),
		cmocka_unit_test(the_cell_of_a_record_is_not_taken_twice),
		cmocka_unit_test(a_cell_that_comes_back_is_another_one),
		cmocka_unit_test(only_what_is_proven_is_called_idle_or_held_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
