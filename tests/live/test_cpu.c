/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu: slices, ready time and moves of a thread, held against the scheduler's own figures. */
#include "../harness.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cgroups.h"
#include "ledger.h"

#define NAPS    200
#define MOVES   20
#define SPIN_NS (1000 * MS)

/* Columns of /proc/stat. */
#define IDLE  3
#define STEAL 7

/* /proc/self/schedstat */
struct schedstat {
	int64_t run_ns, ready_ns, slices;
};

static struct schedstat read_schedstat(void)
{
	FILE *file = fopen("/proc/self/schedstat", "re");
	struct schedstat stat = {};

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%" SCNd64 " %" SCNd64 " %" SCNd64, &stat.run_ns,
				&stat.ready_ns, &stat.slices),
			 3);
	fclose(file);
	return stat;
}

static int64_t ask(const char *path, const char *measure, const char *what)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) as n from signal_sums where signal = 'cpu' and comm ="
		 " 'test_cpu' and measure = '%s' and operation in ('wakeup', 'preemption',"
		 " 'throttling')",
		 what, measure);
	return trial__query(path, sql);
}

/* The sum over all lines of report --by cpu. */
static int64_t running_by_cpu(const char *path)
{
	struct output output = live__gapless("report", "--json", "--by", "cpu", path);
	json_t *report = json_loads(output.out, 0, NULL), *row;
	int64_t sum = 0;
	size_t i;

	assert_non_null(report);
	json_array_foreach (json_object_get(report, "by"), i, row)
		sum += number_at(row, "run_ns");
	json_decref(report);
	live__release(&output);
	return sum;
}

/* One figure of report --by cpu, over all CPUs. */
static int64_t sum_by_cpu(const char *path, const char *key)
{
	struct output output = live__gapless("report", "--json", "--by", "cpu", path);
	json_t *report = live__json(&output), *line;
	json_t *lines = json_object_get(json_object_get(report, "by_cpu"), "cpus");
	int64_t sum = 0;
	size_t i;

	assert_true(json_array_size(lines) > 0);
	json_array_foreach (lines, i, line)
		sum += number_at(line, key);
	json_decref(report);
	live__release(&output);
	return sum;
}

static bool is_said(const char *path, const char *words)
{
	struct output output = live__gapless("report", "--by", "cpu", path);
	bool is_there = strstr(output.out, words) != NULL;

	live__release(&output);
	return is_there;
}

static struct trial start(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return trial__start(ARGS("-p", pid, "--signals", "cpu", "--no-stacks", "--level", "sched"));
}

/* Switches that the kernel hides from BPF programs are not counted. */
static void slices_are_those_of_the_scheduler(void **state)
{
	struct schedstat outer = read_schedstat(), inner, after, end;
	struct trial trial = start();
	int64_t slices, ready_ns, run_ns;

	inner = read_schedstat();
	for (int i = 0; i < NAPS; i++)
		usleep(1000);
	after = read_schedstat();
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	end = read_schedstat();
	slices = ask(trial.path, "slice", "count");
	ready_ns = ask(trial.path, "ready", "sum");
	run_ns = ask(trial.path, "slice", "sum");
	print_message("# slices: %" PRId64 ", %" PRId64 " to %" PRId64 " by the scheduler\n",
		      slices, after.slices - inner.slices, end.slices - outer.slices);
	print_message("# ready: %" PRId64 ", %" PRId64 " to %" PRId64 "; ran: %" PRId64 ", %" PRId64
		      " to %" PRId64 "\n",
		      ready_ns, after.ready_ns - inner.ready_ns, end.ready_ns - outer.ready_ns,
		      run_ns, after.run_ns - inner.run_ns, end.run_ns - outer.run_ns);
	assert_true(slices >= (after.slices - inner.slices) * 4 / 5);
	assert_true(slices <= end.slices - outer.slices);
	/* The scheduler stamps its clock elsewhere: some µs of each switch are ready for us. */
	assert_true(ready_ns >= (after.ready_ns - inner.ready_ns) / 2 - 2 * MS);
	assert_true(run_ns <= end.run_ns - outer.run_ns + 2 * MS);
	assert_true(run_ns + ready_ns <= end.run_ns - outer.run_ns + end.ready_ns - outer.ready_ns +
						 2 * MS + (is_emulated() ? slices * MS / 10 : 0));
	assert_int_equal(running_by_cpu(trial.path), run_ns);
	trial__remove(trial.path);
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void moves_are_counted_where_they_go(void **state)
{
	cpu_set_t before;
	struct trial trial;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("# skip: one CPU only\n");
		skip();
	}
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before)) {
		print_message("# skip: not both of CPU 0 and CPU 1 may be used\n");
		skip();
	}
	trial = start();
	move_to(0);
	for (int i = 0; i < MOVES; i++) {
		move_to(1);
		move_to(0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	for (int cpu = 0; cpu < 2; cpu++) {
		char sql[256];
		int64_t moves;

		snprintf(sql, sizeof(sql),
			 "select coalesce(sum(sum), 0) as n from signal_sums where place = 'CPU %d'"
			 " and comm = 'test_cpu' and measure = 'migrations'",
			 cpu);
		moves = trial__query(trial.path, sql);
		print_message("# %" PRId64 " moves to CPU %d\n", moves, cpu);
		/* Before and after, the scheduler moves it as it likes. */
		assert_true(moves >= MOVES && moves < 2 * MOVES);
	}
	trial__remove(trial.path);
}

/* Both CPUs, or 1 and 2: that one only. */
static cpu_set_t set_of(int mask)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < 2; cpu++)
		if (mask & 1 << cpu)
			CPU_SET(cpu, &set);
	return set;
}

