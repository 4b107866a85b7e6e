/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does gapless measure correctly here? The self-test records work whose counts are known and whose
 * times the work itself measured, with the code of `gapless record`, and compares both.
 *
 * No bound depends on how busy the machine is. By its own clock, a thread in a blocking call spends
 * the call waiting, ready, or running. So the recorded waits must not be longer than the time that
 * the thread measured, nor shorter than that time minus all its ready and running time.
 */
#include "cli/self_test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/term.h"
#include "base/words.h"
#include "cli/cli.h"
#include "model/model.h"
#include "record/run.h"
#include "signals/registry.h"
#include "vocabulary/counters.h"

#define RATE         997
#define TABLE_BYTES  (UINT64_C(64) << 20)
#define MOST_WAIT_NS UINT64_C(60000000000)
#define MOST_CHECKS  24
/* The scheduler and the ledger read different clocks. */
#define CPU_SLACK 100
/* At most one part in this many may be unexplained. */
#define UNEXPLAINED 1000

DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(struct run *, run__free)
DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)
DEFINE_CLEANUP(struct self_test_facts *, self_test_work__release)

struct check {
	const char *name;
	bool ok;
	char detail[256];
};

struct self_test {
	sqlite3 *db;
	const struct self_test_facts *facts;
	struct check checks[MOST_CHECKS];
	size_t count;
};

__attribute__((format(printf, 4, 5))) static void judge(struct self_test *test, const char *name,
							bool ok, const char *format, ...)
{
	struct check *check = &test->checks[test->count];
	va_list args;

	if (test->count == MOST_CHECKS)
		return;
	test->count++;
	check->name = name;
	check->ok = ok;
	va_start(args, format);
	vsnprintf(check->detail, sizeof(check->detail), format, args);
	va_end(args);
}

/* The single number that a query returns, with ?1 = `text`; -1 if there is none. */
static int64_t ask(const struct self_test *test, const char *sql, const char *text)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(test->db, sql, -1, &row, NULL))
		return -1;
	if (text)
		sqlite3_bind_text(row, 1, text, -1, SQLITE_STATIC);
	return sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : -1;
}

static void judge_sums(struct self_test *test)
{
	int64_t life_ns = ask(test, "SELECT sum(lifetime_ns) FROM threads", NULL);
	int64_t rest_ns = ask(test, "SELECT sum(abs(remainder_ns)) FROM threads", NULL);
	int64_t dark_ns = ask(test, "SELECT sum(unexplained_ns) FROM threads", NULL);
	int64_t threads = ask(test, "SELECT count(*) FROM threads", NULL);

	judge(test, "threads", threads == 7, "%" PRId64 " of 7 have an account", threads);
	judge(test, "sums", life_ns > 0 && !rest_ns,
	      "states and lifetimes (%s) differ by %" PRId64 " ns", words__time(life_ns).text,
	      rest_ns);
	judge(test, "unexplained", dark_ns >= 0 && dark_ns <= life_ns / UNEXPLAINED,
	      "%s of the time", words__tiny_share(dark_ns, life_ns).text);
}

static void judge_call(struct self_test *test, const char *call, int64_t expected)
{
	int64_t count = ask(test, "SELECT sum(count) FROM syscalls WHERE name = ?1", call);

	judge(test, call, count == expected, "%" PRId64 " of %" PRId64 " calls", count, expected);
}

/* Compares the waits of a thread for one cause with what it measured itself. */
static void judge_wait(struct self_test *test, const char *name, const char *cause,
		       const char *thread, int64_t measured_ns)
{
	char sql[160];
	int64_t wait_ns, other_ns;

	snprintf(sql, sizeof(sql),
		 "SELECT sum(ns) FROM time_by_thread WHERE comm = ?1 AND state = 'wait' AND cause "
		 "= '%s'",
		 cause);
	wait_ns = ask(test, sql, thread);
	other_ns = ask(test,
		       "SELECT sum(ns) FROM time_by_thread WHERE comm = ?1 AND state IN ('run', "
		       "'ready')",
		       thread);
	judge(test, name, wait_ns <= measured_ns && wait_ns >= measured_ns - other_ns,
	      "waited %s; %s by the thread's own clock, of which it ran or was ready %s at most",
	      words__time(wait_ns).text, words__time(measured_ns).text, words__time(other_ns).text);
}

static void judge_times(struct self_test *test)
{
	const struct self_test_facts *facts = test->facts;
	int64_t run_ns =
		ask(test, "SELECT sum(ns) FROM time_by_thread WHERE comm = ?1 AND state = 'run'",
		    SELF_TEST_SPINNER);

	judge_wait(test, "sleep", "sleep", SELF_TEST_SLEEPER, facts->sleep_ns);
	judge_wait(test, "lock", "lock", SELF_TEST_WAITER, facts->lock_ns);
	judge_wait(test, "pipe", "pipe", SELF_TEST_LISTENER, facts->listen_ns);
	judge(test, "cpu",
	      run_ns >= facts->cpu_ns - facts->cpu_ns / CPU_SLACK &&
		      run_ns <= facts->spin_ns + facts->spin_ns / CPU_SLACK,
	      "ran %s; %s by the kernel's own count, within %s", words__time(run_ns).text,
	      words__time(facts->cpu_ns).text, words__time(facts->spin_ns).text);
}

