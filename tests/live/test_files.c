/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signal files: what workloads/operations.c does, each path, operation and error with its
 * number, bytes asked for and bytes returned, by every kind of hook.
 */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

#define FILE_BYTES 10000
#define COLD_PAGES 64

struct run {
	char path[64];
	char directory[64];
};

/* As a subquery, since the heading of a column is its text, digits and all. */
__attribute__((format(printf, 2, 3))) static int64_t ask(const char *path, const char *format, ...)
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

/* What is wrong about one, if the answer for all of them was that something is. */
static void check_one(const struct run *run, const struct expected *expected)
{
	char from[512];
	int64_t count, asked, returned;

	snprintf(from, sizeof(from),
		 "from signal_sums where signal = 'files' and object = '%s%s%s' and operation = "
		 "'%s' and errno = %d and measure =",
		 run->directory, *expected->name ? "/" : "", expected->name, expected->operation,
		 expected->error);
	count = ask(run->path, "select coalesce(sum(count), 0) %s 'time'", from);
	asked = ask(run->path, "select coalesce(sum(sum), 0) %s 'asked'", from);
	returned = ask(run->path, "select coalesce(sum(sum), 0) %s 'returned'", from);
	if (count != expected->count || asked != expected->asked || returned != expected->returned)
		fail_msg("%s %s (errno %d): %ld, %ld bytes asked, %ld returned; not %ld, %ld, %ld",
			 expected->operation, expected->name, expected->error, (long)count,
			 (long)asked, (long)returned, (long)expected->count, (long)expected->asked,
			 (long)expected->returned);
}

/* In one query: in an emulated machine each takes half a second. */
static int64_t count_right(const struct run *run, const struct expected *all, size_t size)
{
	static char sql[16384];
	size_t used = (size_t)snprintf(
		sql, sizeof(sql),
		"with is_so as (select object, operation, errno, sum(count) / 4 as count, "
		"sum(case measure when 'asked' then sum end) as asked, "
		"sum(case measure when 'returned' then sum end) as returned "
		"from signal_sums where signal = 'files' group by object, operation, errno), "
		"should(object, operation, errno, count, asked, returned) as (values ");

	for (size_t i = 0; i < size; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used,
					 "%s('%s%s%s', '%s', %d, %ld, %ld, %ld)", i ? ", " : "",
					 run->directory, *all[i].name ? "/" : "", all[i].name,
					 all[i].operation, all[i].error, (long)all[i].count,
					 (long)all[i].asked, (long)all[i].returned);
	snprintf(sql + used, sizeof(sql) - used,
		 ") select count(*) as answer from should natural join is_so");
	return trial__query(run->path, sql);
}

