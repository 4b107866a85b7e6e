/*
 * The signal files: what workloads/operations.c does, each path, operation and error with its
 * number, bytes asked for and bytes returned, by every kind of hook.
 */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "ledger.h"

#define FILE_BYTES 10000
#define COLD_PAGES 64

struct run {
	char path[64];
	char directory[64];
};

/* As a subquery, since the heading of a column is its text, digits and all. */
static int64_t ask(const char *path, const char *format, ...)
{
	char query[1024], sql[1100];
	va_list args;

	va_start(args, format);
	vsnprintf(query, sizeof(query), format, args);
	va_end(args);
	snprintf(sql, sizeof(sql), "select (%s) as answer", query);
	return trial__query(path, sql);
}

/* In the VMs everything but the disk is in memory. */
static struct run record(const char *without)
{
	static int number;
	struct run run;
	json_t *log;

	trial__path(run.path, sizeof(run.path));
	snprintf(run.directory, sizeof(run.directory), "/var/tmp/files-%d-%d", getpid(), number++);
	mkdir("/var/tmp", 01777);
	if (without)
		setenv("GAPLESS_TEST_WITHOUT", without, 1);
	trial__record_at(run.path, ARGS("--signals", "files"),
			 WORKLOAD("operations", run.directory, is_emulated() ? "/dev/vda" : NULL),
			 &log);
	unsetenv("GAPLESS_TEST_WITHOUT");
	json_decref(log);
	return run;
}

/* One path, operation and error: how often, and both sums. */
struct expected {
	const char *name;
	const char *operation;
	int error;
	int64_t count;
	int64_t asked;
	int64_t returned;
};

static void check(const struct run *run, const struct expected *expected)
{
	static const char *const measures[] = { "asked", "returned" };
	const int64_t sums[] = { expected->asked, expected->returned };

	for (size_t i = 0; i < 2; i++) {
		const char *what = measures[i];
		char from[512];
		int64_t count, sum;

		snprintf(from, sizeof(from),
			 "from signal_sums where signal = 'files' and object = '%s%s%s' and "
			 "operation = '%s' and errno = %d and measure = '%s'",
			 run->directory, *expected->name ? "/" : "", expected->name,
			 expected->operation, expected->error, what);
		count = ask(run->path, "select coalesce(sum(count), 0) %s", from);
		sum = ask(run->path, "select coalesce(sum(sum), 0) %s", from);
		if (count != expected->count || sum != sums[i])
			fail_msg(
				"%s %s (errno %d): %ld operations, %s %ld bytes; should be %ld, %ld",
				expected->operation, expected->name, expected->error, (long)count,
				what, (long)sum, (long)expected->count, (long)sums[i]);
	}
}

