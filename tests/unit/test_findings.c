/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a wait harmful, and whose fault is it? Most of these cases once misled a rule. */
#include "making.h"

/* --- home ------------------------------------------------------------------------------------ */

static void a_loop_at_its_poll_waits_for_work(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;loop;epoll_wait", 100, 29 * SECOND);
	finish(&making);
	expect("1 thread of 1 program waited for work", true);
	expect("Nothing was held up", true);
}

/* A stack that was cut looks shallow. */
static void a_cut_stack_that_ends_at_home_is_home(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", 2 * SECOND, "main;serve;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;serve;loop;wait_event;epoll_wait", 50, 14 * SECOND);
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 1, .state = SAMPLE_POLL, .by = 9, .end = "not ready" },
		  "loop;wait_event;epoll_wait", 50, 14 * SECOND);
	finish(&making);
	expect("waited 4", false);
	expect("Nothing was held up", true);
}

/* A loop that never comes home: its sole path is the culprit, so a sleep is never home. */
static void a_sleep_is_never_home(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SLEEP },
		  "main;loop;handle;nanosleep", 100, 29 * SECOND);
	finish(&making);
	expect("slept", true);
	expect("whether it had work meanwhile is not known", true);
	expect("Nothing was held up", false);
}

static void a_sleep_away_from_home_holds_up(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;loop;epoll_wait", 50, 9 * SECOND);
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SLEEP },
		  "main;loop;handle;backend;retry;nanosleep", 50, 20 * SECOND);
	finish(&making);
	expect("away from the place where it waits for work", true);
	expect("in nanosleep", true);
}

/* A main thread that only sleeps or joins is no news while others work. */
static void a_main_thread_that_only_sleeps_is_no_finding(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", 10 * MS, "main;supervise");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SLEEP },
		  "main;supervise;nanosleep", 30, 29 * SECOND);
	add_thread(&making, 2, "worker", 29 * SECOND, "start_thread;worker;crunch");
	finish(&making);
	expect("1. worker of app (tid 1002) ran for", true);
	expect("slept", false);
}

/* --- sockets --------------------------------------------------------------------------------- */

/* A client whose only place is its poll: the turn decides, not the depth. */
static void an_unanswered_question_is_held_up_wherever_it_waits(void **state)
{
	struct making making = begin();

	recording__put_object(
		making.recording,
		&(struct recording_object) { 7, "socket", "10.0.0.1:40000 ↔ 10.0.0.2:5432" });
	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 1, .state = SAMPLE_POLL, .by = 9, .object = 7, .turn = 1 },
		  "main;loop;epoll_wait", 100, 29 * SECOND);
	finish(&making);
	expect("for an answer from 10.0.0.2:5432", true);
	expect("Nothing was held up", false);
}

/* "An answer" needs a socket: make's jobserver is a pipe. */
static void a_pipe_is_no_answer(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;build");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_PIPE, .by = 9 },
		  "main;build;read", 100, 29 * SECOND);
	finish(&making);
	expect("answer", false);
}

static void a_wait_for_room_in_a_pipe_holds_up(void **state)
{
	struct making making = begin();
	const struct recording_module kernel = { 2, "kernel", "[kernel]", NULL };

	assert_int_equal(recording__add_module(making.recording, &kernel), 0);
	add_thread(&making, 1, "app", SECOND, "main;put");
	frame_of(&making, "pipe_write");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_PIPE, .by = 9 },
		  "main;put;write;pipe_write", 100, 29 * SECOND);
	finish(&making);
	{
		sqlite3 *db = NULL;

		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		sqlite3_exec(db,
			     "UPDATE frame SET module = 2 WHERE id = (SELECT id FROM function"
			     " WHERE name = 'pipe_write'); UPDATE function SET module = 2 WHERE"
			     " name = 'pipe_write'",
			     NULL, NULL, NULL);
		sqlite3_close(db);
	}
	expect("for room in a pipe", true);
}

/* --- siblings and timers --------------------------------------------------------------------- */

