/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From records to rows: whatever the kernel half sends, the rows must add up to it. */
#include "ledger.h"

#define START_NS  INT64_C(1000000000)
#define IN(cause) "state = (select id from state where cause = '" cause "')"
#define SLICE_NS  INT64_C(100000000)

static struct fixture begin(bool full)
{
	struct fixture fixture = fixture_begin();

	assert_int_equal(collect__new(fixture.recording, full, &fixture.collect), 0);
	assert_int_equal(collect__begin(fixture.collect, START_NS), 0);
	return fixture;
}

/* A thread that was first seen at the start; the open state began at since_ns. */
static struct ledger_record record_at(uint64_t time_ns, uint32_t slot, uint64_t since_ns)
{
	return (struct ledger_record) {
		.head = { .size = sizeof(struct ledger_record),
			  .kind = LEDGER_THREAD,
			  .version = 1,
			  .time_ns = START_NS + time_ns },
		.id = 7,
		.pid = 999999,
		.tid = 999999,
		.comm = "worker",
		.account = { .slot = slot, .since_ns = START_NS + since_ns, .first_ns = START_NS },
	};
}

static void give(struct fixture *fixture, const struct ledger_record *record)
{
	assert_int_equal(collect__take(fixture->collect, &record->head), 0);
}

static void snapshot_ends(struct fixture *fixture, uint64_t time_ns)
{
	assert_int_equal(collect__snapshot_done(fixture->collect, START_NS + time_ns), 0);
}

static void rows_add_up_to_the_last_record(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record first = record_at(SLICE_NS, SLOT_RUN_ANY, 0);
	struct ledger_record second = record_at(2 * SLICE_NS, SLOT_WAIT_POLL, SLICE_NS + 30);

	second.account.ns[SLOT_RUN_ANY] = SLICE_NS + 30;
	second.account.count[SLOT_WAIT_POLL] = 1;
	give(&fixture, &first);
	snapshot_ends(&fixture, SLICE_NS);
	give(&fixture, &second);
	snapshot_ends(&fixture, 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 1"), SLICE_NS);
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 2 and " IN("any")),
			 30);
	assert_int_equal(ask(&fixture, "select count from account where " IN("poll")), 1);
	finish(&fixture);
}

/* Three slices without a word: they belong to the state that was open, as a row of their own. */
static void silence_is_the_open_state(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record first = record_at(SLICE_NS, SLOT_WAIT_POLL, 0);
	struct ledger_record second = record_at(5 * SLICE_NS, SLOT_RUN_ANY, 4 * SLICE_NS + 40);

	second.account.ns[SLOT_WAIT_POLL] = 4 * SLICE_NS + 40;
	second.account.count[SLOT_RUN_ANY] = 1;
	give(&fixture, &first);
	for (uint64_t i = 1; i <= 4; i++)
		snapshot_ends(&fixture, i * SLICE_NS);
	give(&fixture, &second);
	snapshot_ends(&fixture, 5 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 5 * SLICE_NS);
	assert_int_equal(
		ask(&fixture, "select ns from account where slice_from = 2 and slice_to = 4"),
		3 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 5 and " IN("poll")),
			 40);
	finish(&fixture);
}

