/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of Java's locks, in a program in which one thread holds a monitor and another one a
 * ReentrantLock for 50 of 51 ms; and what threads of Java allocate, and how long they wait for
 * collections, by the word of the virtual machine. GAPLESS_TEST_JAVA names another interpreter than
 * the system's.
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
/* What a thread allocates besides, before and after it counts. */
#define BESIDES_BYTES (128 << 10)

static char classes[] = "/tmp/gapless-java-XXXXXX";
static char recording[64];
static bool is_recorded;

static void compile(const char *source)
{
	static bool has_folder;
	char command[512];

	if (!has_folder)
		assert_non_null(mkdtemp(classes));
	has_folder = true;
	chmod(classes, 0755);
	snprintf(command, sizeof(command), "javac -nowarn -source 8 -target 8 -d %s %s 2>&1",
		 classes, workload__path(source));
	assert_int_equal(system(command), 0);
}

/* Without Java, the test is skipped. */
static const char *find_java(void)
{
	const char *named = getenv("GAPLESS_TEST_JAVA");
	const char *java = named ? named : "/usr/bin/java";

	if (access(java, X_OK) || system("command -v javac >/dev/null 2>&1")) {
		print_message("# skip: there is no %s, or no javac [GAPLESS_TEST_JAVA]\n", java);
		skip();
	}
	return java;
}

/* Once for all tests of locks. */
static void record(void)
{
	struct workload workload;
	struct trial trial;
	const char *java;
	char pid[16];

	if (is_recorded)
		return;
	java = find_java();
	compile("Locks.java");
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

/* --- allocation and collections -----------------------------------------------------------------
 */

/* What the program says of itself, and the recording of it. */
static json_t *record_allocations(const char *collector, struct trial *ret)
{
	struct workload workload;
	json_t *log;
	char pid[16];

	workload = workload__start(
		ARGS(find_java(), collector, "-Xms40m", "-Xmx40m", "-cp", classes, "Allocates"));
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	*ret = trial__start(ARGS("-F", "99", "-p", pid));
	sleep(1); /* until the probes are there */
	workload__go(&workload);
	workload__await_ready(&workload);
	assert_int_equal(trial__stop(ret, SIGINT), 0);
	workload__go(&workload);
	log = workload__end(&workload);
	assert_int_equal(json_array_size(log), 1);
	return log;
}

static int64_t said(json_t *log, const char *what)
{
	return json_integer_value(json_object_get(json_array_get(log, 0), what));
}

static void assert_allocated(const struct trial *trial, const char *thread, int64_t bytes)
{
	char sql[256];
	int64_t found;

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(bytes), 0) from allocated a join thread_named t"
		 " on t.id = a.thread where t.comm = '%s'",
		 thread);
	found = trial__ask(trial->path, sql);
	print_message("# %s allocated %" PRId64 " bytes, found %" PRId64 "\n", thread, bytes,
		      found);
	assert_true(found >= bytes && found <= bytes + BESIDES_BYTES);
}

/*
 * The thread waits for each collection that it has asked for, and until the VM Thread runs again,
 * so it waits at least as long as the collections take. On a busy machine it may lose its CPU
 * before it has begun to wait.
 */
static void assert_collections(const struct trial *trial, json_t *log)
{
	const char *path = trial->path;
	int64_t waited_ns = trial__ask(path, "select coalesce(sum(ns), 0) from waits"
					     " where cause = 'gc' and waiter_comm = 'allocates'");
	int64_t count = trial__ask(path, "select coalesce(sum(count), 0) from waits"
					 " where cause = 'gc' and waiter_comm = 'allocates'");
	int64_t ready_ns = trial__ask(path, "select coalesce(sum(ns), 0) from time_by_thread"
					    " where state = 'ready' and comm = 'allocates'");
	int64_t told_ns = said(log, "collection_ms") * MS;

	print_message("# waited %" PRId64 " times, %.1f ms (ready: %.1f ms); %" PRId64
		      " collections, %.1f ms\n",
		      count, (double)waited_ns / 1e6, (double)ready_ns / 1e6,
		      said(log, "collections"), (double)told_ns / 1e6);
	/* One operation may make two collections. */
	assert_true(count * 2 >= said(log, "collections"));
	assert_true((waited_ns + ready_ns) * 100 >= told_ns * 95);
	assert_int_equal(trial__ask(path, "select count(*) from waits where cause = 'gc'"
					  " and by_comm <> 'VM Thread'"),
			 0);
	/* Nearly all of its waits for the VM Thread are for collections. */
	assert_true(trial__ask(path, "select coalesce(sum(count), 0) from waits"
				     " where cause = 'lock' and waiter_comm = 'allocates'"
				     " and by_comm = 'VM Thread' and kind = 'undecided'") *
			    10 <=
		    count);
	assert_int_equal(trial__ask(path, "select count(*) from threads where remainder_ns <> 0"),
			 0);
}

static void assert_allocations_and_collections(const char *collector)
{
	struct trial trial;
	json_t *log;

	find_java();
	compile("Allocates.java");
	log = record_allocations(collector, &trial);
	assert_allocated(&trial, "allocates", said(log, "bytes"));
	assert_allocated(&trial, "young", said(log, "young_bytes"));
	assert_collections(&trial, log);
	json_decref(log);
	trial__remove(trial.path);
}

static void a_thread_waits_for_the_collections_that_it_asked_for(void **state)
{
	assert_allocations_and_collections("-XX:+UseSerialGC");
}

static void the_same_with_a_collector_that_has_threads_of_its_own(void **state)
{
	assert_allocations_and_collections("-XX:+UseParallelGC");
}

static int remove_all(void **state)
{
	char command[64];

	if (is_recorded)
		trial__remove(recording);
	snprintf(command, sizeof(command), "rm -rf %s", classes);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_monitor_has_its_class_and_its_owner),
		cmocka_unit_test(a_reentrant_lock_has_its_class_and_its_owner),
		cmocka_unit_test(whoever_waits_for_work_is_held_up_by_nobody),
		cmocka_unit_test(a_thread_waits_for_the_collections_that_it_asked_for),
		cmocka_unit_test(the_same_with_a_collector_that_has_threads_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, remove_all);
}
