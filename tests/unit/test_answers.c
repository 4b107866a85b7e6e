/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sentence says beside the wait: when nothing is said, who had the CPU, chains, loss. */
#include "making.h"

#include <signal.h>

#define OUTSIDE  16 /* flag of a thread */
#define OUTBOUND "10.0.0.1:40000 ↔ 10.0.0.2:9100"

static void add_process(struct making *making, int64_t process, const char *comm)
{
	sample__process(making->recording, process, comm);
}

/* A thread of another process than the first. */
static void add_thread_of(struct making *making, int64_t id, int64_t process, const char *comm)
{
	sample__thread(making->recording, id, process, comm, 0);
	making->now_ns = SAMPLE_START_NS;
}

/* --- nothing --------------------------------------------------------------------------------- */

/* As if it had been recorded before turns were. */
static void forget_turns(void)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE meta SET value = 3 WHERE key = 'schema_version'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
}

/*
 * A scraper between two scrapes, and a client whose turn is not known, look alike: neither "it
 * waited for an answer" nor "nothing was held up" can be said.
 */
static void of_an_outbound_connection_without_a_turn_nothing_is_said(void **state)
{
	struct making making = begin();

	recording__put_object(making.recording,
			      &(struct recording_object) { 7, "socket", OUTBOUND });
	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making,
		  (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .object = 7 },
		  "main;loop;poll", 10, 29 * SECOND);
	finish(&making);
	forget_turns();
	expect("for an answer from", false);
	expect("Nothing was held up", false);
}

/* Two processes of one name can run different programs: the home of one is not the other's. */
static void processes_of_one_name_do_not_share_a_home(void **state)
{
	struct making making = begin();

	add_process(&making, 2, "app");
	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;loop;epoll_wait", 100, 29 * SECOND);
	add_thread_of(&making, 2, 2, "app");
	run_in(&making, 2, "main;top;screen;draw", SECOND);
	add_waits(&making, (struct recording_sample) { .thread = 2, .state = SAMPLE_POLL, .by = 9 },
		  "main;top;screen;keys;wait_key;poll", 100, 29 * SECOND);
	finish(&making);
	expect("away from the place", false);
	expect("Nothing was held up", true);
}

/* A program that hangs looks like one that has no work. */
static void a_hang_is_not_called_idle(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", MS, "main;loop;handle");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 1, .state = SAMPLE_LOCK_OPEN, .ended = "open" },
		  "main;loop;handle;pthread_cond_wait", 1, 29 * SECOND);
	finish(&making);
	expect("Nothing was held up", false);
	expect("waited for work", false);
	expect("whether they wait for work or hang is not known", true);
}

/* It answered a call that the bus passed on, and waits for the next one. */
static void whoever_spoke_last_to_a_message_bus_waits_for_work(void **state)
{
	struct making making = begin();

	recording__put_object(
		making.recording,
		&(struct recording_object) { 7, "socket", "unix socket to dbus-daemon (pid 712)" });
	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 1, .state = SAMPLE_POLL, .by = 9, .object = 7, .turn = 1 },
		  "main;loop;poll", 100, 29 * SECOND);
	finish(&making);
	expect("for an answer from", false);
	expect("1 thread of 1 program waited for work", true);
}

/* A kept connection: the next request is waited for below the place of new connections. */
static void a_connection_that_is_kept_open_holds_nobody_up(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;loop;epoll_wait", 50, 4 * SECOND);
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = NET, .by = 9 },
		  "main;loop;serve;connection;next;read_request;recv", 50, 25 * SECOND);
	finish(&making);
	expect("away from the place", false);
	expect("waited 8", false);
}

/* --- who had the CPU ------------------------------------------------------------------------- */

/* Meanwhile a thread outside of the target had the CPU. */
static void make_queued(struct making *making, int state)
{
	add_process(making, 2, "neighbour");
	add_thread(making, 1, "app", 10 * SECOND, "main;compute");
	sample__account(making->recording, 1, state, 1, 3, 20 * SECOND, 100);
	sample__thread(making->recording, 2, 2, "neighbour", OUTSIDE);
	run_in(making, 2, "main;spin", 30 * SECOND);
	for (int64_t slice = 1; slice <= 3; slice++)
		assert_int_equal(
			recording__add_occupant(making->recording, slice, 1, 2, 6 * SECOND), 0);
}

static void whoever_had_the_cpu_is_named(void **state)
{
	struct making making = begin();

	make_queued(&making, SAMPLE_READY_PREEMPTED);
	finish(&making);
	expect("neighbour", true);
}