static void a_last_record_is_written_at_once_and_the_thread_forgotten(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record last = record_at(1234, SLOT_NONE, 1234);

	last.head.kind = LEDGER_EXIT;
	last.flags = THREAD_ENDED;
	last.account.ns[SLOT_RUN_ANY] = 1200;
	last.account.ns[SLOT_READY_WOKEN] = 34;
	last.cell = (struct ledger_key) { .thread = 7, .slot = SLOT_WAIT_PIPE };
	last.cell_sum = (struct ledger_sum) { 11, 2 };
	give(&fixture, &last);
	assert_int_equal(collect__threads(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 1234);
	assert_int_equal(ask(&fixture, "select flags from thread where id = 7"),
			 RECORDING_THREAD_EXITED);
	assert_int_equal(ask(&fixture, "select ns from wait"), 11);
	finish(&fixture);
}

/* It ended after the freeze, in the state that was open then; or in the middle of running. */
static void what_is_open_in_a_last_record_is_closed(void **state)
{
	struct fixture fixture = begin(true);
	struct ledger_record waiting = record_at(1000, SLOT_WAIT_SLEEP, 600), running;

	waiting.head.kind = LEDGER_EXIT;
	waiting.account.ns[SLOT_WAIT_PIPE] = 600;
	waiting.cell = (struct ledger_key) { .thread = 7, .slot = SLOT_WAIT_PIPE };
	waiting.cell_sum = (struct ledger_sum) { 600, 1 };
	running = record_at(1000, SLOT_RUN_ANY, 0);
	running.head.kind = LEDGER_EXIT;
	running.id = 8;
	give(&fixture, &waiting);
	give(&fixture, &running);
	assert_int_equal(collect__threads(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where thread = 7"), 1000);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where thread = 8"), 1000);
	assert_int_equal(ask(&fixture, "select ns from wait where " IN("sleep")), 400);
	assert_int_equal(ask(&fixture, "select ns from wait where " IN("pipe")), 600);
	finish(&fixture);
}

/* At level full a thread seeded while it ran is in user space or not: its first event will tell. */
static void what_is_not_resolved_is_held_back(void **state)
{
	struct fixture fixture = begin(true);
	struct ledger_record first = record_at(SLICE_NS, SLOT_RUN_ANY, 0);
	struct ledger_record second = record_at(2 * SLICE_NS, SLOT_RUN_KERNEL, SLICE_NS + 9);

	second.account.ns[SLOT_RUN_USER] = SLICE_NS + 9;
	give(&fixture, &first);
	snapshot_ends(&fixture, SLICE_NS);
	assert_int_equal(ask(&fixture, "select count(*) from account"), 0);
	give(&fixture, &second);
	snapshot_ends(&fixture, 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select min(ns) from account") >= 0, 1);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("any")), 0);
	finish(&fixture);
}

static void at_the_end_everything_open_is_written(void **state)
{
	struct fixture fixture = begin(true);
	struct ledger_record record = record_at(500, SLOT_WAIT_LOCK_OWNED, 100);

	record.account.ns[SLOT_RUN_USER] = 100;
	record.wait = (struct ledger_key) { .object = { 0xabc },
					    .object_kind = OBJECT_FUTEX,
					    .by = 8,
					    .by_kind = BY_THREAD,
					    .evidence = EVIDENCE_OWNER };
	collect__ending(fixture.collect, START_NS + 400);
	give(&fixture, &record);
	assert_int_equal(collect__end(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 400);
	assert_int_equal(ask(&fixture, "select ns from wait where by = 8"), 300);
	assert_int_equal(ask(&fixture, "select count(*) from object where name = '0xabc'"), 1);
	finish(&fixture);
}

static void a_torn_account_is_counted_and_left_out(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_RUN_ANY, 50);

	give(&fixture, &record);
	assert_int_equal(collect__quality(fixture.collect).torn, 1);
	assert_int_equal(collect__threads(fixture.collect), 0);
	finish(&fixture);
}

static void records_of_another_kind_or_size_are_counted(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_RUN_ANY, 0);

	record.head.kind = 77;
	give(&fixture, &record);
	record = record_at(100, SLOT_RUN_ANY, 0);
	record.head.version = 2;
	give(&fixture, &record);
	record = record_at(100, SLOT_RUN_ANY, 0);
	record.head.size -= 8;
	give(&fixture, &record);
	assert_int_equal(collect__quality(fixture.collect).malformed, 3);
	finish(&fixture);
}

/* Its last record: `ns` in RUN_ANY, the rest in WAIT_POLL. */
static struct ledger_record last_at(uint64_t time_ns, uint64_t ns)
{
	struct ledger_record record = record_at(time_ns, SLOT_NONE, time_ns);

	record.head.kind = LEDGER_EXIT;
	record.flags = THREAD_ENDED;
	record.account.ns[SLOT_RUN_ANY] = ns;
	record.account.ns[SLOT_WAIT_POLL] = time_ns - ns;
	return record;
}

static void whole_snapshot(struct fixture *fixture, const struct ledger_record *record)
{
	collect__full_snapshot_begins(fixture->collect);
	if (record)
		give(fixture, record);
	assert_int_equal(collect__whole_done(fixture->collect), 0);
}

static void no_row_is_negative(struct fixture *fixture)
{
	assert_int_equal(ask(fixture, "select count(*) from account where ns < 0"), 0);
	assert_int_equal(ask(fixture, "select sum(ns) = (select last_ns - first_ns from thread"
				      " where id = 7) from account where thread = 7"),
			 1);
}

static void a_last_record_that_a_snapshot_outran_counts(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record snapshot = record_at(1010, SLOT_RUN_ANY, 100);
	struct ledger_record last = last_at(1000, 900);

	snapshot.account.ns[SLOT_WAIT_POLL] = 100;
	give(&fixture, &snapshot);
	give(&fixture, &last);
	assert_int_equal(collect__threads(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("any")), 900);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("poll")), 100);
	assert_int_equal(ask(&fixture, "select last_ns from thread where id = 7"), START_NS + 1000);
	no_row_is_negative(&fixture);
	finish(&fixture);
}

