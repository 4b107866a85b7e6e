/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows: servers that know by their own clock how long each part of their requests took. On a
 * busy machine times differ by what a thread waits for its CPU between two looks at the clock.
 */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "windows_checks.h"

static char path[64];
static json_t *logged;

static void record(const char *scene, const char *where, int64_t count)
{
	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"), WORKLOAD("known", scene), &logged);
	assert_windows(path, "count", where, count, count);
	assert_windows_add_up(path);
}

static void done(void)
{
	json_decref(logged);
	trial__remove(path);
}

static int64_t known_ns(const char *phase)
{
	return number_at(log_phase(logged, phase, NULL), "ns");
}

/* Within 5 % or 100 us for each of `count` on a quiet machine; see slack_ns() for others. */
static void assert_known(const char *what, int64_t is_ns, int64_t known_ns, int64_t count)
{
	int64_t off_ns = is_ns > known_ns ? is_ns - known_ns : known_ns - is_ns;
	int64_t slack = known_ns / 20 > count * MS / 10 ? known_ns / 20 : count * MS / 10;

	print_message("# %s: %" PRId64 " us, known: %" PRId64 " us\n", what, is_ns / 1000,
		      known_ns / 1000);
	if (!getenv("GAPLESS_STRICT"))
		slack = slack * 4 + 3 * MS;
	if (!is_emulated() && off_ns > slack)
		fail_msg("%s: %" PRId64 " ns, known: %" PRId64, what, is_ns, known_ns);
}

#define IS(name) "c.kind = 'server' AND c.name = '" name "'"
#define READY    "s.state = 'ready'"

static void a_handler_that_sleeps_in_1_of_50_requests(void **state)
{
	int64_t slept_ns, known;

	record("sleeps", IS("GET /sleeps"), 200);
	known = known_ns("sleeps");
	slept_ns = windows__state_ns(path, IS("GET /sleeps"), "s.cause = 'sleep'");
	assert_true(slept_ns >= 4 * 10 * MS);
	assert_known("slept", slept_ns, known, 4);
	/* The slowest four are those. */
	if (!is_emulated())
		assert_int_equal(
			trial__ask(
				path,
				"SELECT count(*) FROM (SELECT w.id FROM window w"
				" JOIN window_class c ON c.id = w.class"
				" WHERE " IS(
					"GET /sleeps") " AND w.has_details"
						       " ORDER BY w.end_ns - w.ready_ns DESC LIMIT 4) slow"
						       " JOIN window_part p ON p.window = slow.id"
						       " JOIN state s ON s.id = p.state"
						       " WHERE p.part = 'own' AND s.cause = 'sleep'"),
			4);
	/* Both sides: the one that asks and the one that serves. */
	assert_int_equal(trial__ask(path, "SELECT count(*) FROM window WHERE has_details"
					  " AND NOT coalesce(request_id = 'order-17'"
					  " AND trace = '4bf92f3577b34da6a3ce929d0e0e4736'"
					  " AND trace_span = '00f067aa0ba902b7', 0)"),
			 0);
	done();
}

/* Between two requests, their thread sleeps and makes many calls that are not timed. */
static void a_request_begins_with_its_own_call_where_few_are_timed(void **state)
{
	const char *asked = "c.kind = 'client' AND c.name = 'GET /sleeps'";
	int64_t client_ns, server_ns;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--budget", "0.01%"), WORKLOAD("known", "sleeps"), &logged);
	client_ns = windows__length_ns(path, asked);
	server_ns = windows__length_ns(path, IS("GET /sleeps"));
	print_message("# asked for %" PRId64 " us, served for %" PRId64 " us\n", client_ns / 1000,
		      server_ns / 1000);
	assert_windows(path, "count", asked, 200, 200);
	assert_windows_add_up(path);
	assert_true(client_ns >= server_ns);
	if (!is_emulated())
		assert_true(client_ns < server_ns + 200 * MS / 4);
	done();
}

static void threads_of_a_convoy_wait_for_its_lock(void **state)
{
	int64_t lock_ns, ready_ns, known, waits_ns, parts_ns;

	record("convoy", IS("GET /convoy"), 100);
	known = known_ns("convoy");
	lock_ns = windows__state_ns(path, IS("GET /convoy"), "s.cause = 'lock'");
	ready_ns = windows__state_ns(path, IS("GET /convoy"), READY);
	print_message("# lock: %" PRId64 " us, ready: %" PRId64 " us, known: %" PRId64 " us\n",
		      lock_ns / 1000, ready_ns / 1000, known / 1000);
	/* By its own clock, a thread waits until it has a CPU again. */
	assert_in_range(lock_ns, known - ready_ns - known / 20 - 3 * MS, known + 3 * MS);
	/* Each of them has its waits, too. */
	waits_ns = trial__ask(path,
			      "SELECT sum(v.ns) FROM window_wait v JOIN state s ON s.id = v.state"
			      " WHERE s.cause = 'lock'");
	parts_ns = trial__ask(path,
			      "SELECT sum(p.ns) FROM window_part p JOIN state s ON s.id = p.state"
			      " WHERE p.part = 'own' AND s.cause = 'lock'");
	print_message("# waits: %" PRId64 " us of %" PRId64 " us\n", waits_ns / 1000,
		      parts_ns / 1000);
	assert_in_range(waits_ns, parts_ns / 100 * 95, parts_ns);
	done();
}