static bool has_two_cpus(void)
{
	cpu_set_t set;

	return sysconf(_SC_NPROCESSORS_ONLN) >= 2 && !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_ISSET(0, &set) && CPU_ISSET(1, &set);
}

struct spinner {
	int first_mask, mask; /* it begins with the first one */
	pthread_t thread;
};

static void *spin(void *arg)
{
	const struct spinner *spinner = arg;
	cpu_set_t set = set_of(spinner->first_mask);

	(void)sched_setaffinity(0, sizeof(set), &set);
	set = set_of(spinner->mask);
	(void)sched_setaffinity(0, sizeof(set), &set);
	for (int64_t end_ns = now_ns() + SPIN_NS; now_ns() < end_ns;)
		;
	return NULL;
}

/* Records two threads that spin for SPIN_NS each. */
static void record_spinners(int first_mask, int mask, char *ret, size_t size)
{
	struct spinner spinners[2] = { { first_mask, mask, 0 }, { first_mask, mask, 0 } };
	struct trial trial = start();

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(spinners[i].thread, NULL);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	snprintf(ret, size, "%s", trial.path);
	print_message("# ready %" PRId64 " ns: %" PRId64 " beside an idle CPU, %" PRId64
		      " pinned, %" PRId64 " confined\n",
		      sum_by_cpu(ret, "ready_ns"), sum_by_cpu(ret, "spare_ns"),
		      sum_by_cpu(ret, "pinned_ns"), sum_by_cpu(ret, "confined_ns"));
}

/* How long threads of this process were ready while others of it had their CPU. */
static int64_t had_by_siblings(const char *path)
{
	struct output output = live__gapless("report", "--json", "--by", "cpu", path);
	json_t *report = live__json(&output), *pair;
	json_t *pairs = json_object_get(json_object_get(report, "by_cpu"), "occupants");
	int64_t ns = 0;
	size_t i;

	json_array_foreach (pairs, i, pair)
		if (!strcmp(text_at(json_object_get(pair, "ready"), "process"), "test_cpu") &&
		    !strcmp(text_at(json_object_get(pair, "by"), "process"), "test_cpu"))
			ns += number_at(pair, "ns");
	json_decref(report);
	live__release(&output);
	return ns;
}

/* The other CPU may be idle, but is of no use to them. */
static void threads_that_may_use_one_cpu_have_no_use_for_an_idle_one(void **state)
{
	char path[64];

	if (!has_two_cpus()) {
		print_message("# skip: one CPU only\n");
		skip();
	}
	record_spinners(1, 1, path, sizeof(path));
	assert_true(sum_by_cpu(path, "pinned_ns") >= SPIN_NS / 2);
	/* One of them runs while the other one is ready, unless a third thread has the CPU. */
	assert_true(had_by_siblings(path) >= SPIN_NS / 4);
	/* The signal has the slices that ended, the account has all ready time. */
	assert_true(had_by_siblings(path) <= sum_by_cpu(path, "ready_ns") + SPIN_NS / 20);
	assert_true(is_said(path, "others of the same group"));
	/* What the main thread and others were ready for is not pinned. */
	assert_true(sum_by_cpu(path, "spare_ns") <= SPIN_NS / 20);
	assert_false(is_said(path, "which they may use, was idle"));
	trial__remove(path);
}

static void the_scheduler_leaves_no_cpu_idle_for_long(void **state)
{
	char path[64];

	if (!has_two_cpus()) {
		print_message("# skip: one CPU only\n");
		skip();
	}
	record_spinners(3, 3, path, sizeof(path));
	assert_true(sum_by_cpu(path, "spare_ns") <= SPIN_NS / 10);
	assert_true(sum_by_cpu(path, "spare_ns") <= sum_by_cpu(path, "ready_ns"));
	trial__remove(path);
}