/* The same, when the slice with too much in it is written already. */
static void a_last_record_takes_back_what_is_written(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record snapshot = record_at(1010, SLOT_RUN_ANY, 0);
	struct ledger_record last = last_at(1000, 1000);

	give(&fixture, &snapshot);
	snapshot_ends(&fixture, 1020);
	give(&fixture, &last);
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 1"), 1000);
	assert_int_equal(ask(&fixture, "select count(*) from account"), 1);
	no_row_is_negative(&fixture);
	finish(&fixture);
}

/* A transition that was stamped before the snapshot and written after it. */
static void a_state_that_got_too_much_gives_it_back(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record first = record_at(SLICE_NS, SLOT_RUN_ANY, 0);
	struct ledger_record second = record_at(2 * SLICE_NS, SLOT_WAIT_POLL, SLICE_NS - 50);

	second.account.ns[SLOT_RUN_ANY] = SLICE_NS - 50;
	give(&fixture, &first);
	snapshot_ends(&fixture, SLICE_NS);
	give(&fixture, &second);
	snapshot_ends(&fixture, 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select ns from account where " IN("any")), SLICE_NS - 50);
	assert_int_equal(ask(&fixture, "select ns from account where " IN("poll")), SLICE_NS + 50);
	no_row_is_negative(&fixture);
	finish(&fixture);
}

/* A repaired wakeup may lie several slices back: rows of silence give back too. */
static void what_is_taken_back_may_span_rows(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record first = record_at(SLICE_NS, SLOT_WAIT_POLL, 0);
	struct ledger_record second = record_at(5 * SLICE_NS, SLOT_WAIT_POLL, 0);
	struct ledger_record third = record_at(6 * SLICE_NS, SLOT_READY_WOKEN, 2 * SLICE_NS);

	third.account.ns[SLOT_WAIT_POLL] = 2 * SLICE_NS;
	give(&fixture, &first);
	for (uint64_t i = 1; i <= 4; i++)
		snapshot_ends(&fixture, i * SLICE_NS);
	give(&fixture, &second);
	snapshot_ends(&fixture, 5 * SLICE_NS);
	give(&fixture, &third);
	snapshot_ends(&fixture, 6 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("poll")),
			 2 * SLICE_NS);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("woken")),
			 4 * SLICE_NS);
	no_row_is_negative(&fixture);
	finish(&fixture);
}

/* More rows than are remembered: the sum is exact at once, the states as soon as they can be. */
static void what_cannot_be_taken_back_is_made_up_for(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record;

	for (uint64_t i = 1; i <= 20; i++) {
		record = record_at(i * SLICE_NS, SLOT_WAIT_POLL, 0);
		give(&fixture, &record);
		snapshot_ends(&fixture, i * SLICE_NS);
	}
	record = record_at(21 * SLICE_NS, SLOT_RUN_ANY, 0);
	give(&fixture, &record);
	snapshot_ends(&fixture, 81 * SLICE_NS);
	no_row_is_negative(&fixture);
	record = last_at(60 * SLICE_NS, 30 * SLICE_NS);
	give(&fixture, &record);
	assert_int_equal(ask(&fixture, "select sum(ns) from account where " IN("any")),
			 30 * SLICE_NS);
	no_row_is_negative(&fixture);
	finish(&fixture);
}