/* Others ran meanwhile, but the quota is why it did not. */
static void under_a_quota_no_neighbour_is_named(void **state)
{
	struct making making = begin();

	make_queued(&making, THROTTLED);
	assert_int_equal(
		recording__put_cgroup_limit(
			making.recording,
			&(struct recording_cgroup_limit) { 1, "/app", "cpu", "20 ms per 100 ms" }),
		0);
	assert_int_equal(recording__set_throttled(making.recording, "cpu", "/app", 20 * SECOND), 0);
	finish(&making);
	expect("20 ms per 100 ms", true);
	expect("neighbour", false);
}

/* --- crashes --------------------------------------------------------------------------------- */

/* The last sample is of another function than the one that crashed: only the signal's stack counts.
 */
static void a_crash_is_in_the_function_of_the_signal(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", 29 * SECOND, "main;loop;innocent");
	assert_int_equal(recording__add_fatal(making.recording,
					      &(struct recording_fatal) {
						      SAMPLE_START_NS + 29 * SECOND, 1, SIGSEGV, 1,
						      0, stack_of(&making, "main;loop;parse") }),
			 0);
	finish(&making);
	expect("1. app (tid 1001) was killed by SIGSEGV, in parse.", true);
}

static void without_the_stack_of_the_signal_no_function_is_named(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", 29 * SECOND, "main;loop;innocent");
	assert_int_equal(
		recording__add_fatal(making.recording,
				     &(struct recording_fatal) { SAMPLE_START_NS + 29 * SECOND, 1,
								 SIGSEGV, 1, 0, 0 }),
		0);
	finish(&making);
	expect("1. app (tid 1001) was killed by SIGSEGV.", true);
}

/* --- chains ---------------------------------------------------------------------------------- */

static void a_child_that_waits_for_its_child_leads_to_the_one_that_runs(void **state)
{
	struct making making = begin();

	add_process(&making, 2, "sh");
	add_process(&making, 3, "cc1");
	add_thread(&making, 1, "app", SECOND, "main;build");
	add_waits(&making,
		  (struct recording_sample) { .thread = 1, .state = SAMPLE_CHILD, .by = 2 },
		  "main;build;wait4", 5, 28 * SECOND);
	add_thread_of(&making, 2, 2, "sh");
	run_in(&making, 2, "main;parse", SECOND);
	add_waits(&making,
		  (struct recording_sample) { .thread = 2, .state = SAMPLE_CHILD, .by = 3 },
		  "main;run;wait4", 5, 28 * SECOND);
	add_thread_of(&making, 3, 3, "cc1");
	run_in(&making, 3, "main;compile", 28 * SECOND);
	finish(&making);
	expect("cc1", true);
	expect("compile", true);
	expect("Nothing was held up", false);
}

static void what_a_local_server_did_is_said(void **state)
{
	struct making making = begin();

	add_process(&making, 2, "server");
	recording__put_object(
		making.recording,
		&(struct recording_object) { 7, "socket", "127.0.0.1:40000 ↔ 127.0.0.1:5432" });
	add_thread(&making, 1, "app", SECOND, "main;loop;ask");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 1, .state = NET, .by = 2, .object = 7, .turn = 1 },
		  "main;loop;ask;recv", 10, 28 * SECOND);
	add_thread_of(&making, 2, 2, "server");
	run_in(&making, 2, "main;answer", SECOND);
	add_waits(&making, (struct recording_sample) { .thread = 2, .state = SAMPLE_DISK },
		  "main;answer;write_log;fsync", 10, 28 * SECOND);
	finish(&making);
	expect("for an answer from 127.0.0.1:5432", true);
	expect("meanwhile server was waiting for the disk", true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_an_outbound_connection_without_a_turn_nothing_is_said),
		TEST(processes_of_one_name_do_not_share_a_home),
		TEST(a_hang_is_not_called_idle),
		TEST(whoever_spoke_last_to_a_message_bus_waits_for_work),
		TEST(a_connection_that_is_kept_open_holds_nobody_up),
		TEST(whoever_had_the_cpu_is_named),
		TEST(under_a_quota_no_neighbour_is_named),
		TEST(a_crash_is_in_the_function_of_the_signal),
		TEST(without_the_stack_of_the_signal_no_function_is_named),
		TEST(a_child_that_waits_for_its_child_leads_to_the_one_that_runs),
		TEST(what_a_local_server_did_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
