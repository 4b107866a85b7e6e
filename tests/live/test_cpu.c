/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpu: slices, ready time and moves of a thread, held against the scheduler's own figures. */
#include "../harness.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

#define NAPS  200
#define MOVES 20

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
	/* The scheduler stamps its clock elsewhere: about 1 µs for each switch. */
	assert_true(ready_ns >= (after.ready_ns - inner.ready_ns) / 2 - 2 * MS);
	assert_true(ready_ns <= end.ready_ns - outer.ready_ns + 2 * MS);
	assert_true(run_ns <= end.run_ns - outer.run_ns + 2 * MS);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_those_of_the_scheduler),
		cmocka_unit_test(moves_are_counted_where_they_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