/* The same stack for a lock and for an idle pool: who ends the waits tells. */
static void siblings_that_wake_each_other_hold_each_other_up(void **state)
{
	struct making making = begin();

	for (int64_t i = 1; i <= 3; i++) {
		add_thread(&making, i, "worker", 2 * SECOND, "start_thread;run;task");
		add_waits(&making,
			  (struct recording_sample) {
				  .thread = i, .state = SAMPLE_LOCK_OPEN, .by = i % 3 + 1 },
			  "start_thread;run;task;park", 100, 20 * SECOND);
	}
	finish(&making);
	expect("3 threads worker of app waited", true);
	expect("each was ended by another of them", true);
}

/* The same threads, but they run for requests, and wait here while they have none. */
static void a_pool_that_wakes_itself_between_requests_waits_for_work(void **state)
{
	struct making making = begin();
	sqlite3 *db = NULL;

	for (int64_t i = 1; i <= 3; i++) {
		add_thread(&making, i, "worker", 2 * SECOND, "start_thread;run;task");
		add_waits(&making,
			  (struct recording_sample) {
				  .thread = i, .state = SAMPLE_LOCK_OPEN, .by = i % 3 + 1 },
			  "start_thread;run;task;park", 100, 20 * SECOND);
	}
	finish(&making);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"INSERT INTO window_class VALUES(1, 'server', 'http', '', '', 'ok', 0);"
			"INSERT INTO window(id, class, ready_ns, read_ns, end_ns, n, has_details)"
			" SELECT 5, 1, 1, 1, max(time_ns), 1, 0 FROM sample;"
			"UPDATE sample SET window = 5 WHERE flags & 2",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	expect("worker of app waited", false);
	expect("Nothing was held up", true);
}

static void a_pool_that_a_dispatcher_wakes_waits_for_work(void **state)
{
	struct making making = begin();

	add_thread(&making, 9, "dispatcher", 10 * MS, "start_thread;dispatch");
	for (int64_t i = 1; i <= 3; i++) {
		add_thread(&making, i, "worker", SECOND, "start_thread;run;task");
		add_waits(&making,
			  (struct recording_sample) {
				  .thread = i, .state = SAMPLE_LOCK_OPEN, .by = 9 },
			  "start_thread;run;take;park", 100, 29 * SECOND);
	}
	finish(&making);
	expect("waited 9", false);
	expect("threads of 1 program waited for work", true);
}

/* Owners make an accept mutex a convoy, but its holder waits for work. */
static void who_waits_for_the_lock_of_an_idle_holder_is_idle(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "worker", 2 * SECOND, "start_thread;run;serve");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = ACCEPT, .by = 9 },
		  "start_thread;run;accept", 20, 28 * SECOND);
	add_thread(&making, 2, "worker", 2 * SECOND, "start_thread;run;serve");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 2, .state = SAMPLE_LOCK, .by = 1, .evidence = "owner" },
		  "start_thread;run;lock_accept", 20, 28 * SECOND);
	finish(&making);
	expect("held by", false);
	expect("Nothing was held up", true);
}

/* The holder may wait for an answer whose turn is not known: that acquits nobody. */
static void who_waits_for_the_lock_of_a_holder_that_receives_is_held_up(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "worker", 2 * SECOND, "start_thread;run;serve");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = NET, .by = 9 },
		  "start_thread;run;send_line;read", 20, 28 * SECOND);
	add_thread(&making, 2, "worker", 2 * SECOND, "start_thread;run;serve");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 2, .state = SAMPLE_LOCK, .by = 1, .evidence = "owner" },
		  "start_thread;run;lock_log", 20, 28 * SECOND);
	finish(&making);
	expect("held by", true);
	expect("Nothing was held up", false);
}

