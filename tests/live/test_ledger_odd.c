/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads in odd circumstances: stopped, in io_uring, in another namespace, moved, chosen. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define STOP_NS    (300 * MS)
#define CGROUP_DIR "gapless-test"

static struct workload start_stopper(char *ret_pid, size_t size)
{
	struct workload workload = workload__start(WORKLOAD("stopper"));

	workload__await_ready(&workload);
	snprintf(ret_pid, size, "%d", workload.pid);
	return workload;
}

/*
 * The first thread that gets a CPU stops the others, which takes its time on a busy machine: until
 * then one is ready, and the other still sleeps.
 */
static void assert_stopped(json_t *report, const char *comm, int64_t least_ns, int64_t most_ns)
{
	int64_t stopped_ns = sum_ns(report, comm, "wait", "stopped");
	int64_t late_ns = sum_ns(report, "stopped-spin", "ready", NULL) +
			  sum_ns(report, "stopped-sleep", "ready", NULL);

	assert_int_equal(sum_count(report, comm, "wait", "stopped"), 1);
	assert_true(stopped_ns > 0);
	/* How long an emulated CPU takes to hear of the signal is neither ready nor stopped. */
	if (stopped_ns > most_ns + slack_ns(most_ns) ||
	    (!is_emulated() && stopped_ns + late_ns < least_ns - slack_ns(least_ns)))
		fail_msg("'%s' was stopped for %" PRId64 " ns, not %" PRId64 " to %" PRId64
			 "; ready %" PRId64,
			 comm, stopped_ns, least_ns, most_ns, late_ns);
}

static void stopped_is_stopped_whatever_it_did_before(void **state)
{
	char pid[16];
	struct workload workload = start_stopper(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("-p", pid));
	int64_t most_ns, least_ns;
	json_t *report;

	usleep(100000);
	most_ns = -now_ns();
	kill(workload.pid, SIGSTOP);
	least_ns = -now_ns();
	usleep(STOP_NS / 1000);
	least_ns += now_ns();
	kill(workload.pid, SIGCONT);
	most_ns += now_ns();
	usleep(100000);
	report = trial__end(&trial);
	workload__kill(&workload);
	assert_stopped(report, "stopped-spin", least_ns, most_ns);
	assert_stopped(report, "stopped-sleep", least_ns, most_ns);
	assert_true(sum_ns(report, "stopped-sleep", "wait", "sleep") > 0);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

static void io_uring_waits_and_so_does_its_worker(void **state)
{
	json_t *log, *report = trial__record(ARGS("--level", "full"), WORKLOAD("uring"), &log);
	json_t *phase = log_phase(log, "uring", "uring-main");
	char worker[32];

	snprintf(worker, sizeof(worker), "iou-wrk-%" PRId64, number_at(phase, "tid"));
	assert_waited(report, "uring-main", "uring", number_at(phase, "blocked_ns"));
	assert_true(sum_count(report, "uring-main", "wait", "uring") >= number_at(phase, "count"));
	assert_true(threads_named(report, worker) > 0);
	assert_true(sum_count(report, worker, "wait", "uring") > 0);
	assert_int_equal(sum_count(report, worker, "wait", "pipe"), 0);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	json_decref(log);
}

/* Its tids are small numbers there; the holder's is written into the mutex as such. */
static void a_holder_in_another_pid_namespace_is_named(void **state)
{
	json_t *log,
		*report = trial__record(ARGS("--level", "full"),
					WORKLOAD("pidns", workload__path("phases"), "lock"), &log);
	json_t *wait = wait_of(report, "waiter", "lock");

	assert_string_equal(culprit_of(wait), "holder");
	assert_string_equal(json_string_value(json_object_get(wait, "evidence")), "owner");
	assert_int_equal(number_at(json_object_get(wait, "by"), "tid"),
			 number_at(thread_named(report, "holder"), "tid"));
	assert_int_not_equal(number_at(json_object_get(wait, "by"), "tid"),
			     number_at(log_phase(log, "hold", "holder"), "tid"));
	assert_int_equal(number_at(wait, "count"),
			 number_at(log_phase(log, "lock", "waiter"), "waits"));
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	json_decref(log);
}

/* A cgroup of our own: with version 1 beside it, version 2 has a folder of its own. */
static int make_cgroup(void **state)
{
	static char path[64];

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s" CGROUP_DIR,
		 access("/sys/fs/cgroup/unified", F_OK) ? "" : "unified/");
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	*state = path;
	return 0;
}

