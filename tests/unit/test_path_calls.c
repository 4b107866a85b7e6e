/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of syscalls: what records add up to, what is refused, and what is forgotten. */
#include "ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/path_calls.h"

static struct path_calls *calls;

static struct fixture begin(void)
{
	struct fixture fixture = fixture_begin();

	assert_int_equal(path_calls__new(fixture.recording, &calls), 0);
	return fixture;
}

static void end(struct fixture *fixture)
{
	path_calls__free(calls);
	calls = NULL;
	finish(fixture);
}

static int take(uint64_t thread, uint16_t error, const char *path, uint64_t weight)
{
	struct ledger_path_record record = { .head.time_ns = thread,
					     .thread = thread,
					     .weight = weight,
					     .number = 4,
					     .error = error };

	snprintf(record.path, sizeof(record.path), "%s", path);
	return path_calls__take(calls, &record);
}

static void rows_have_the_weights_of_their_records(void **state)
{
	struct fixture fixture = begin();
	char path[64];

	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "/a/%c/lib.so", 'm' + i);
		assert_int_equal(take(1, ENOENT, path, 8), 0);
		assert_int_equal(take(2, ENOENT, path, 1), 0);
		assert_int_equal(take(2, 0, "/a/z/lib.so", 2), 0);
	}
	for (int i = 0; i < 2; i++) { /* each write replaces the rows of the last one */
		assert_int_equal(take(2, 0, "/a/z/lib.so", 1), 0);
		assert_int_equal(path_calls__write(calls), 0);
	}
	assert_int_equal(ask(&fixture, "select count from failed_path where thread = 1"), 48);
	assert_int_equal(ask(&fixture, "select count from failed_path where thread = 2 and"
				       " errno = 2 and pattern = '/a/*/lib.so' and paths = 6"),
			 6);
	assert_int_equal(ask(&fixture, "select count from failed_path where errno = 0"), 14);
	end(&fixture);
}

static void a_record_that_makes_no_sense_is_refused(void **state)
{
	struct fixture fixture = begin();
	struct ledger_path_record record = { .thread = 1, .weight = 1, .number = LEDGER_SYSCALLS };

	assert_int_equal(path_calls__take(calls, &record), -EBADMSG);
	record.number = 4;
	memset(record.path, 'x', sizeof(record.path));
	assert_int_equal(path_calls__take(calls, &record), -EBADMSG);
	record.path[1] = '\0';
	record.weight = 0;
	assert_int_equal(path_calls__take(calls, &record), -EBADMSG);
	record.weight = UINT64_MAX;
	assert_int_equal(path_calls__take(calls, &record), -EBADMSG);
	end(&fixture);
}

static void too_many_paths_and_threads_are_counted_together(void **state)
{
	struct fixture fixture = begin();
	char path[64];

	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/x/%d", i);
		assert_int_equal(take(7, ENOENT, path, 1), 0);
	}
	for (uint64_t i = 1; i <= 20000; i++)
		assert_int_equal(take(100 + i, EACCES, "/secret", 1), 0);
	assert_int_equal(path_calls__write(calls), 0);
	assert_int_equal(ask(&fixture, "select count from failed_path where pattern = '/x/*'"),
			 4096);
	assert_int_equal(ask(&fixture, "select sum(count) from failed_path where errno = 2"), 5000);
	assert_int_equal(ask(&fixture, "select sum(count) from failed_path where errno = 13"),
			 20000);
	assert_int_equal(ask(&fixture, "select count(*) from failed_path where thread = 0"), 1);
	end(&fixture);
}

static void a_path_that_was_cut_says_so(void **state)
{
	struct fixture fixture = begin();
	char path[LEDGER_PATH_BYTES];

	memset(path, 'x', sizeof(path));
	path[LEDGER_PATH_BYTES - 2] = '\0';
	assert_int_equal(take(1, ENOENT, path, 3), 0);
	memset(path, 'y', sizeof(path));
	memcpy(path + LEDGER_PATH_BYTES - 5, "ä", 2);
	path[LEDGER_PATH_BYTES - 1] = '\0';
	assert_int_equal(take(1, EACCES, path, 4), 0);
	assert_int_equal(path_calls__write(calls), 0);
	assert_int_equal(ask(&fixture, "select count from failed_path where"
				       " pattern not like '%x…' and length(pattern) = 254"),
			 3);
	assert_int_equal(ask(&fixture, "select count from failed_path where"
				       " pattern like '%y…' and length(pattern) = 252"),
			 4);
	end(&fixture);
}

static void what_was_not_used_for_long_is_forgotten(void **state)
{
	struct fixture fixture = begin();

	assert_int_equal(take(5, ENOENT, "/old", 3), 0);
	assert_int_equal(take(9, ENOENT, "/new", 4), 0);
	assert_int_equal(path_calls__forget(calls, 6), 0);
	assert_int_equal(take(9, ENOENT, "/new", 1), 0);
	assert_int_equal(path_calls__write(calls), 0);
	assert_int_equal(ask(&fixture, "select count(*) from failed_path"), 1);
	assert_int_equal(ask(&fixture, "select count from failed_path where pattern = '/new'"), 5);
	end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_weights_of_their_records),
		cmocka_unit_test(a_record_that_makes_no_sense_is_refused),
		cmocka_unit_test(too_many_paths_and_threads_are_counted_together),
		cmocka_unit_test(a_path_that_was_cut_says_so),
		cmocka_unit_test(what_was_not_used_for_long_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
