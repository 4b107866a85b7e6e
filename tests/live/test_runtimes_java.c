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
#include <unistd.h>

#include "interpreters.h"

#define SECONDS 3
/* What a thread allocates besides, before and after it counts. */
#define BESIDES_BYTES (128 << 10)

static char recording[64];
static bool is_recorded;

static const char *find_java(void)
{
	return interpreters__path("GAPLESS_TEST_JAVA", "/usr/bin/java");
}

/* Once for all tests of locks. */
static void record(void)
{
	struct workload workload;
	struct trial trial;
	char pid[16];

	if (is_recorded)
		return;
	workload =
		workload__start(ARGS(find_java(), "-cp", interpreters__classes("Locks"), "Locks"));
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-F", "99", "-p", pid));
	sleep(SECONDS);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	snprintf(recording, sizeof(recording), "%s", trial.path);
	is_recorded = true;
}

static int64_t ask(const char *waiter, const char *condition)
{
	return interpreters__waits(recording, "ns", waiter, condition);
}

static void a_monitor_has_its_class_and_its_owner(void **state)
{
	record();
	assert_java_owner(recording, "wants-monitor", "holds-monitor", "Locks$Ledger");
}

static void a_reentrant_lock_has_its_class_and_its_owner(void **state)
{
	record();
	assert_java_owner(recording, "wants-lock", "holds-lock",
			  "java.util.concurrent.locks.ReentrantLock");
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

/* --- allocation and collections --------------------------------------------------------------- */

/* What the program says of itself, and the recording of it. */
static json_t *record_allocations(const char *collector, struct trial *ret)
{
	struct workload workload;
	json_t *log;
	char pid[16];

	workload = workload__start(ARGS(find_java(), collector, "-Xms40m", "-Xmx40m", "-cp",
					interpreters__classes("Allocates"), "Allocates"));
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
	if (is_recorded)
		trial__remove(recording);
	return interpreters__remove_classes(state);
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