/* Deeper than home, but only a timer ends it, always after the same time. */
static void pacing_is_no_finding(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_POLL, .by = 9 },
		  "main;loop;epoll_wait", 50, 4 * SECOND);
	add_waits(&making,
		  (struct recording_sample) { .thread = 1,
					      .state = SAMPLE_POLL,
					      .evidence = "timeout",
					      .ended = "timeout" },
		  "main;loop;write_pages;flush;delay;epoll_wait", 100, 25 * SECOND);
	finish(&making);
	expect("Nothing was held up", true);
}

/* --- chains ---------------------------------------------------------------------------------- */

/* The holder waited for the lock too; only what it did after that counts. */
static void what_the_holder_did_leaves_out_its_own_queueing(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "holder", SECOND, "start_thread;run");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_DISK },
		  "start_thread;run;write_log;fsync", 10, 29 * SECOND);
	add_thread(&making, 2, "waiter", SECOND, "start_thread;work");
	add_waits(&making,
		  (struct recording_sample) {
			  .thread = 2, .state = SAMPLE_LOCK, .by = 1, .evidence = "owner" },
		  "start_thread;work;lock", 10, 29 * SECOND);
	finish(&making);
	expect("held by holder of app (tid 1001); meanwhile holder of app was waiting for the disk",
	       true);
}

static void two_locks_in_a_circle_are_a_deadlock(void **state)
{
	struct making making = begin();

	for (int64_t i = 1; i <= 2; i++) {
		recording__put_object(
			making.recording,
			&(struct recording_object) { i, "futex",
						     i == 1 ? "lock_a in app" : "lock_b in app" });
		add_thread(&making, i, i == 1 ? "one" : "two", 10 * MS, "start_thread;run");
		add_waits(&making,
			  (struct recording_sample) { .thread = i,
						      .state = SAMPLE_LOCK,
						      .by = 3 - i,
						      .object = i,
						      .evidence = "owner",
						      .ended = "open" },
			  "start_thread;run;lock", 1, 29 * SECOND);
	}
	finish(&making);
	expect("1. Deadlock: one of app (tid 1001) waits for the lock lock_a in app that two of "
	       "app (tid 1002) holds, two of app (tid 1002) waits for the lock lock_b in app that "
	       "one of app (tid 1001) holds",
	       true);
}

/* The waiters of one lock that is handed on look like a circle, but it is one lock. */
static void one_lock_in_a_circle_is_none(void **state)
{
	struct making making = begin();

	recording__put_object(making.recording,
			      &(struct recording_object) { 1, "futex", "lock_a in app" });
	for (int64_t i = 1; i <= 2; i++) {
		add_thread(&making, i, i == 1 ? "one" : "two", 10 * MS, "start_thread;run");
		add_waits(&making,
			  (struct recording_sample) { .thread = i,
						      .state = SAMPLE_LOCK,
						      .by = 3 - i,
						      .object = 1,
						      .evidence = "owner",
						      .ended = "open" },
			  "start_thread;run;lock", 1, 29 * SECOND);
	}
	finish(&making);
	expect("Deadlock", false);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_loop_at_its_poll_waits_for_work),
		TEST(a_cut_stack_that_ends_at_home_is_home),
		TEST(a_sleep_is_never_home),
		TEST(a_sleep_away_from_home_holds_up),
		TEST(a_main_thread_that_only_sleeps_is_no_finding),
		TEST(an_unanswered_question_is_held_up_wherever_it_waits),
		TEST(a_pipe_is_no_answer),
		TEST(a_wait_for_room_in_a_pipe_holds_up),
		TEST(siblings_that_wake_each_other_hold_each_other_up),
		TEST(a_pool_that_wakes_itself_between_requests_waits_for_work),
		TEST(a_pool_that_a_dispatcher_wakes_waits_for_work),
		TEST(who_waits_for_the_lock_of_an_idle_holder_is_idle),
		TEST(who_waits_for_the_lock_of_a_holder_that_receives_is_held_up),
		TEST(pacing_is_no_finding),
		TEST(what_the_holder_did_leaves_out_its_own_queueing),
		TEST(two_locks_in_a_circle_are_a_deadlock),
		TEST(one_lock_in_a_circle_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
