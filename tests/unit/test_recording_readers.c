/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who reads a recording, and who made it: neither can harm the other. */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "recording/recording.h"
#include "sample.h"

static char *path;

static int set_up(void **state)
{
	path = sample__path();
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int64_t number;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return number;
}

static void execute(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Longer than any commit but the last ones waits. */
static void *end_reading(void *db)
{
	struct timespec some = { .tv_nsec = 300000000 };

	nanosleep(&some, NULL);
	return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) ? db : NULL;
}

static void a_reader_at_the_end_only_delays_it(void **state)
{
	struct recording *recording = sample__begin(path);
	sqlite3 *db = NULL;
	pthread_t reader;
	void *failed;

	assert_int_equal(recording__commit(recording), 0);
	assert_int_equal(recording__open(path, &db), 0);
	execute(db, "BEGIN; SELECT count(*) FROM state");
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 1, 1, 1);
	assert_int_equal(pthread_create(&reader, NULL, end_reading, db), 0);
	assert_int_equal(recording__finish(recording), 0);
	assert_int_equal(pthread_join(reader, &failed), 0);
	assert_null(failed);
	recording__free(recording);
	assert_int_equal(ask(db, "SELECT count(*) FROM account"), 1);
	assert_int_equal(ask(db, "SELECT value FROM meta WHERE key = 'complete'"), 1);
	sqlite3_close(db);
}

/* Puts a view that never ends in the place of a table, and `forgery` over it. */
static void replace(const char *table, const char *forgery)
{
	char sql[256];
	sqlite3 *db = NULL;

	sample__write_with_stacks(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "DROP TABLE %s; CREATE VIEW %s AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL"
		 " SELECT x + 1 FROM n) SELECT x AS key, x AS value FROM n",
		 table, table);
	execute(db, sql);
	execute(db, forgery);
	sqlite3_close(db);
}

static void assert_refused(void)
{
	sqlite3 *db = NULL;

	alarm(10);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	alarm(0);
	assert_null(db);
	assert_int_equal(unlink(path), 0);
}

static void a_view_in_the_place_of_any_table_is_refused(void **state)
{
	char names[64][32];
	int count = 0;
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	sample__write(path);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT name FROM sqlite_schema WHERE type = 'table'",
					    -1, &row, NULL),
			 SQLITE_OK);
	for (; sqlite3_step(row) == SQLITE_ROW && count < 64; count++)
		snprintf(names[count], sizeof(names[0]), "%s", sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	sqlite3_close(db);
	assert_int_equal(unlink(path), 0);
	assert_true(count > 20);
	for (int i = 0; i < count; i++) {
		replace(names[i], "");
		assert_refused();
	}
}

static void a_view_cannot_hide_that_it_is_one(void **state)
{
	static const char *const forgeries[] = {
		"type = 'table'",
		"type = 'VIEW'",
		"type = CAST('view' AS BLOB)",
		"type = 'view' || char(0) || 'x'",
		"name = 'other'",
		"name = CAST('account' AS BLOB)",
		"name = 'ACCOUNT' || char(0) || 'x'",
		"tbl_name = NULL",
		"type = NULL",
	};
	char sql[256];

	for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
		snprintf(sql, sizeof(sql),
			 "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET %s"
			 " WHERE name = 'account'",
			 forgeries[i]);
		replace("account", sql);
		assert_refused();
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reader_at_the_end_only_delays_it),
		TEST(a_view_in_the_place_of_any_table_is_refused),
		TEST(a_view_cannot_hide_that_it_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
