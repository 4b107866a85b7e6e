/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that do not belong to the target, but keep it waiting: they have an account and stacks,
 * and are in none of the target's totals.
 */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stacks.h"

/* As in answerer.c. */
#define THINK_NS (200 * MS)
#define WORK_NS  (50 * MS)

#define ANSWERS 8
/* Answers of which the account of the server may have nothing: until it is opened. */
#define MISSED 4

/* A server, and a recording of its client. */
struct pair {
	char file[64];
	struct workload server;
	json_t *log; /* the server's */
	struct stacks_recording recording;
};

static struct pair pair__record(const char *what, const char *count, const char *const *options)
{
	struct pair pair = {};

	snprintf(pair.file, sizeof(pair.file), "/tmp/gapless-answerer-%d", getpid());
	unlink(pair.file);
	pair.server = workload__start(WORKLOAD("answerer", "serve", what, pair.file, count));
	workload__await_ready(&pair.server);
	pair.recording =
		stacks__record(options, WORKLOAD("answerer", "ask", what, pair.file, count));
	workload__go(&pair.server);
	pair.log = workload__end(&pair.server);
	unlink(pair.file);
	return pair;
}

static void pair__release(struct pair *pair)
{
	json_decref(pair->log);
	stacks__release(&pair->recording);
}

static json_t *outside_named(json_t *report, const char *comm)
{
	json_t *thread, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(report, "outside_threads"), i, thread)
		if (!strcmp(text_at(thread, "comm"), comm)) {
			assert_null(found);
			found = thread;
		}
	if (!found)
		fail_msg("no outside thread is named '%s'", comm);
	return found;
}

static int64_t outside_ns(json_t *thread, const char *state, const char *cause)
{
	json_t *entry;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (json_object_get(thread, "states"), i, entry)
		if ((!state || !strcmp(text_at(entry, "state"), state)) &&
		    (!cause || !strcmp(text_at(entry, "cause"), cause)))
			sum += number_at(entry, "ns");
	return sum;
}

/* The totals are those of the one thread of the target. */
static void assert_only_the_target(const struct stacks_recording *recording)
{
	json_t *report = recording->report, *entry;
	int64_t states_ns = 0;
	size_t i;

	assert_int_equal(json_array_size(json_object_get(report, "threads")), 1);
	assert_int_equal(threads_named(report, "asker"), 1);
	assert_closes(report);
	json_array_foreach (json_object_get(report, "states"), i, entry)
		states_ns += number_at(entry, "ns");
	assert_int_equal(states_ns, sum_ns(report, "asker", NULL, NULL));
	assert_int_equal(states_ns, number_at(report, "threads_ns"));
	assert_int_equal(trial__query(recording->path, "SELECT sum(ns) AS n FROM time_by_state"),
			 states_ns);
	assert_int_equal(trial__query(recording->path,
				      "SELECT count(*) AS n FROM samples WHERE comm <> 'asker'"),
			 0);
	json_array_foreach (json_object_get(report, "waits"), i, entry)
		assert_string_equal(text_at(json_object_get(entry, "waiter"), "comm"), "asker");
}

/* Its states add up to its life, and its account has what it did for all but MISSED answers. */
static void assert_account(const struct pair *pair, const char *what)
{
	json_t *thread = outside_named(pair->recording.report, "answerer");
	json_t *phase = log_phase(pair->log, what, "answerer");
	int64_t sleep_ns = outside_ns(thread, "wait", "sleep");
	int64_t run_ns = outside_ns(thread, "run", NULL);

	assert_int_equal(number_at(thread, "tid"), number_at(phase, "tid"));
	assert_int_equal(outside_ns(thread, NULL, NULL), number_at(thread, "lifetime_ns"));
	assert_true(number_at(thread, "lifetime_ns") > 0);
	assert_true(sleep_ns >= (ANSWERS - MISSED) * THINK_NS - slack_ns(ANSWERS * THINK_NS));
	if (!is_emulated())
		assert_true(run_ns >= (ANSWERS - MISSED) * WORK_NS / 2);
	print_message("# %s: from %" PRId64 " ms on, slept %" PRId64 " ms, ran %" PRId64 " ms\n",
		      what, number_at(thread, "first_ns") / (int64_t)MS, sleep_ns / (int64_t)MS,
		      run_ns / (int64_t)MS);
}

/* Samples of outside threads in this state that have the function on their stack. */
static int64_t samples_in(const struct stacks_recording *recording, const char *state,
			  const char *function)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE up(sample, node) AS (SELECT x.id, x.stack FROM sample x"
		 " JOIN thread t ON t.id = x.thread JOIN state s ON s.id = x.state"
		 " WHERE t.flags & 16 AND s.state = '%s' UNION SELECT up.sample, k.parent FROM up"
		 " JOIN stack k ON k.id = up.node WHERE k.parent)"
		 " SELECT count(DISTINCT up.sample) AS n FROM up JOIN stack k ON k.id = up.node"
		 " JOIN frames f ON f.id = k.frame WHERE f.function = '%s'",
		 state, function);
	return trial__query(recording->path, sql);
}

/* Whose waits the answers ended. */
static int64_t answered_ns(const struct stacks_recording *recording)
{
	return trial__query(recording->path,
			    "SELECT coalesce(sum(ns), 0) AS n FROM waits WHERE"
			    " by_comm IN ('answerer', 'handler') AND waiter_comm = 'asker'");
}