static void a_thread_whose_last_record_was_lost_is_forgotten(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_RUN_ANY, 0);

	whole_snapshot(&fixture, &record);
	whole_snapshot(&fixture, NULL);
	assert_int_equal(collect__threads(fixture.collect), 1);
	whole_snapshot(&fixture, NULL);
	assert_int_equal(collect__threads(fixture.collect), 0);
	assert_int_equal(collect__quality(fixture.collect).vanished, 1);
	snapshot_ends(&fixture, 200);
	assert_int_equal(ask(&fixture, "select ns from account"), 100);
	assert_int_equal(ask(&fixture, "select flags from thread where id = 7"), 0);
	finish(&fixture);
}

/* What the map of waits has goes beyond its rows in one state, and has less in the other. */
static void waits_of_a_thread_whose_last_record_was_lost_agree(void **state)
{
	const struct ledger_key poll = { .thread = 7, .slot = SLOT_WAIT_POLL };
	const struct ledger_key pipe = { .thread = 7, .slot = SLOT_WAIT_PIPE };
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_WAIT_POLL, 70);

	record.account.ns[SLOT_WAIT_PIPE] = 70;
	give(&fixture, &record);
	collect__take_wait(fixture.collect, &poll, &(struct ledger_sum) { 55, 1 });
	collect__take_wait(fixture.collect, &pipe, &(struct ledger_sum) { 60, 1 });
	collect__ending(fixture.collect, START_NS + 300);
	assert_int_equal(collect__end(fixture.collect), 0);
	assert_int_equal(collect__quality(fixture.collect).vanished, 1);
	assert_int_equal(collect__quality(fixture.collect).unnamed_wait_ns, 10);
	assert_int_equal(ask(&fixture, "select sum(ns) from wait where " IN("poll")), 55);
	assert_int_equal(ask(&fixture, "select sum(ns) from wait where " IN("pipe")), 70);
	assert_int_equal(ask(&fixture, "select ns from account where " IN("poll")), 55);
	assert_int_equal(ask(&fixture, "select ns from account where " IN("pipe")), 70);
	assert_int_equal(ask(&fixture, "select last_ns - first_ns from thread where id = 7"), 125);
	finish(&fixture);
}

static void take_wait(struct fixture *fixture, uint64_t thread, uint64_t ns)
{
	const struct ledger_key key = { .thread = thread, .slot = SLOT_WAIT_PIPE };

	assert_int_equal(collect__take_wait(fixture->collect, &key, &(struct ledger_sum) { ns, 1 }),
			 0);
}

