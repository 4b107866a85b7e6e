/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signal syscalls: known numbers of calls, known waits, and more of both than there is room. */
#include "../harness.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define CALLS " FROM signal_sums WHERE signal = 'syscalls' AND measure = 'time'"

static int64_t calls_of(const char *path, const char *comm, const char *name, int err)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(count) AS count" CALLS
		 " AND comm = '%s' AND operation = '%s' AND errno = %d",
		 comm, name, err);
	return trial__query(path, sql);
}

/* By syscall, so that no two mistakes make up for each other. */
static void assert_agrees_with_ledger(const char *path)
{
	assert_true(trial__query(path, "SELECT count(*) AS count FROM syscall_slice") > 0);
	assert_int_equal(
		trial__query(
			path,
			"WITH s AS (SELECT operation, measure, sum(count) AS count, sum(sum) AS ns"
			" FROM signal_sums WHERE signal = 'syscalls' GROUP BY operation, measure),"
			" l AS (SELECT name, count, total_ns AS ns, 'time' AS measure FROM syscalls"
			" UNION ALL SELECT name, count, run_ns, 'running' FROM syscalls)"
			" SELECT count(*) AS count FROM l LEFT JOIN s ON s.operation = l.name"
			" AND s.measure = l.measure"
			" WHERE s.count IS NOT l.count OR s.ns IS NOT l.ns"),
		0);
	assert_int_equal(
		trial__query(path, "WITH e AS (SELECT operation, errno, sum(count) AS count" CALLS
				   " AND errno > 0 GROUP BY operation, errno)"
				   " SELECT count(*) AS count FROM syscall_errors l LEFT JOIN e"
				   " ON e.operation = l.name AND e.errno = l.errno"
				   " WHERE e.count IS NOT l.count"),
		0);
}

/* The distributions are the ledger's histograms. */
static void assert_distributed(const char *path)
{
	assert_int_equal(trial__query(path,
				      "SELECT sum(h.count IS NOT s.count) AS count FROM (SELECT"
				      " name, begin_ns, sum(count) AS count FROM histograms"
				      " WHERE of = 'syscall' GROUP BY name, begin_ns) h LEFT JOIN"
				      " signal_histograms s ON s.signal = 'syscalls'"
				      " AND s.operation = h.name AND s.begin = h.begin_ns"),
			 0);
	assert_int_equal(trial__query(path, "SELECT (SELECT sum(count) FROM signal_histograms"
					    " WHERE signal = 'syscalls') - (SELECT sum(count)"
					    " FROM syscalls) AS count"),
			 0);
}

static void calls_are_counted_by_thread_and_errno(void **state)
{
	char path[64], comm[8];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls"), WORKLOAD("callers", "count"), &log);
	for (int k = 1; k <= 4; k++) {
		snprintf(comm, sizeof(comm), "c%d", k);
		assert_int_equal(calls_of(path, comm, "getppid", 0), 1000 * k);
		assert_int_equal(calls_of(path, comm, "newfstatat", ENOENT), 100 * k);
		assert_int_equal(calls_of(path, comm, "openat", ENOTDIR), 10 * k);
		assert_int_equal(calls_of(path, comm, "openat", EISDIR), 5 * k);
	}
	assert_agrees_with_ledger(path);
	assert_distributed(path);
	assert_int_equal(trial__query(path, "SELECT sum(value) AS value FROM quality"
					    " WHERE name LIKE 'syscalls\\_%' ESCAPE '\\'"),
			 0);
	trial__remove(path);
	json_decref(log);
}

/* Sums and histograms are taken once a second; the last turn may be anybody's. */
static void distributions_are_whole_however_long_it_lasts(void **state)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	for (int tenths = 3; tenths < 30; tenths += 10) {
		struct trial trial =
			trial__start(ARGS("--no-stacks", "-p", pid, "--signals", "syscalls"));

		for (int i = 0; i < tenths; i++)
			usleep(100000);
		assert_int_equal(trial__stop(&trial, SIGINT), 0);
		assert_agrees_with_ledger(trial.path);
		assert_distributed(trial.path);
		trial__remove(trial.path);
	}
}