/* Nearly all calls are the server's, so the hooks at calls hardly slow down the target. */
static void assert_cost_is_the_servers(json_t *report)
{
	json_t *cost = json_object_get(report, "cost");
	double all_ns = json_number_value(json_object_get(cost, "hooks_cpu_ns"));
	double target_ns = json_number_value(json_object_get(cost, "hooks_target_ns"));

	print_message("# hooks took %.0f us, %.0f us of it in the target\n", all_ns / 1000,
		      target_ns / 1000);
	assert_true(all_ns > 0 && target_ns < all_ns / 2);
}

static void a_server_on_loopback_has_an_account_and_stacks(void **state)
{
	struct pair pair = pair__record("tcp", "8", ARGS("-F", "99"));

	assert_only_the_target(&pair.recording);
	assert_account(&pair, "tcp");
	assert_cost_is_the_servers(pair.recording.report);
	assert_true(answered_ns(&pair.recording) >= (ANSWERS - 1) * THINK_NS);
	assert_true(samples_in(&pair.recording, "wait", "think") > 0);
	if (!is_emulated())
		assert_true(samples_in(&pair.recording, "run", "work") > 0);
	pair__release(&pair);
}

static void whoever_answers_is_found_at_level_sched_too(void **state)
{
	struct pair pair = pair__record("tcp", "8", ARGS("--level", "sched"));

	assert_only_the_target(&pair.recording);
	assert_account(&pair, "tcp");
	pair__release(&pair);
}

/* The first handler may end before the server is known. */
static void so_have_the_threads_that_a_server_starts_for_each_request(void **state)
{
	struct pair pair = pair__record("threads", "8", ARGS("--level", "full"));
	json_t *thread, *list = json_object_get(pair.recording.report, "outside_threads");
	int64_t sleep_ns = 0;
	size_t i;

	assert_only_the_target(&pair.recording);
	json_array_foreach (list, i, thread)
		if (!strcmp(text_at(thread, "comm"), "handler"))
			sleep_ns += outside_ns(thread, "wait", "sleep");
	assert_true(sleep_ns >= (ANSWERS - MISSED) * THINK_NS - slack_ns(ANSWERS * THINK_NS));
	assert_true(answered_ns(&pair.recording) >= (ANSWERS - MISSED) * THINK_NS);
	pair__release(&pair);
}

static void so_has_a_server_of_a_unix_socket(void **state)
{
	struct pair pair = pair__record("unix", "8", ARGS("--level", "full"));

	assert_only_the_target(&pair.recording);
	assert_account(&pair, "unix");
	pair__release(&pair);
}

static void so_has_the_writer_of_a_pipe(void **state)
{
	struct pair pair = pair__record("pipe", "8", ARGS("--level", "full"));

	assert_only_the_target(&pair.recording);
	assert_account(&pair, "pipe");
	pair__release(&pair);
}

static void so_has_the_holder_of_a_file_lock_before_it_lets_go(void **state)
{
	static const char *const locks[] = { "flock", "fcntl" };

	for (int i = 0; i < 2; i++) {
		struct pair pair = pair__record(locks[i], "8", ARGS("--level", "full"));

		assert_only_the_target(&pair.recording);
		assert_account(&pair, locks[i]);
		assert_int_equal(sum_count(pair.recording.report, "asker", "wait", "lock"), 1);
		pair__release(&pair);
	}
}

static void at_most_256_have_one_and_the_others_are_counted(void **state)
{
	struct pair pair = pair__record("storm", "400", ARGS("--level", "sched"));
	json_t *report = pair.recording.report;

	assert_only_the_target(&pair.recording);
	assert_int_equal(json_array_size(json_object_get(report, "outside_threads")), 256);
	assert_int_equal(quality(report, "outside_too_many"), 144);
	assert_int_equal(quality(report, "outside_ended"), 0);
	pair__release(&pair);
}

static void with_all_threads_as_the_target_nobody_is_outside(void **state)
{
	char file[64];
	struct workload server, client;
	struct trial trial;
	json_t *report;

	snprintf(file, sizeof(file), "/tmp/gapless-answerer-%d", getpid());
	unlink(file);
	server = workload__start(WORKLOAD("answerer", "serve", "tcp", file, "4"));
	workload__await_ready(&server);
	trial = trial__start(ARGS("-a", "--level", "sched"));
	client = workload__start(WORKLOAD("answerer", "ask", "tcp", file, "4"));
	json_decref(workload__end(&client));
	report = trial__end(&trial);
	workload__kill(&server);
	unlink(file);
	assert_int_equal(threads_named(report, "answerer"), 1);
	assert_int_equal(json_array_size(json_object_get(report, "outside_threads")), 0);
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_on_loopback_has_an_account_and_stacks),
		cmocka_unit_test(whoever_answers_is_found_at_level_sched_too),
		cmocka_unit_test(so_have_the_threads_that_a_server_starts_for_each_request),
		cmocka_unit_test(so_has_a_server_of_a_unix_socket),
		cmocka_unit_test(so_has_the_writer_of_a_pipe),
		cmocka_unit_test(so_has_the_holder_of_a_file_lock_before_it_lets_go),
		HERE(at_most_256_have_one_and_the_others_are_counted),
		HERE(with_all_threads_as_the_target_nobody_is_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