/* The kernel half's map was full: of 70 ns, 50 arrive, after their thread has ended. */
static void waits_without_room_keep_their_time(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record last = last_at(100, 100);

	last.account.ns[SLOT_RUN_ANY] = 30;
	last.account.ns[SLOT_WAIT_PIPE] = 70;
	last.account.count[SLOT_WAIT_PIPE] = 3;
	give(&fixture, &last);
	assert_int_equal(collect__waits_drained(fixture.collect), 0);
	take_wait(&fixture, 7, 50);
	assert_int_equal(ask(&fixture, "select sum(ns) from wait"), 50);
	assert_int_equal(collect__waits_drained(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select sum(ns) from wait"), 70);
	assert_int_equal(ask(&fixture, "select sum(count) from wait"), 3);
	assert_int_equal(collect__quality(fixture.collect).unnamed_wait_ns, 20);
	finish(&fixture);
}

/* Its last record was the first one, and was lost. */
static void waits_without_an_account_are_left_out(void **state)
{
	struct fixture fixture = begin(false);

	take_wait(&fixture, 8, 40);
	collect__ending(fixture.collect, START_NS + 300);
	assert_int_equal(collect__end(fixture.collect), 0);
	assert_int_equal(ask(&fixture, "select count(*) from wait"), 0);
	assert_int_equal(collect__quality(fixture.collect).waits_without_account_ns, 40);
	finish(&fixture);
}

/* Seen by one whole snapshot in two, or seen and refused: it is there. */
static void a_thread_that_is_seen_does_not_vanish(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_RUN_ANY, 0);
	struct ledger_record torn = record_at(200, SLOT_RUN_ANY, 50);

	give(&fixture, &record);
	whole_snapshot(&fixture, NULL);
	whole_snapshot(&fixture, &torn);
	whole_snapshot(&fixture, NULL);
	whole_snapshot(&fixture, &record);
	assert_int_equal(collect__threads(fixture.collect), 1);
	assert_int_equal(collect__quality(fixture.collect).vanished, 0);
	collect__ending(fixture.collect, START_NS + 300);
	assert_int_equal(collect__end(fixture.collect), 0);
	assert_int_equal(collect__quality(fixture.collect).vanished, 1);
	finish(&fixture);
}

static void an_account_that_never_closes_is_counted_once(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record torn = record_at(200, SLOT_RUN_ANY, 50);
	struct ledger_record whole = record_at(200, SLOT_RUN_ANY, 0);

	for (int i = 0; i < 9; i++)
		give(&fixture, &torn);
	give(&fixture, &whole);
	give(&fixture, &torn);
	assert_int_equal(collect__quality(fixture.collect).never_closed, 0);
	for (int i = 0; i < 9; i++)
		give(&fixture, &torn);
	assert_int_equal(collect__quality(fixture.collect).never_closed, 1);
	give(&fixture, &whole);
	for (int i = 0; i < 20; i++)
		give(&fixture, &torn);
	assert_int_equal(collect__quality(fixture.collect).never_closed, 1);
	torn.account.slot = SLOT_COUNT + 1;
	give(&fixture, &torn);
	assert_int_equal(collect__quality(fixture.collect).torn, 40);
	finish(&fixture);
}

static void give_many(struct fixture *fixture, struct ledger_record record)
{
	for (int i = 0; i < 1000; i++, record.id++)
		give(fixture, &record);
}

/* Each has one row, whatever the slice's length: longer ones would not help. */
static void threads_that_end_do_not_lengthen_slices(void **state)
{
	struct fixture fixture = begin(false);

	give_many(&fixture, last_at(SLICE_NS, SLICE_NS));
	snapshot_ends(&fixture, SLICE_NS);
	snapshot_ends(&fixture, 2 * SLICE_NS);
	assert_int_equal(collect__slice(fixture.collect), 3);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 1000 * SLICE_NS);
	finish(&fixture);
}

static void slices_get_longer_and_shorter_again(void **state)
{
	struct fixture fixture = begin(false);

	give_many(&fixture, record_at(SLICE_NS, SLOT_RUN_ANY, 0));
	snapshot_ends(&fixture, SLICE_NS);
	snapshot_ends(&fixture, 2 * SLICE_NS);
	assert_int_equal(collect__slice(fixture.collect), 2);
	snapshot_ends(&fixture, 3 * SLICE_NS);
	assert_int_equal(collect__slice(fixture.collect), 3);
	snapshot_ends(&fixture, 4 * SLICE_NS);
	assert_int_equal(collect__slice(fixture.collect), 4);
	finish(&fixture);
}

static void a_slice_is_not_longer_than_eight_seconds(void **state)
{
	struct fixture fixture = begin(false);

	give_many(&fixture, record_at(SLICE_NS, SLOT_RUN_ANY, 0));
	snapshot_ends(&fixture, SLICE_NS);
	snapshot_ends(&fixture, 81 * SLICE_NS);
	assert_int_equal(collect__slice(fixture.collect), 3);
	finish(&fixture);
}

