/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec: every process that is started must be in the recording, once when it starts a program and
 * once when it ends, with its status. Thousands of them, and none missing.
 */
#include "../harness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

/* Every so many is killed by a signal instead. */
#define KILLED_EVERY 25

static int programs(void)
{
	return is_emulated() ? 300 : 5000;
}

static struct trial start_trial(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return trial__start(ARGS("--no-stacks", "-p", pid, "--signals", "exec"));
}

static void await(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A shell that exits with `status`, or kills itself. */
static pid_t start_shell(int status)
{
	char script[32] = "kill -KILL $$";
	char *const argv[] = { "sh", "-c", script, NULL };
	pid_t pid;

	if (status >= 0)
		snprintf(script, sizeof(script), "exit %d", status);
	assert_int_equal(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, NULL), 0);
	return pid;
}

static void assert_count(const struct trial *trial, const char *sql, int64_t expected)
{
	int64_t is = trial__query(trial->path, sql);

	if (is != expected)
		fail_msg("%s: %lld, not %lld", sql, (long long)is, (long long)expected);
}

static void assert_nothing_lost(const struct trial *trial)
{
	assert_count(trial, "SELECT count(*) FROM quality WHERE name LIKE 'exec_%' AND value > 0",
		     0);
}

static void end_trial(struct trial *trial)
{
	assert_int_equal(trial__stop(trial, SIGINT), 0);
	assert_nothing_lost(trial);
}

static void thousands_of_short_programs_none_missing(void **state)
{
	struct trial trial = start_trial();
	int killed = 0, statuses[256] = {};
	char sql[256];

	for (int i = 0; i < programs(); i++) {
		bool kills = i % KILLED_EVERY == 0;

		await(start_shell(kills ? -1 : i % 256));
		killed += kills;
		statuses[i % 256] += !kills;
	}
	end_trial(&trial);
	assert_count(&trial, "SELECT count(*) FROM event WHERE operation = 'exec'", programs());
	assert_count(&trial, "SELECT count(*) FROM event WHERE operation = 'exit'", programs());
	assert_count(&trial,
		     "SELECT count(*) FROM event WHERE fields ->> 'killed_by' = 'SIGKILL' AND"
		     " fields ->> 'status' IS NULL",
		     killed);
	for (int i = 0; i < 256; i += 5) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM event WHERE fields ->> 'status' = %d", i);
		assert_count(&trial, sql, statuses[i]);
	}
	/* Each one's exit belongs to its exec, and each has our number as its parent's. */
	assert_count(&trial, "SELECT count(DISTINCT thread) FROM event", programs());
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM event WHERE fields ->> 'parent_pid' = %d",
		 getpid());
	assert_count(&trial, sql, 2 * programs());
	assert_count(&trial,
		     "SELECT count(*) FROM event WHERE fields ->> 'args' = 'sh -c ''exit 7'''",
		     statuses[7]);
	trial__remove(trial.path);
}

/* More than the ring holds while nobody empties it: what does not fit is counted, and summed up. */
static void what_finds_the_ring_full_is_counted(void **state)
{
	struct trial trial = start_trial();
	int count = is_emulated() ? 100 : 3600;
	int64_t shown, lost;

	kill(trial.pid, SIGSTOP);
	for (int i = 0; i < count; i++)
		await(start_shell(0));
	kill(trial.pid, SIGCONT);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	shown = trial__query(trial.path, "SELECT count(*) FROM event");
	lost = trial__query(trial.path,
			    "SELECT value FROM quality WHERE name = 'exec_events_lost'");
	assert_int_equal(shown + lost, 2 * count);
	assert_true(is_emulated() || lost > 0);
	assert_count(&trial, "SELECT sum(count) FROM signal_sums", count);
	trial__remove(trial.path);
}

static void lifetimes_are_summed_up_by_who_started_them(void **state)
{
	struct trial trial = start_trial();
	char sql[256];

	for (int i = 0; i < 20; i++)
		await(start_shell(0));
	end_trial(&trial);
	snprintf(sql, sizeof(sql),
		 "SELECT count FROM signal_sums WHERE signal = 'exec' AND measure = 'lifetime' AND"
		 " unit = 'ns' AND tid = %d",
		 getpid());
	assert_count(&trial, sql, 20);
	assert_count(&trial,
		     "SELECT (SELECT sum(duration_ns) FROM event) = (SELECT sum(sum) FROM"
		     " signal_sums)",
		     1);
	assert_count(&trial, "SELECT sum(count) FROM signal_histograms", 20);
	trial__remove(trial.path);
}

static void arguments_and_statuses_are_told(void **state)
{
	struct trial trial = start_trial();

	for (int i = 0; i < 10; i++)
		await(start_shell(i));
	await(start_shell(-1));
	end_trial(&trial);
	assert_count(&trial, "SELECT count(*) FROM event WHERE operation = 'exec'", 11);
	assert_count(&trial,
		     "SELECT count(*) FROM event WHERE operation = 'exec' AND fields ->> 'file' ="
		     " '/bin/sh' AND fields ->> 'args' LIKE 'sh -c ''exit _'''",
		     10);
	assert_count(&trial, "SELECT sum(fields ->> 'status') AS sum FROM event", 45);
	assert_count(&trial, "SELECT count(*) FROM event WHERE fields ->> 'killed_by' = 'SIGKILL'",
		     1);
	assert_count(&trial, "SELECT sum(count) FROM signal_sums", 11);
	trial__remove(trial.path);
}