/* Broken off and made again, or not; the ends of threads; and exec. */
static void odd_calls_count_as_in_the_ledger(void **state)
{
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "default"), WORKLOAD("interrupted"), &log);
	assert_int_equal(calls_of(path, "interrupted", "pause", EINTR), 20);
	assert_int_equal(calls_of(path, "interrupted", "rt_sigreturn", 0), 45);
	assert_agrees_with_ledger(path);
	trial__remove(path);
	json_decref(log);
}

static void a_process_under_way_is_counted_from_when_the_ledger_is(void **state)
{
	struct workload workload = workload__start(WORKLOAD("callers", "spin"));
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid, "--signals", "syscalls"));
	usleep(1300000); /* so that the two maps take turns */
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	assert_true(calls_of(trial.path, "callers", "getppid", 0) > 0);
	assert_agrees_with_ledger(trial.path);
	trial__remove(trial.path);
}

struct expected {
	const char *comm;
	const char *operation;
	const char *args;   /* a pattern for LIKE */
	const char *object; /* likewise */
	const char *caller; /* a function of its stack */
};

static void check_event(const char *path, const struct expected *expected, int64_t blocked_ns)
{
	char where[512], sql[1024];
	int64_t ns;

	snprintf(where, sizeof(where),
		 " FROM events WHERE signal = 'syscalls' AND comm = '%s' AND operation = '%s'"
		 " AND errno = 0 AND fields ->> 'args' LIKE '%s' AND coalesce(object, '') LIKE '%s'"
		 " AND fields ->> 'running' <= duration_ns",
		 expected->comm, expected->operation, expected->args, expected->object);
	snprintf(sql, sizeof(sql), "SELECT count(*) AS count%s", where);
	if (trial__query(path, sql) != 1)
		fail_msg("no such event: %s", where);
	snprintf(sql, sizeof(sql), "SELECT duration_ns%s", where);
	ns = trial__query(path, sql);
	/* It was held for 150 ms; a busy machine may have come late to that. */
	assert_in_range(ns, 20 * MS, blocked_ns);
	if (!is_emulated())
		assert_int_equal(
			trial__events_in(path, "syscalls", expected->comm, expected->caller), 1);
}

static void slow_calls_are_named_with_what_they_wait_for(void **state)
{
	static const struct expected all[] = {
		{ "slow-pipe", "read", "read(% → pipe:[%], …, 1) = 1", "pipe:[%]", "read_one" },
		{ "slow-fifo", "openat", "openat(\"/tmp/gapless-slow-%/fifo\", 0, 0) = %", "",
		  "open_it" },
		{ "slow-flock", "flock", "flock(% → /tmp/gapless-slow-%/lock, 0x2) = 0",
		  "/tmp/gapless-slow-%/lock", "lock_file" },
		{ "slow-mutex", "futex", "futex(0x%) = 0", "", "lock_mutex" },
		{ "slow-net", "read", "read(% → 127.0.0.1:% ↔ 127.0.0.1:%, …, 1) = 1",
		  "127.0.0.1:%", "read_one" },
	};
	char path[64], folder[] = "/tmp/gapless-slow-XXXXXX";
	json_t *log;

	assert_non_null(mkdtemp(folder));
	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls", "--slow", "20ms"),
			 WORKLOAD("callers", "slow", folder), &log);
	rmdir(folder);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		json_t *phase = log_phase(log, "slow", all[i].comm);

		check_event(path, &all[i], number_at(phase, "blocked_ns"));
	}
	assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM events"
					    " WHERE comm = 'slow-idle' AND operation IN"
					    " ('clock_nanosleep', 'poll')"),
			 0);
	assert_agrees_with_ledger(path);
	trial__remove(path);
	json_decref(log);
}

