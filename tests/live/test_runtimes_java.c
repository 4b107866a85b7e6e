/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of Java's locks, in a program in which one thread holds a monitor and another one a
 * ReentrantLock for 50 of 51 ms. GAPLESS_TEST_JAVA names another interpreter than the system's.
 */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define SECONDS 3

static char classes[] = "/tmp/gapless-locks-XXXXXX";
static char recording[64];
static bool is_recorded;

static void compile(void)
{
	char command[512];

	assert_non_null(mkdtemp(classes));
	chmod(classes, 0755);
	snprintf(command, sizeof(command), "javac -nowarn -source 8 -target 8 -d %s %s 2>&1",
		 classes, workload__path("Locks.java"));
	assert_int_equal(system(command), 0);
}

/* Once for all tests; without Java they are skipped. */
static void record(void)
{
	const char *named = getenv("GAPLESS_TEST_JAVA");
	const char *java = named ? named : "/usr/bin/java";
	struct workload workload;
	struct trial trial;
	char pid[16];

	if (is_recorded)
		return;
	if (access(java, X_OK) || system("command -v javac >/dev/null 2>&1")) {
		print_message("# skip: there is no %s, or no javac [GAPLESS_TEST_JAVA]\n", java);
		skip();
	}
	compile();
	workload = workload__start(ARGS(java, "-cp", classes, "Locks"));
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-F", "99", "-p", pid));
	sleep(SECONDS);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	snprintf(recording, sizeof(recording), "%s", trial.path);
	is_recorded = true;
}

/* `what`: "ns" or "count". */
static int64_t sum(const char *what, const char *waiter, const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from waits where waiter_comm = '%s' and %s", what,
		 waiter, condition);
	return trial__ask(recording, sql);
}

static int64_t ask(const char *waiter, const char *condition)
{
	return sum("ns", waiter, condition);
}

/* If it was handed on, it was free in between: the owner is the first, or the last one. */
static void assert_owner(const char *waiter, const char *owner, const char *object)
{
	char condition[256];
	int64_t part, all;

	snprintf(condition, sizeof(condition),
		 "evidence in ('owner', 'handed') and (by_comm = '%s' or first_comm = '%s') and"
		 " object = '%s'",
		 owner, owner, object);
	part = ask(waiter, condition);
	all = ask(waiter, "object_kind in ('monitor', 'lock')");
	print_message("# %s: %" PRId64 " of %" PRId64 " ms were held by %s\n", waiter,
		      part / 1000000, all / 1000000, owner);
	assert_true(all > SECONDS * 1000 * MS / 2);
	assert_true(part * 100 >= all * 99);
	/* The wait that was open when the recording began. */
	assert_true(sum("count", waiter, "object_kind = 'futex'") <= 1);
}

static void a_monitor_has_its_class_and_its_owner(void **state)
{
	record();
	assert_owner("wants-monitor", "holds-monitor", "Locks$Ledger");
}

static void a_reentrant_lock_has_its_class_and_its_owner(void **state)
{
	record();
	assert_owner("wants-lock", "holds-lock", "java.util.concurrent.locks.ReentrantLock");
}

static void assert_nobody_is_blamed(const char *waiter)
{
	record();
	assert_true(ask(waiter, "cause = 'lock'") > SECONDS * 1000 * MS / 2);
	assert_int_equal(ask(waiter, "evidence in ('owner', 'handed')"), 0);
	assert_int_equal(ask(waiter, "object_kind in ('monitor', 'lock')"), 0);
}

static void whoever_waits_for_work_is_held_up_by_nobody(void **state)
{
	assert_nobody_is_blamed("awaits-work");
	assert_nobody_is_blamed("takes-work");
}

static int remove_all(void **state)
{
	char command[64];

	if (!is_recorded)
		return 0;
	trial__remove(recording);
	snprintf(command, sizeof(command), "rm -r %s", classes);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_monitor_has_its_class_and_its_owner),
		cmocka_unit_test(a_reentrant_lock_has_its_class_and_its_owner),
		cmocka_unit_test(whoever_waits_for_work_is_held_up_by_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, remove_all);
}
