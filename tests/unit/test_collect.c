/* From records to rows: whatever the kernel half sends, the rows must add up to it. */
#include "../harness.h"

#include <stdio.h>
#include <unistd.h>

#include "ledger/collect.h"
#include "recording/recording.h"

#define START_NS INT64_C(1000000000)
#define SLICE_NS 100000000

struct fixture {
	char path[64];
	struct recording *recording;
	struct collect *collect;
};

static struct fixture begin(bool full)
{
	struct fixture fixture = { .path = "/tmp/test-collect-XXXXXX" };
	int fd = mkstemp(fixture.path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(recording__create(fixture.path, true, &fixture.recording), 0);
	assert_int_equal(collect__new(fixture.recording, full, &fixture.collect), 0);
	assert_int_equal(collect__begin(fixture.collect, START_NS), 0);
	return fixture;
}

static int64_t ask(struct fixture *fixture, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t answer;
	sqlite3 *db;

	assert_int_equal(recording__commit(fixture->recording), 0);
	assert_int_equal(recording__open(fixture->path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	answer = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return answer;
}

static void finish(struct fixture *fixture)
{
	collect__free(fixture->collect);
	recording__free(fixture->recording);
	unlink(fixture->path);
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
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 2 and state = 3"),
			 30);
	assert_int_equal(ask(&fixture, "select count from account where state = 11"), 1);
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
	assert_int_equal(ask(&fixture, "select ns from account where slice_to = 5 and state = 11"),
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
	assert_int_equal(ask(&fixture, "select sum(ns) from account where state = 3"), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_add_up_to_the_last_record),
		cmocka_unit_test(silence_is_the_open_state),
		cmocka_unit_test(a_last_record_is_written_at_once_and_the_thread_forgotten),
		cmocka_unit_test(what_is_not_resolved_is_held_back),
		cmocka_unit_test(at_the_end_everything_open_is_written),
		cmocka_unit_test(a_torn_account_is_counted_and_left_out),
		cmocka_unit_test(records_of_another_kind_or_size_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