/* Each has maps of its own, and neither ends the other. */
static void two_recordings_at_once_do_not_disturb_each_other(void **state)
{
	struct trial first = start_trial(), second;

	for (int i = 0; i < 5; i++)
		await(start_shell(0));
	second = start_trial();
	for (int i = 0; i < 7; i++)
		await(start_shell(0));
	end_trial(&first);
	for (int i = 0; i < 9; i++)
		await(start_shell(0));
	end_trial(&second);
	assert_count(&first, "SELECT count(*) FROM event WHERE fields ->> 'file' = '/bin/sh'", 12);
	assert_count(&second, "SELECT count(*) FROM event WHERE fields ->> 'file' = '/bin/sh'", 16);
	trial__remove(first.path);
	trial__remove(second.path);
}

static void a_process_that_only_forks_has_an_end(void **state)
{
	struct trial trial = start_trial();
	pid_t child = fork();
	char sql[256];

	if (!child) {
		usleep(50000);
		_exit(77);
	}
	await(child);
	end_trial(&trial);
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM event WHERE operation = 'exit' AND fields ->> 'forked' AND"
		 " fields ->> 'status' = 77 AND fields ->> 'pid' = %d AND duration_ns >= 50000000",
		 child);
	assert_count(&trial, sql, 1);
	assert_count(&trial, "SELECT count(*) FROM event", 1);
	trial__remove(trial.path);
}

/* A process that lives for a while before it starts its program: that is not the program's time. */
static void a_lifetime_begins_at_the_exec(void **state)
{
	struct trial trial = start_trial();
	pid_t child = fork();

	if (!child) {
		usleep(50000);
		execl("/bin/sh", "sh", "-c", "exec sleep 0.01", NULL);
		_exit(1);
	}
	await(child);
	end_trial(&trial);
	assert_count(&trial, "SELECT count(*) FROM event", 3);
	assert_count(&trial,
		     "SELECT (SELECT duration_ns FROM event WHERE operation = 'exit') ="
		     " (SELECT max(time_ns) FROM event) - (SELECT max(time_ns) FROM event WHERE"
		     " operation = 'exec') AS same",
		     1);
	assert_count(&trial,
		     "SELECT (SELECT duration_ns FROM event WHERE operation = 'exit') ="
		     " (SELECT sum(sum) FROM signal_sums) AS same",
		     1);
	trial__remove(trial.path);
}

static pthread_barrier_t together;

static void *wait_and_end(void *unused)
{
	pthread_barrier_wait(&together);
	return NULL;
}

/* All threads of the child leave on their own, at once; nobody calls exit(). */
static void end_together(void)
{
	pthread_t thread;

	pthread_barrier_init(&together, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, wait_and_end, NULL);
	pthread_barrier_wait(&together);
	syscall(SYS_exit, 0);
}

static void threads_that_end_at_once_are_one_end(void **state)
{
	struct trial trial = start_trial();

	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (!child)
			end_together();
		await(child);
	}
	end_trial(&trial);
	assert_count(&trial, "SELECT count(*) FROM event WHERE operation = 'exit'", 100);
	assert_count(&trial, "SELECT sum(count) FROM signal_histograms", 100);
	trial__remove(trial.path);
}

static void *start_program(void *unused)
{
	execl("/bin/sh", "sh", "-c", "exit 5", NULL);
	return NULL;
}

/* The thread that calls execve becomes the main thread; the process goes on and ends once. */
static void a_program_started_by_another_thread_is_the_same_process(void **state)
{
	struct trial trial = start_trial();
	pid_t child = fork();
	char sql[256];

	if (!child) {
		pthread_t thread;

		pthread_create(&thread, NULL, start_program, NULL);
		pause();
	}
	await(child);
	end_trial(&trial);
	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(operation) = 'exec,exit' FROM (SELECT operation FROM event"
		 " WHERE fields ->> 'pid' = %d ORDER BY time_ns)",
		 child);
	assert_count(&trial, sql, 1);
	assert_count(&trial,
		     "SELECT fields ->> 'status' AS status FROM event WHERE operation = 'exit'", 5);
	trial__remove(trial.path);
}

/* In another pid namespace it is number 1; here it has the number that fork gave us. */
static void a_process_of_another_namespace_has_our_number(void **state)
{
	struct trial trial = start_trial();
	pid_t between = fork(), inside = 0;

	if (between > 0) {
		await(between);
		end_trial(&trial);
		assert_count(&trial,
			     "SELECT count(*) FROM event WHERE operation = 'exit' AND"
			     " fields ->> 'status' = 9 AND fields ->> 'pid' > 1",
			     1);
		assert_count(&trial,
			     "SELECT fields ->> 'parent_pid' AS parent FROM event WHERE"
			     " operation = 'exec'",
			     between);
		trial__remove(trial.path);
		return;
	}
	if (unshare(CLONE_NEWPID))
		_exit(1);
	inside = fork();
	if (!inside) {
		execl("/bin/sh", "sh", "-c", "exit 9", NULL);
		_exit(126);
	}
	waitpid(inside, NULL, 0);
	_exit(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(thousands_of_short_programs_none_missing),
		HERE(what_finds_the_ring_full_is_counted),
		HERE(lifetimes_are_summed_up_by_who_started_them),
		HERE(arguments_and_statuses_are_told),
		HERE(two_recordings_at_once_do_not_disturb_each_other),
		cmocka_unit_test(a_process_that_only_forks_has_an_end),
		cmocka_unit_test(a_lifetime_begins_at_the_exec),
		cmocka_unit_test(threads_that_end_at_once_are_one_end),
		cmocka_unit_test(a_program_started_by_another_thread_is_the_same_process),
		cmocka_unit_test(a_process_of_another_namespace_has_our_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