/* 24,000 sums at once, where two maps have room for 16,384. */
static void what_has_no_room_is_counted_without_its_name(void **state)
{
	char path[64];
	int64_t other;
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "syscalls"), WORKLOAD("callers", "many"), &log);
	assert_int_equal(trial__query(path, "SELECT sum(count) AS count FROM syscall_slice"
					    " WHERE number BETWEEN 340 AND 419"),
			 300 * 80);
	other = trial__query(path, "SELECT sum(count) AS count" CALLS " AND operation = 'other'");
	assert_in_range(other, 1, 300 * 80);
	assert_int_equal(other, trial__query(path, "SELECT value FROM quality"
						   " WHERE name = 'syscalls_sums_unnamed'"));
	assert_int_equal(trial__query(path, "SELECT sum(count) - (SELECT sum(count) FROM"
					    " syscall_slice) AS count" CALLS),
			 0);
	assert_int_equal(trial__query(path, "SELECT sum(sum) - (SELECT sum(total_ns) FROM"
					    " syscall_slice) AS ns" CALLS),
			 0);
	trial__remove(path);
	json_decref(log);
}

static void without_it_or_without_syscalls_there_is_nothing(void **state)
{
	static const char *const options[][4] = { { "--signals", "none" },
						  { "--level", "sched", "--signals=syscalls" } };

	for (size_t i = 0; i < 2; i++) {
		char path[64];
		json_t *log;

		trial__path(path, sizeof(path));
		trial__record_at(path, options[i], WORKLOAD("callers", "count"), &log);
		assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM series"), 0);
		assert_int_equal(trial__query(path, "SELECT count(*) AS count FROM signal"), 0);
		trial__remove(path);
		json_decref(log);
	}
}

static int64_t paths_where(const char *path, const char *what, const char *where)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(%s), 0) AS n FROM failed_path f JOIN syscall s"
		 " USING(number) JOIN thread_named t ON t.id = f.thread"
		 " WHERE t.comm = 'searcher' AND %s",
		 what, where);
	return trial__query(path, sql);
}

/* 80,000 failed calls are sampled, so their number is an estimate; 30 are counted. */
static void paths_that_are_looked_for_become_patterns(void **state)
{
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"), WORKLOAD("searcher"), &log);
	print_message("# %" PRId64 " of 80000 failed calls by sampling, %" PRId64
		      " of 2000 others\n",
		      paths_where(path, "count", "pattern = '/nowhere/*/libplugin.so'"),
		      paths_where(path, "count", "pattern = '/proc/self'"));
	assert_in_range(paths_where(path, "count", "pattern = '/nowhere/*/libplugin.so'"), 40000,
			160000);
	assert_int_equal(paths_where(path, "paths", "pattern = '/nowhere/*/libplugin.so'"), 40);
	assert_int_equal(paths_where(path, "errno", "pattern = '/nowhere/*/libplugin.so'"), ENOENT);
	assert_in_range(paths_where(path, "count", "pattern = '/proc/self' AND errno = 0"), 1000,
			4000);
	assert_int_equal(paths_where(path, "count", "pattern = '/proc/version/*'"), 30);
	assert_int_equal(paths_where(path, "paths", "pattern = '/proc/version/*'"), 30);
	assert_int_equal(paths_where(path, "errno", "pattern = '/proc/version/*'"), ENOTDIR);
	trial__remove(path);
	json_decref(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(paths_that_are_looked_for_become_patterns),
		cmocka_unit_test(calls_are_counted_by_thread_and_errno),
		HERE(distributions_are_whole_however_long_it_lasts),
		cmocka_unit_test(odd_calls_count_as_in_the_ledger),
		cmocka_unit_test(a_process_under_way_is_counted_from_when_the_ledger_is),
		cmocka_unit_test(slow_calls_are_named_with_what_they_wait_for),
		HERE(what_has_no_room_is_counted_without_its_name),
		HERE(without_it_or_without_syscalls_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