/* The other server's clock, in which its thread may be late. */
static void another_server_that_delays_is_the_part_downstream(void **state)
{
	int64_t downstream_ns, known;

	record("delayed", IS("GET /delayed"), 100);
	known = known_ns("delayed");
	downstream_ns = windows__part_ns(path, IS("GET /delayed"), "downstream");
	assert_true(downstream_ns >= 5 * 5 * MS);
	assert_known("downstream", downstream_ns, known, 100);
	assert_windows(path, "count", "c.kind = 'client' AND c.name = 'GET /behind'", 100, 100);
	/* Each of these works for a request of the loop. */
	assert_int_equal(trial__ask(path, "SELECT count(*) FROM window w JOIN window_class c"
					  " ON c.id = w.class JOIN window q ON q.id = w.parent"
					  " JOIN window_class d ON d.id = q.class"
					  " WHERE c.name = 'GET /behind' AND c.kind = 'client'"
					  " AND w.has_details AND d.name <> 'GET /delayed'"),
			 0);
	done();
}

/* Which answer is whose is inferred, and said to be. */
static void requests_that_share_a_connection_wait_for_it(void **state)
{
	int64_t count = 39 * 3, waited_ns;

	record("shared", IS("GET /shared"), count);
	waited_ns = windows__part_ns(path, IS("GET /shared"), "downstream.shared") +
		    windows__part_ns(path, IS("GET /shared"), "noticed");
	assert_known("waited", waited_ns, known_ns("shared"), count);
	assert_known("worked", windows__part_ns(path, IS("GET /shared"), "own"), known_ns("worked"),
		     count);
	if (!is_emulated())
		assert_true(windows__part_ns(path, IS("GET /shared"), "elsewhere") <
			    waited_ns / 50);
	assert_int_equal(
		trial__ask(path,
			   "SELECT count(*) FROM window w JOIN window_class c"
			   " ON c.id = w.class WHERE " IS(
				   "GET /shared") " AND w.has_details AND w.worker <> 'inferred'"),
		0);
	done();
}

static void requests_behind_one_that_burns_wait_for_a_busy_thread(void **state)
{
	int64_t busy_ns, known;

	record("burns", IS("GET /short"), 30);
	assert_windows(path, "count", IS("GET /burns"), 10, 10);
	known = known_ns("burns");
	busy_ns = windows__part_ns(path, IS("GET /short"), "queued.busy");
	assert_known("busy with others", busy_ns, known, 30);
	/* Nothing else takes as long. */
	if (!is_emulated())
		assert_true(busy_ns > windows__state_ns(path, IS("GET /short"), "1"));
	done();
}

/* What is said in a stream is no request, nor part of the one that opened it. */
static void a_request_that_opens_a_stream_ends_with_its_answer(void **state)
{
	record("stream", IS("GET /stream"), 1);
	assert_windows(path, "count", "1", 2, 2);
	assert_true(windows__length_ns(path, "c.kind = 'server'") < known_ns("stream"));
	assert_int_equal(trial__ask(path, "SELECT value FROM quality"
					  " WHERE name = 'windows_streams'"),
			 2);
	done();
}

static void a_client_that_reads_slowly_is_the_part_of_the_clients_window(void **state)
{
	int64_t window_ns, known;

	record("large", IS("GET /large"), 1);
	known = known_ns("large");
	window_ns = windows__part_ns(path, IS("GET /large"), "client.window");
	assert_true(window_ns > 0);
	assert_known("the client's window", window_ns, known, 10);
	assert_int_equal(windows__part_ns(path, IS("GET /large"), "elsewhere"), 0);
	done();
}

static void a_body_in_three_parts_is_time_of_the_client(void **state)
{
	int64_t bytes_ns, known;

	record("parts", IS("POST /parts"), 5);
	known = known_ns("parts");
	bytes_ns = windows__part_ns(path, IS("POST /parts"), "client.bytes");
	if (!is_emulated())
		assert_true(bytes_ns >= 5 * 2 * 18 * MS);
	assert_known("the rest of the request", bytes_ns, known, 10);
	done();
}

/* A lock, a CPU that others have, and many short calls: each is a part of its own. */
static void what_a_handler_does_not_measure_is_in_its_request(void **state)
{
	int64_t lock_ns, ready_ns, all_ns, calls;

	record("promise", IS("GET /promise"), 5);
	lock_ns = windows__state_ns(path, IS("GET /promise"), "s.cause = 'lock'");
	ready_ns = windows__state_ns(path, IS("GET /promise"), READY);
	all_ns = windows__state_ns(path, IS("GET /promise"), "1");
	assert_true(lock_ns > 0);
	if (!is_emulated()) {
		assert_in_range(lock_ns, 5 * 15 * MS, known_ns("lock") + MS);
		assert_true(windows__state_ns(path, IS("GET /promise"), "s.cause = 'sleep'") <
			    lock_ns);
	}
	assert_known("lock", lock_ns, known_ns("lock"), 5);
	assert_known("ready without a CPU", ready_ns, known_ns("ready"), 5);
	assert_known("the handler", all_ns, known_ns("handler"), 5);
	calls = trial__ask(path, "SELECT sum(count) FROM syscalls WHERE name = 'newfstatat'");
	assert_in_range(calls, 5 * 127, 5 * 127 + 20);
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_that_sleeps_in_1_of_50_requests),
		cmocka_unit_test(a_request_begins_with_its_own_call_where_few_are_timed),
		HERE(threads_of_a_convoy_wait_for_its_lock),
		cmocka_unit_test(another_server_that_delays_is_the_part_downstream),
		cmocka_unit_test(requests_that_share_a_connection_wait_for_it),
		cmocka_unit_test(requests_behind_one_that_burns_wait_for_a_busy_thread),
		cmocka_unit_test(a_request_that_opens_a_stream_ends_with_its_answer),
		cmocka_unit_test(a_client_that_reads_slowly_is_the_part_of_the_clients_window),
		cmocka_unit_test(a_body_in_three_parts_is_time_of_the_client),
		HERE(what_a_handler_does_not_measure_is_in_its_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