static int64_t written_to(const struct run *run, const char *pattern)
{
	return ask(run->path,
		   "select coalesce(sum(sum), 0) from signal_sums where signal = 'files' and "
		   "object like '%s' and operation = 'write' and measure = 'returned'",
		   pattern);
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

	size_t count = sizeof(all) / sizeof(*all);
	char nameless[128];

	if (count_right(run, all, count) != (int64_t)count)
		for (size_t i = 0; i < count; i++)
			check_one(run, &all[i]);
	assert_int_equal(written_to(run, "/rooted"), 8);
	assert_int_equal(written_to(run, "/memfd:operations"), 11);
	snprintf(nameless, sizeof(nameless), "%s/#%% (deleted)", run->directory);
	assert_int_equal(written_to(run, nameless), 9);
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
	/* All are of one process, which the histograms by process say too. */
	assert_int_equal(ask(run->path, "select (select sum(count) from signal_histograms where "
					"signal = 'files' and measure = 'time') - (select "
					"sum(count) from process_histograms where signal = 'files' "
					"and pid > 0)"),
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
	assert_int_equal(ask(run->path,
			     "select count(*) %s and errno = 0 and comm = 'operations' and "
			     "fields ->> 'asked' = 100 and fields ->> 'returned' = 100 and "
			     "fields ->> 'missed' = 0 and fields ->> 'offset' = '33'",
			     where),
			 1);
	if (!is_emulated())
		assert_int_equal(trial__events_in(run->path, "files", "operations", "read_slowly"),
				 1);
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
	assert_int_equal(ask(run->path,
			     "select count(distinct place) from signal_sums where signal = 'files' "
			     "and object like '%s/%%' and operation in ('read', 'write', 'open', "
			     "'fsync') and errno = 0 and place not like 'device %%'",
			     run->directory),
			 1);
	assert_int_equal(ask(run->path,
			     "select count(distinct place) from signal_sums where signal = 'files' "
			     "and object = '%s/f1' and operation <> 'unlink'",
			     run->directory),
			 1);
}

/* The hooks at syscalls are the ledger's, which has no others. */
static void check_kind(const struct run *run, const char *kind)
{
	assert_int_equal(ask(run->path,
			     "select instr(value, '\"signal\":\"files\",\"event\":"
			     "\"mm_filemap_add_to_page_cache\",\"kind\":\"%s\"') > 0 from meta "
			     "where key = 'hooks'",
			     kind),
			 1);
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

/* A process that opens /dev/null so often once it is told to. */
static pid_t start_opener(int go, int opens)
{
	pid_t child = fork();
	char byte;

	if (!child) {
		if (read(go, &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < opens; i++)
			close(open("/dev/null", O_RDONLY));
		_exit(0);
	}
	return child;
}

static void only_the_process_that_was_asked_for_counts(void **state)
{
	struct trial trial;
	char pid[16];
	pid_t children[2];
	int go[2], status;

	assert_int_equal(pipe(go), 0);
	children[0] = start_opener(go[0], 31);
	children[1] = start_opener(go[0], 57);
	snprintf(pid, sizeof(pid), "%d", children[0]);
	trial = trial__start(ARGS("--signals", "files", "-p", pid));
	assert_int_equal(write(go[1], "xx", 2), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	assert_int_equal(ask(trial.path,
			     "select sum(count) from signal_sums where signal = 'files' "
			     "and measure = 'time'"),
			 31);
	assert_int_equal(
		ask(trial.path,
		    "select sum(count) from signal_sums where signal = 'files' and measure "
		    "= 'time' and object = '/dev/null' and operation = 'open' and pid = %s",
		    pid),
		31);
	close(go[0]);
	close(go[1]);
	trial__remove(trial.path);
}

/* What is asked for is no more than a call can do, and no path is made up. */
static void nonsense_is_not_believed(void **state)
{
	struct trial trial;
	char pid[16], byte;
	int fd = open("/proc/self/exe", O_RDONLY);

	snprintf(pid, sizeof(pid), "%d", getpid());
	trial = trial__start(ARGS("--no-stacks", "--signals", "files", "-p", pid));
	for (int i = 0; i < 3; i++)
		syscall(SYS_read, fd, &byte, -1L);
	assert_int_equal(openat(999, "nowhere", O_RDONLY), -1);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	close(fd);
	assert_int_equal(ask(trial.path, "select sum(sum) from signal_sums where operation = 'read'"
					 " and errno > 0 and measure = 'asked'"),
			 3 * INT64_C(0x7ffff000));
	assert_int_equal(ask(trial.path,
			     "select count(*) from signal_sums where object = '…/nowhere' and"
			     " errno = %d and measure = 'time'",
			     EBADF),
			 1);
	trial__remove(trial.path);
}

static pid_t start_searcher(int go, int paths)
{
	pid_t child = fork();
	char path[64];

	if (!child) {
		if (read(go, path, 1) != 1)
			_exit(1);
		for (int i = 0; i < paths; i++) {
			snprintf(path, sizeof(path), "/nothing-%d", i);
			access(path, F_OK);
		}
		_exit(0);
	}
	return child;
}

static void what_has_no_room_is_counted_as_other(void **state)
{
	int many = is_emulated() ? 3000 : 45000, go[2];
	struct trial trial;
	char pid[16];
	int64_t other;
	pid_t child;

	assert_int_equal(pipe(go), 0);
	child = start_searcher(go[0], many);
	snprintf(pid, sizeof(pid), "%d", child);
	trial = trial__start(ARGS("--signals", "files", "-p", pid));
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	assert_int_equal(ask(trial.path,
			     "select sum(count) from signal_sums where signal = 'files' "
			     "and measure = 'time'"),
			 many);
	other = ask(trial.path, "select coalesce(sum(count), 0) from signal_sums where signal = "
				"'files' and measure = 'time' and operation = 'other'");
	assert_int_equal(
		ask(trial.path, "select value from quality where name = 'files_sums_unnamed'"),
		other);
	/* An emulated machine is so slow that there is room for all. */
	assert_true(other > 0 || is_emulated());
	close(go[0]);
	close(go[1]);
	trial__remove(trial.path);
}

/* A process that has one end of a pipe only, and waits: for the pipe, or for ever. */
static pid_t start_end(const int *ends, int kept)
{
	pid_t child = fork();
	char byte;

	if (!child) {
		prctl(PR_SET_NAME, kept ? "pipe-source" : "pipe-sink");
		close(ends[!kept]);
		if (kept)
			pause();
		_exit((int)read(ends[0], &byte, 1));
	}
	return child;
}

static void a_wait_for_a_pipe_says_who_has_its_ends(void **state)
{
	struct trial trial;
	pid_t source, sink;
	char pid[16];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	source = start_end(ends, 1);
	sink = start_end(ends, 0);
	close(ends[0]);
	close(ends[1]);
	snprintf(pid, sizeof(pid), "%d", sink);
	trial = trial__start(ARGS("-p", pid));
	usleep(500000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	assert_int_equal(
		ask(trial.path,
		    "select count(*) from waits where waiter_comm = 'pipe-sink' and cause = "
		    "'pipe' and object like 'pipe:[%%] from pipe-source %d to pipe-sink %d'",
		    source, sink),
		1);
	kill(source, SIGKILL);
	kill(sink, SIGKILL);
	waitpid(source, NULL, 0);
	waitpid(sink, NULL, 0);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_is_counted_by_tp_btf),
		cmocka_unit_test(every_operation_is_counted_by_raw_tp),
		cmocka_unit_test(every_operation_is_counted_by_classic_tracepoints),
		HERE(only_the_process_that_was_asked_for_counts),
		HERE(nonsense_is_not_believed),
		HERE(what_has_no_room_is_counted_as_other),
		cmocka_unit_test(a_wait_for_a_pipe_says_who_has_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