/* The list of changed threads stays whole when one in its middle ends. */
static void threads_may_end_in_any_order(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record last = last_at(200, 200);
	static const uint64_t order[] = { 7, 11 };

	for (uint64_t id = 7; id < 12; id++) {
		struct ledger_record record = record_at(100, SLOT_RUN_ANY, 0);

		record.id = id;
		give(&fixture, &record);
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		last.id = order[i];
		give(&fixture, &last);
	}
	snapshot_ends(&fixture, 300);
	assert_int_equal(collect__threads(fixture.collect), 3);
	assert_int_equal(ask(&fixture, "select sum(ns) from account"), 2 * 200 + 3 * 100);
	assert_int_equal(ask(&fixture, "select count(*) from account"), 5);
	finish(&fixture);
}

static void the_first_name_is_kept_when_it_changes(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record record = record_at(100, SLOT_RUN_ANY, 0);

	give(&fixture, &record);
	assert_int_equal(ask(&fixture, "select count(*) from thread_name"), 0);
	record = record_at(200, SLOT_RUN_ANY, 0);
	strcpy(record.comm, "second");
	give(&fixture, &record);
	record = record_at(300, SLOT_RUN_ANY, 0);
	strcpy(record.comm, "third");
	give(&fixture, &record);
	assert_int_equal(ask(&fixture, "select count(*) from thread_name"), 3);
	assert_int_equal(ask(&fixture, "select time_ns from thread_name where comm = 'worker'"),
			 START_NS);
	assert_int_equal(ask(&fixture, "select time_ns from thread_name where comm = 'third'"),
			 START_NS + 300);
	finish(&fixture);
}

/* A helper is seen first, ends, and the first thread comes later: still one process, its name. */
static void a_process_outlives_the_threads_seen_so_far(void **state)
{
	struct fixture fixture = begin(false);
	struct ledger_record helper = last_at(100, 100), leader = record_at(200, SLOT_RUN_ANY, 0);

	helper.tid = helper.pid + 1;
	strcpy(helper.comm, "helper");
	leader.id = 8;
	give(&fixture, &helper);
	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'helper'"), 1);
	give(&fixture, &leader);
	snapshot_ends(&fixture, 300);
	assert_int_equal(ask(&fixture, "select count(*) from process"), 1);
	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'worker'"), 1);
	assert_int_equal(ask(&fixture, "select count(distinct process) from thread where id > 0"),
			 1);
	finish(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up_to_the_last_record),
		cmocka_unit_test(silence_is_the_open_state),
		cmocka_unit_test(a_last_record_is_written_at_once_and_the_thread_forgotten),
		cmocka_unit_test(what_is_open_in_a_last_record_is_closed),
		cmocka_unit_test(what_is_not_resolved_is_held_back),
		cmocka_unit_test(at_the_end_everything_open_is_written),
		cmocka_unit_test(a_torn_account_is_counted_and_left_out),
		cmocka_unit_test(records_of_another_kind_or_size_are_counted),
		cmocka_unit_test(a_last_record_that_a_snapshot_outran_counts),
		cmocka_unit_test(a_last_record_takes_back_what_is_written),
		cmocka_unit_test(a_state_that_got_too_much_gives_it_back),
		cmocka_unit_test(what_is_taken_back_may_span_rows),
		cmocka_unit_test(what_cannot_be_taken_back_is_made_up_for),
		cmocka_unit_test(a_thread_whose_last_record_was_lost_is_forgotten),
		cmocka_unit_test(waits_of_a_thread_whose_last_record_was_lost_agree),
		cmocka_unit_test(waits_without_room_keep_their_time),
		cmocka_unit_test(waits_without_an_account_are_left_out),
		cmocka_unit_test(a_thread_that_is_seen_does_not_vanish),
		cmocka_unit_test(an_account_that_never_closes_is_counted_once),
		cmocka_unit_test(threads_that_end_do_not_lengthen_slices),
		cmocka_unit_test(slices_get_longer_and_shorter_again),
		cmocka_unit_test(a_slice_is_not_longer_than_eight_seconds),
		cmocka_unit_test(threads_may_end_in_any_order),
		cmocka_unit_test(the_first_name_is_kept_when_it_changes),
		cmocka_unit_test(a_process_outlives_the_threads_seen_so_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
