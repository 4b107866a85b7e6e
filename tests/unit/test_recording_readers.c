/* Who reads a recording, and who made it: neither can harm the other. */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reader_at_the_end_only_delays_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