static void check_all(const struct run *run)
{
	static const struct expected all[] = {
		{ "f0", "read", 0, 2500, 2500 * 100, 2498 * 100 + 7 },
		{ "f1", "read", 0, 2500, 2500 * 200, 2498 * 200 + 7 },
		{ "f2", "read", 0, 2500, 2500 * 300, 2498 * 300 + 7 },
		{ "f3", "read", 0, 2500, 2500 * 400, 2498 * 400 + 7 },
		{ "f0", "write", 0, 1, FILE_BYTES, FILE_BYTES },
		{ "vector", "read", 0, 11, 10 * 15 + 100, 10 * 15 + 100 },
		{ "vector", "write", 0, 51, 50 * 85 + FILE_BYTES, 50 * 85 + FILE_BYTES },
		{ "written", "write", 0, 101, 100000 + FILE_BYTES, 100000 + FILE_BYTES },
		{ "written", "fsync", 0, 5 },
		{ "written", "truncate", 0, 1 },
		{ "written", "sendfile", 0, 1, 6000, 5000 },
		{ "sent", "read", EBADF, 4, 40, 0 },
		{ "sent", "open", 0, 2 },
		{ "f0", "open", 0, 8 },
		{ "nothing", "open", ENOENT, 11 },
		{ "f1", "stat", 0, 16 },
		{ "nothing", "stat", ENOENT, 17 },
		{ "", "stat", 0, 5 },
		{ "f2", "stat", 0, 2 },
		{ "below", "mkdir", 0, 1 },
		{ "f3", "rename", 0, 1 },
		{ "below/f3", "unlink", 0, 1 },
		{ "below", "unlink", 0, 1 },
		{ "", "mkdir", 0, 1 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		check(run, &all[i]);
	/* Pipes and sockets are not among them, and nothing else is in that directory. */
	assert_int_equal(ask(run->path,
			     "select count(*) from signal_sums where signal = 'files' and "
			     "operation in ('read', 'write') and object not like '/%%'"),
			 0);
}

static void check_quality(const struct run *run)
{
	assert_int_equal(
		ask(run->path, "select sum(value) from quality where name like 'files_%%'"), 0);
	/* Every operation is in the histograms too. */
	assert_int_equal(ask(run->path, "select (select sum(count) from signal_histograms where "
					"signal = 'files' and measure = 'time') - (select "
					"sum(count) from signal_sums where signal = 'files' and "
					"measure = 'time')"),
			 0);
}

static void check_slow(const struct run *run)
{
	char where[256];

	snprintf(where, sizeof(where),
		 "from events where signal = 'files' and object = '%s/slow' and operation = 'read'",
		 run->directory);
	assert_int_equal(ask(run->path, "select count(*) %s", where), 1);
	assert_true(ask(run->path, "select duration_ns %s", where) >= 30 * MS);
	assert_int_equal(ask(run->path, "select fields ->> 'asked' %s", where), 100);
	assert_int_equal(ask(run->path, "select fields ->> 'returned' %s", where), 100);
	assert_int_equal(ask(run->path, "select fields ->> 'offset' %s", where), 33);
	assert_int_equal(ask(run->path, "select errno %s", where), 0);
	assert_int_equal(ask(run->path, "select count(*) %s and comm = 'operations'", where), 1);
}

static int64_t missed_by(const struct run *run, const char *comm)
{
	return ask(run->path,
		   "select coalesce(sum(sum), 0) from signal_sums where signal = 'files' and "
		   "operation = 'read' and measure = 'missed' and comm = '%s'",
		   comm);
}

static void check_misses(const struct run *run)
{
	assert_int_equal(missed_by(run, "cold"), COLD_PAGES);
	assert_int_equal(missed_by(run, "warm"), 0);
}

/* The file system of each file, as stat() says it. */
static void check_places(const struct run *run)
{
	const char *const operations[] = { "read", "open", "stat", "fsync" };

	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(ask(run->path,
				     "select count(distinct place) from signal_sums where signal = "
				     "'files' and object like '%s/%%' and operation = '%s' and "
				     "errno = 0 and place <> ''",
				     run->directory, operations[i]),
				 1);
	}
	assert_int_equal(ask(run->path,
			     "select count(*) from signal_sums where signal = 'files' and object "
			     "like '%s/%%' and operation = 'read' and place like 'device %%'",
			     run->directory),
			 0);
}

static void check_kind(const struct run *run, const char *kind)
{
	static const char *const events[] = { "sys_enter", "sys_exit",
					      "mm_filemap_add_to_page_cache" };

	for (size_t i = 0; i < 3; i++)
		assert_true(
			ask(run->path,
			    "select instr(value, '\"signal\":\"files\",\"event\":\"%s\",\"kind\""
			    ":\"%s\"') from meta where key = 'hooks'",
			    events[i], kind));
}

static void every_operation_is_counted(const char *without, const char *kind)
{
	struct run run = record(without);

	check_kind(&run, kind);
	check_all(&run);
	check_quality(&run);
	check_slow(&run);
	check_misses(&run);
	check_places(&run);
	trial__remove(run.path);
}

static void every_operation_is_counted_by_tp_btf(void **state)
{
	every_operation_is_counted(NULL, "tp_btf");
}

static void every_operation_is_counted_by_raw_tp(void **state)
{
	every_operation_is_counted("tp_btf", "raw_tp");
}

static void every_operation_is_counted_by_classic_tracepoints(void **state)
{
	every_operation_is_counted("tp_btf,raw_tp", "tracepoint");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_counted_by_tp_btf),
		cmocka_unit_test(every_operation_is_counted_by_raw_tp),
		cmocka_unit_test(every_operation_is_counted_by_classic_tracepoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