/* Without balancing, threads stay on the CPU on which they began. */
static void ready_time_beside_an_idle_cpu_is_measured(void **state)
{
	char path[64];
	FILE *file = NULL;

	if (!is_emulated() || !has_two_cpus()) {
		print_message("# skip: balancing is switched off in a VM only\n");
		skip();
	}
	(void)mkdir("/tmp/cpuset", 0755);
	if (mount("none", "/tmp/cpuset", "cgroup", 0, "cpuset") ||
	    !(file = fopen("/tmp/cpuset/cpuset.sched_load_balance", "we"))) {
		print_message("# skip: no cpuset\n");
		skip();
	}
	assert_true(fputs("0", file) >= 0 && !fclose(file));
	record_spinners(1, 3, path, sizeof(path));
	file = fopen("/tmp/cpuset/cpuset.sched_load_balance", "we");
	assert_true(file && fputs("1", file) >= 0 && !fclose(file));
	umount("/tmp/cpuset");
	/* CPU 1 runs gapless, too. */
	assert_true(sum_by_cpu(path, "spare_ns") >= SPIN_NS / 3);
	assert_true(sum_by_cpu(path, "spare_ns") <= sum_by_cpu(path, "ready_ns"));
	assert_true(is_said(path, "which they may use, was idle"));
	trial__remove(path);
}

/* The sum over all CPUs of one column of /proc/stat, in nanoseconds. */
static int64_t read_stat(int column)
{
	FILE *file = fopen("/proc/stat", "re");
	long long values[8];

	assert_non_null(file);
	assert_int_equal(fscanf(file, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &values[0],
				&values[1], &values[2], &values[3], &values[4], &values[5],
				&values[6], &values[7]),
			 8);
	fclose(file);
	return (column == IDLE ? values[3] + values[4] : values[column]) * 1000 * MS /
	       sysconf(_SC_CLK_TCK);
}

/* The totals of all CPUs are rounded on their own. */
static void compare_stat(const char *path, const char *key, const int64_t at[4])
{
	int64_t ns = sum_by_cpu(path, key), slack_ns = sysconf(_SC_NPROCESSORS_ONLN) * 20 * MS;

	print_message("# %s %" PRId64 ", %" PRId64 " to %" PRId64 " by /proc/stat\n", key, ns,
		      at[2] - at[1], at[3] - at[0]);
	assert_true(ns >= at[2] - at[1] - slack_ns && ns <= at[3] - at[0] + slack_ns);
}

/* The signal reads both once a second, and when it begins and ends. */
static void idle_and_stolen_time_are_those_of_the_kernel(void **state)
{
	int64_t idle[4], steal[4];
	struct trial trial;

	idle[0] = read_stat(IDLE);
	steal[0] = read_stat(STEAL);
	trial = start();
	sleep(1); /* until the first reading */
	idle[1] = read_stat(IDLE);
	steal[1] = read_stat(STEAL);
	sleep(2);
	idle[2] = read_stat(IDLE);
	steal[2] = read_stat(STEAL);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	idle[3] = read_stat(IDLE);
	steal[3] = read_stat(STEAL);
	compare_stat(trial.path, "idle_ns", idle);
	compare_stat(trial.path, "steal_ns", steal);
	trial__remove(trial.path);
}

/* In microseconds; -1: there is none. */
static int64_t read_pressure(const char *mount)
{
	char path[PATH_MAX + 32];
	long long total_us = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu.pressure", mount);
	file = fopen(path, "re");
	if (!file || fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%lld", &total_us) != 1)
		total_us = -1;
	if (file)
		fclose(file);
	return total_us;
}

/* This process is in the root of the hierarchy, or below it. */
static void pressure_is_that_of_the_cgroup(void **state)
{
	int64_t at[4], some_us;
	char mount[PATH_MAX], path[64];
	struct trial trial;

	if (cgroups__mount(mount) || read_pressure(mount) < 0) {
		print_message("# skip: no pressure\n");
		skip();
	}
	at[0] = read_pressure(mount);
	trial = start();
	at[1] = read_pressure(mount);
	usleep(500000);
	at[2] = read_pressure(mount);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	at[3] = read_pressure(mount);
	snprintf(path, sizeof(path), "%s", trial.path);
	assert_int_equal(trial__query(path, "select count(*) from pressure where kind = 'cpu'"), 1);
	some_us = trial__query(path, "select some_ns / 1000 as n from pressure where kind = 'cpu'");
	print_message("# pressure %" PRId64 " us, %" PRId64 " to %" PRId64 "\n", some_us,
		      at[2] - at[1], at[3] - at[0]);
	assert_true(some_us <= at[3] - at[0]);
	if (trial__query(path, "select count(*) from pressure where cgroup = '/' and kind = 'cpu'"))
		assert_true(some_us >= at[2] - at[1]);
	assert_true(is_said(path, "pressure on cpu, some "));
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_those_of_the_scheduler),
		cmocka_unit_test(moves_are_counted_where_they_go),
		cmocka_unit_test(threads_that_may_use_one_cpu_have_no_use_for_an_idle_one),
		cmocka_unit_test(the_scheduler_leaves_no_cpu_idle_for_long),
		cmocka_unit_test(ready_time_beside_an_idle_cpu_is_measured),
		cmocka_unit_test(idle_and_stolen_time_are_those_of_the_kernel),
		cmocka_unit_test(pressure_is_that_of_the_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