/* On a busy machine the lock may be free before the waiter gets there. */
static void judge_culprit(struct self_test *test)
{
	int64_t waits =
		ask(test, "SELECT sum(count) FROM waits WHERE waiter_comm = ?1 AND cause = 'lock'",
		    SELF_TEST_WAITER);
	int64_t right = ask(test,
			    "SELECT sum(count) FROM waits WHERE waiter_comm = '" SELF_TEST_WAITER
			    "' AND cause = 'lock' AND by_comm = ?1",
			    SELF_TEST_HOLDER);

	judge(test, "culprit", waits > 0 && right == waits,
	      "%" PRId64 " of %" PRId64 " waits for a lock are put down to the thread that held it",
	      right, waits);
}

static void judge_stacks(struct self_test *test)
{
	int64_t with = ask(test,
			   "SELECT count(*) FROM sample s JOIN threads t ON t.id = s.thread WHERE "
			   "t.comm = ?1 AND s.stack > 0",
			   SELF_TEST_SPINNER);
	int64_t all = ask(test,
			  "SELECT count(*) FROM sample s JOIN threads t ON t.id = s.thread WHERE "
			  "t.comm = ?1",
			  SELF_TEST_SPINNER);

	judge(test, "stacks", with > 0, "%" PRId64 " of %" PRId64 " samples of the busy thread",
	      with, all);
}

static void judge_losses(struct self_test *test)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	char text[192] = "";

	if (sqlite3_prepare_v2(test->db, "SELECT name, value FROM quality WHERE value > 0", -1,
			       &row, NULL))
		return;
	while (sqlite3_step(row) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(row, 0);

		if (counters__is_loss(name))
			words__say(text, sizeof(text), "%s%s %" PRId64, *text ? ", " : "", name,
				   (int64_t)sqlite3_column_int64(row, 1));
	}
	judge(test, "losses", !*text, "%s", *text ? text : "none");
}

static void judge_all(struct self_test *test)
{
	judge_sums(test);
	judge_call(test, "getppid", SELF_TEST_CALLS);
	judge_call(test, "clock_nanosleep",
		   SELF_TEST_SLEEPS + SELF_TEST_LOCKS + SELF_TEST_MESSAGES);
	judge_call(test, "write", SELF_TEST_MESSAGES + 2 * SELF_TEST_LOCKS);
	judge_call(test, "pread64", SELF_TEST_READS);
	judge_times(test);
	judge_culprit(test);
	judge_stacks(test);
	judge_losses(test);
}

/* Reads until the work has ended. */
static int follow(struct run *run, pid_t pid)
{
	uint64_t until_ns = clock__now_ns() + MOST_WAIT_NS;
	int err = 0, status;

	while (!err && waitpid(pid, &status, WNOHANG) != pid) {
		if (clock__now_ns() > until_ns)
			return -ETIMEDOUT;
		err = run__step(run, until_ns);
	}
	return err ? err : run__stop(run);
}

static int record(struct self_test *test, struct recording *recording, pid_t pid, int gate)
{
	const struct signal *chosen[SIGNALS_MOST];
	struct run_options options = {
		.full = true,
		.interval_ns = RUN_INTERVAL_NS,
		.tick_ns = UINT64_C(1000000000) / RATE,
		.table_bytes = TABLE_BYTES,
		.slow_ns = RUN_SLOW_NS,
		.drop_every = cli__test_switch("GAPLESS_TEST_DROP_WAKEUPS"),
		.signals = chosen,
	};
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(run__free_p) struct run *run = NULL;
	const char *bad;
	size_t wanted = 0;
	int err;

	if (!features)
		return -ENOMEM;
	registry__choose("default", chosen, &bad);
	for (size_t i = 0; chosen[i]; i++)
		wanted++;
	target__add_pid(&options.target, (uint64_t)pid);
	err = run__start(&options, recording, features, &run);
	if (err)
		return err;
	judge(test, "signals", run__signals(run) >= wanted, "%zu at work", run__signals(run));
	err = write(gate, "g", 1) == 1 ? follow(run, pid) : -errno;
	test->db = recording__db(recording);
	return err;
}

static void print(const struct self_test *test, bool passed)
{
	int width = term__width(stdout);

	for (size_t i = 0; i < test->count; i++) {
		const struct check *check = &test->checks[i];
		enum term_style style = check->ok ? TERM_GOOD : TERM_BAD;

		printf("  %s%-7s%s%-16s ", term__on(stdout, style), check->ok ? "ok" : "failed",
		       term__off(stdout, style), check->name);
		term__wrap(stdout, check->detail, 26, width);
	}
	printf("\nverdict: %s\n", passed ? "passed" : "failed");
}

static bool print_json(const struct self_test *test, bool passed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < test->count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:b, s:s}", "name", test->checks[i].name, "ok",
					test->checks[i].ok, "detail", test->checks[i].detail));
	return cli__print_json(
		json_pack("{s:o, s:s}", "checks", list, "verdict", passed ? "passed" : "failed"));
}

int self_test__run(bool json)
{
	cleanup(recording__free_p) struct recording *recording = NULL;
	cleanup(self_test_work__release_p) struct self_test_facts *facts = NULL;
	struct self_test test = {};
	bool passed = true;
	pid_t pid;
	int gate, err = self_test_work__start(&pid, &gate, &facts);

	if (!err) {
		test.facts = facts;
		err = recording__create_in_memory(&recording);
		if (!err)
			err = record(&test, recording, pid, gate);
		close(gate);
	}
	if (!err && !facts->done)
		err = -ECHILD;
	if (err) {
		log_error("the self-test could not be recorded: %s", strerror(-err));
		return 1;
	}
	judge_all(&test);
	for (size_t i = 0; i < test.count; i++)
		passed &= test.checks[i].ok;
	if (!json)
		print(&test, passed);
	else if (!print_json(&test, passed))
		return 1;
	return passed ? 0 : 1;
}
