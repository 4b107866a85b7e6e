/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_diff FOLDER: five recordings of a program before and five after a change, base-1.gapless to
 * new-5.gapless. compute() takes 25 % more, a lock came that add_to_log() waits for, old_cache() is
 * gone, everything else differs by a percent. One of the new ones has losses.
 */
#include "../harness.h"

#include <stdio.h>

#include "sample.h"

#define HOSTILE "<img src=x onerror=alert(3)>"
#define TICK_NS (10 * MS)

enum { RUNS = 5, LOST_IN = 3 };
/* Each is called from one place, so a stack has the number of its function. */
enum { MAIN = 1, COMPUTE, PARSE, OLD_CACHE, EVIL, WORK, ADD_TO_LOG, LOCK, FUNCTIONS };

static void add_code(struct recording *recording)
{
	static const char *const names[FUNCTIONS] = {
		[COMPUTE] = "compute",
		[PARSE] = "parse",
		[OLD_CACHE] = "old_cache",
		[EVIL] = HOSTILE,
		[MAIN] = "main",
		[WORK] = "work",
		[ADD_TO_LOG] = "add_to_log",
		[LOCK] = "pthread_mutex_lock",
	};
	static const int callers[FUNCTIONS] = {
		[COMPUTE] = MAIN, [PARSE] = MAIN,      [OLD_CACHE] = MAIN,
		[EVIL] = MAIN,    [ADD_TO_LOG] = WORK, [LOCK] = ADD_TO_LOG,
	};
	int err = recording__add_module(
		recording, &(struct recording_module) { 1, "file", "/usr/bin/app", NULL });

	for (int i = 1; i < FUNCTIONS; i++) {
		err |= recording__add_frame(recording, i, 1, 4096 * i);
		err |= recording__add_function(
			recording,
			&(struct recording_function) { i, 1, names[i], names[i], NULL, 0, NULL });
		err |= recording__add_line(recording, &(struct recording_line) { i, 0, i, 0, 0 });
		err |= recording__add_stack(recording, i, callers[i], i);
	}
	assert_int_equal(err, 0);
}

/* A noise of one percent that is the same every time. */
static int64_t noisy(int64_t value, int i)
{
	static const int parts[] = { 3, -9, 10, -4, 0, 7, -10, 5, -2, 9 };

	return value + value * parts[i % 10] / 1000;
}

static int64_t add_runs(struct recording *recording, int stack, int64_t ms)
{
	int64_t count = ms * MS / TICK_NS;

	for (int64_t i = 0; i < count; i++)
		assert_int_equal(recording__add_sample(
					 recording,
					 &(struct recording_sample) {
						 .time_ns = SAMPLE_START_NS + i * TICK_NS + stack,
						 .thread = SAMPLE_MAIN,
						 .state = SAMPLE_RUN_USER,
						 .stack = stack,
						 .weight_ns = TICK_NS,
						 .period_ns = TICK_NS,
						 .count = 1,
						 .flags = RECORDING_SAMPLE_TICK }),
				 0);
	return count * TICK_NS;
}

static void add_lock(struct recording *recording, int64_t ns)
{
	int err = recording__put_object(
		recording,
		&(struct recording_object) { .id = 1, .kind = "futex", .name = "0x7f00" });

	err |= recording__add_wait(recording, &(struct recording_wait) { .thread = SAMPLE_WORKER_1,
									 .state = SAMPLE_LOCK,
									 .object = 1,
									 .by = SAMPLE_MAIN,
									 .evidence = "owner",
									 .ns = ns,
									 .count = 10 });
	for (int i = 0; i < 10; i++)
		err |= recording__add_sample(
			recording,
			&(struct recording_sample) { .time_ns = SAMPLE_START_NS + (i + 1) * SECOND,
						     .thread = SAMPLE_WORKER_1,
						     .state = SAMPLE_LOCK,
						     .stack = LOCK,
						     .by = SAMPLE_MAIN,
						     .object = 1,
						     .weight_ns = ns / 10,
						     .wait_ns = ns / 10,
						     .period_ns = TICK_NS,
						     .count = 1 });
	assert_int_equal(err, 0);
	sample__account(recording, SAMPLE_WORKER_1, SAMPLE_LOCK, 1, 3, ns, 10);
}

/* Of 1 ms each. */
static void add_requests(struct recording *recording, int64_t count)
{
	int err = recording__add_signal(
		recording, &(struct recording_signal) { 1, "block", "disks", "requests" });

	err |= recording__add_measure(recording, 1, 0, "total", "ns");
	err |= recording__add_series(recording,
				     &(struct recording_series) { .id = 1,
								  .signal = 1,
								  .thread = SAMPLE_MAIN,
								  .place = "vda",
								  .operation = "write" });
	err |= recording__add_sum(recording, &(struct recording_sum) { .series = 1,
								       .from = 1,
								       .to = 3,
								       .count = count,
								       .sum = { count * MS },
								       .max = { MS } });
	assert_int_equal(err, 0);
}

static void write_recording(const char *path, bool changed, int i)
{
	struct recording *recording = sample__begin(path);
	int64_t lock = changed ? noisy(5 * SECOND, i) : 0, run = 0;

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__thread(recording, SAMPLE_WORKER_1, 1, "worker", 0);
	add_code(recording);
	run += add_runs(recording, COMPUTE, noisy(changed ? 10000 : 8000, i));
	run += add_runs(recording, PARSE, noisy(6000, i + 1));
	run += add_runs(recording, EVIL, noisy(2000, i + 2));
	if (!changed)
		run += add_runs(recording, OLD_CACHE, noisy(3000, i + 3));
	sample__account(recording, SAMPLE_MAIN, SAMPLE_RUN_USER, 1, 3, run, 1);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_POLL, 1, 3, 30 * SECOND - run, 1);
	if (changed)
		add_lock(recording, lock);
	sample__account(recording, SAMPLE_WORKER_1, SAMPLE_POLL, 1, 3, 30 * SECOND - lock, 1);
	add_requests(recording, 500 + i % 3);
	assert_int_equal(recording__set_text(recording, "ended", "command"), 0);
	recording__put_quality(recording, "lost_ring_full", changed && i % RUNS == LOST_IN ? 12 : 0,
			       "missing", "");
	sample__finish(recording);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 2)
		return 2;
	for (int i = 0; i < 2 * RUNS; i++) {
		snprintf(path, sizeof(path), "%s/%s-%d.gapless", argv[1], i < RUNS ? "base" : "new",
			 i % RUNS + 1);
		write_recording(path, i >= RUNS, i);
	}
	return 0;
}