static int remove_cgroup(void **state)
{
	/* A process that was killed leaves its cgroup a little later. */
	for (int i = 0; i < 50 && rmdir(*state); i++)
		usleep(20000);
	return 0;
}

static void move_to(const char *cgroup, pid_t pid)
{
	char path[128];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	procs = fopen(path, "w");
	assert_non_null(procs);
	assert_true(fprintf(procs, "%d", pid) > 0);
	assert_int_equal(fclose(procs), 0);
}

static void a_process_moved_between_cgroups_stays_one_account(void **state)
{
	char pid[16];
	struct workload workload = start_stopper(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("-p", pid));
	json_t *report;

	usleep(200000);
	move_to(*state, workload.pid);
	usleep(200000);
	report = trial__end(&trial);
	workload__kill(&workload);
	assert_int_equal(threads_named(report, "stopped-spin"), 1);
	assert_near("life", sum_ns(report, "stopped-spin", NULL, NULL),
		    number_at(report, "wall_ns"));
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

static void a_cgroup_is_recorded_with_what_moves_in(void **state)
{
	char pid[16];
	struct workload inside = start_stopper(pid, sizeof(pid));
	struct workload outside = start_stopper(pid, sizeof(pid));
	struct workload moving = start_stopper(pid, sizeof(pid));
	struct trial trial;
	json_t *report;

	move_to(*state, inside.pid);
	trial = trial__start(ARGS("--cgroup", *state));
	usleep(300000);
	move_to(*state, moving.pid);
	usleep(300000);
	report = trial__end(&trial);
	workload__kill(&inside);
	workload__kill(&outside);
	workload__kill(&moving);
	assert_closes(report);
	assert_explained(report);
	/* One of the three is outside, and stays so. */
	assert_int_equal(threads_named(report, "stopped-spin"), 2);
	assert_true(sum_ns(report, "stopped-spin", NULL, NULL) <
		    2 * number_at(report, "wall_ns") - 200 * MS);
	json_decref(report);
}

static void a_name_chooses_its_threads_and_no_others(void **state)
{
	char pid[16];
	struct workload workload = start_stopper(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("--comm", "stopped-spin"));
	json_t *report;

	usleep(200000);
	report = trial__end(&trial);
	workload__kill(&workload);
	assert_int_equal(threads_named(report, "stopped-spin"), 1);
	assert_int_equal(threads_named(report, NULL), 1);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

static void a_thread_is_recorded_alone(void **state)
{
	char pid[16];
	struct workload workload = start_stopper(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("-t", pid));
	json_t *report;

	usleep(200000);
	report = trial__end(&trial);
	workload__kill(&workload);
	assert_int_equal(threads_named(report, NULL), 1);
	assert_int_equal(number_at(thread_named(report, "stopper"), "tid"), workload.pid);
	assert_closes(report);
	json_decref(report);
}

static void two_processes_are_recorded_together(void **state)
{
	char first[16], second[16];
	struct workload a = start_stopper(first, sizeof(first));
	struct workload b = start_stopper(second, sizeof(second));
	struct trial trial = trial__start(ARGS("-p", first, "-p", second));
	json_t *report;

	usleep(200000);
	report = trial__end(&trial);
	workload__kill(&a);
	workload__kill(&b);
	assert_int_equal(threads_named(report, NULL), 6);
	assert_int_equal(threads_named(report, "stopped-sleep"), 2);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_is_stopped_whatever_it_did_before),
		cmocka_unit_test(io_uring_waits_and_so_does_its_worker),
		cmocka_unit_test(a_holder_in_another_pid_namespace_is_named),
		cmocka_unit_test_setup_teardown(a_process_moved_between_cgroups_stays_one_account,
						make_cgroup, remove_cgroup),
		cmocka_unit_test_setup_teardown(a_cgroup_is_recorded_with_what_moves_in,
						make_cgroup, remove_cgroup),
		HERE(a_name_chooses_its_threads_and_no_others),
		HERE(a_thread_is_recorded_alone),
		HERE(two_processes_are_recorded_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
