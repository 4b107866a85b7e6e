/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample.h"

#include "../harness.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "vocabulary/histogram.h"

char *sample__path(void)
{
	char folder[] = "/tmp/gapless-test-XXXXXX";
	char *path = NULL;

	assert_non_null(mkdtemp(folder));
	assert_true(asprintf(&path, "%s/run.gapless", folder) > 0);
	return path;
}

void sample__remove(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	/* Also the proof that nothing else was left there. */
	assert_int_equal(rmdir(path), 0);
	free(path);
}

static void add_states(struct recording *recording)
{
	static const struct recording_state states[] = {
		{ SAMPLE_RUN_USER, "run", "user", NULL },
		{ SAMPLE_RUN_KERNEL, "run", "kernel", NULL },
		{ SAMPLE_READY_WOKEN, "ready", "woken", NULL },
		{ SAMPLE_READY_PREEMPTED, "ready", "preempted", NULL },
		{ SAMPLE_LOCK_OPEN, "wait", "lock", "undecided" },
		{ SAMPLE_LOCK, "wait", "lock", "delaying" },
		{ SAMPLE_DISK, "wait", "disk", "delaying" },
		{ SAMPLE_POLL, "wait", "poll", "idle" },
		{ SAMPLE_UNSEEN, "unseen", "start", NULL },
		{ SAMPLE_PIPE, "wait", "pipe", "delaying" },
		{ SAMPLE_CHILD, "wait", "child", "delaying" },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		assert_int_equal(recording__add_state(recording, &states[i]), 0);
}

struct recording *sample__begin(const char *path)
{
	struct recording *recording = NULL;
	int err = recording__create(path, false, &recording);

	assert_int_equal(err, 0);
	err |= recording__set_text(recording, "gapless_version", "0.1.0");
	err |= recording__set_text(recording, "kernel", "6.12.0");
	err |= recording__set_text(recording, "target", "process 1000 and its children");
	err |= recording__set_text(recording, "level", "full");
	err |= recording__set_number(recording, "cpus", 2);
	err |= recording__set_number(recording, "start_ns", SAMPLE_START_NS);
	err |= recording__set_number(recording, "end_ns", SAMPLE_START_NS + 30 * SECOND);
	err |= recording__set_number(recording, "start_unix_ns", 1700000000 * SECOND);
	err |= recording__set_number(recording, "zone_s", 3600);
	for (int64_t i = 1; i <= 3; i++)
		err |= recording__add_slice(recording, i, SAMPLE_START_NS + (i - 1) * 10 * SECOND,
					    SAMPLE_START_NS + i * 10 * SECOND);
	assert_int_equal(err, 0);
	add_states(recording);
	return recording;
}

void sample__process(struct recording *recording, int64_t id, const char *comm)
{
	const struct recording_process process = {
		.id = id, .pid = 1000 * (int)id, .parent_pid = 1, .comm = comm, .cgroup = "/app"
	};

	assert_int_equal(recording__put_process(recording, &process), 0);
}

void sample__thread(struct recording *recording, int64_t id, int64_t process, const char *comm,
		    int flags)
{
	const struct recording_thread thread = {
		.id = id,
		.process = process,
		.tid = (int)(1000 * process + id),
		.comm = comm,
		.first_ns = SAMPLE_START_NS,
		.last_ns = SAMPLE_START_NS + 30 * SECOND,
		.flags = flags,
	};

	assert_int_equal(recording__put_thread(recording, &thread), 0);
}

void sample__account(struct recording *recording, int64_t thread, int state, int64_t from,
		     int64_t to, int64_t ns, int64_t count)
{
	const struct recording_account account = { thread, from, to, state, ns, count };

	assert_int_equal(recording__add_account(recording, &account), 0);
}

void sample__finish(struct recording *recording)
{
	assert_int_equal(recording__finish(recording), 0);
	recording__free(recording);
}

/* The main thread: half of its running time goes into a storm of newfstatat. */
static void add_main(struct recording *recording)
{
	for (int64_t i = 1; i <= 3; i++) {
		sample__account(recording, SAMPLE_MAIN, SAMPLE_RUN_USER, i, i, 2000 * MS, 127000);
		sample__account(recording, SAMPLE_MAIN, SAMPLE_RUN_KERNEL, i, i, 1300 * MS, 127000);
		sample__account(recording, SAMPLE_MAIN, SAMPLE_READY_WOKEN, i, i, 100 * MS, 600);
		sample__account(recording, SAMPLE_MAIN, SAMPLE_POLL, i, i, 6600 * MS, 600);
	}
}

static void add_workers(struct recording *recording)
{
	for (int64_t thread = SAMPLE_WORKER_1; thread <= SAMPLE_WORKER_2; thread++) {
		for (int64_t i = 1; i <= 3; i++) {
			sample__account(recording, thread, SAMPLE_RUN_USER, i, i, 2500 * MS, 900);
			sample__account(recording, thread, SAMPLE_READY_PREEMPTED, i, i, 2200 * MS,
					300);
			sample__account(recording, thread, SAMPLE_LOCK, i, i, 3800 * MS, 300);
			sample__account(recording, thread, SAMPLE_LOCK_OPEN, i, i, 1500 * MS, 30);
		}
	}
}

/* The logger was unseen for 12 µs, then in nothing but its disk for two slices. */
static void add_logger(struct recording *recording)
{
	sample__account(recording, SAMPLE_LOGGER, SAMPLE_UNSEEN, 1, 2, 12000, 0);
	sample__account(recording, SAMPLE_LOGGER, SAMPLE_DISK, 1, 2, 20 * SECOND - 12000, 2);
	sample__account(recording, SAMPLE_LOGGER, SAMPLE_RUN_KERNEL, 3, 3, 4 * SECOND, 100);
	sample__account(recording, SAMPLE_LOGGER, SAMPLE_DISK, 3, 3, 6 * SECOND, 100);
}

static void add_waits(struct recording *recording)
{
	static const struct recording_object objects[] = {
		{ 1, "futex", "0x7f0000001000" },
		{ 2, "futex", "0x7f0000002000" },
		{ 3, "file", "/var/log/app.log" },
	};
	static const struct recording_wait waits[] = {
		{ SAMPLE_WORKER_1, SAMPLE_LOCK, 1, SAMPLE_LOGGER, "owner", 11400 * MS, 900 },
		{ SAMPLE_WORKER_2, SAMPLE_LOCK, 1, SAMPLE_LOGGER, "owner", 11400 * MS, 900 },
		{ SAMPLE_WORKER_1, SAMPLE_LOCK_OPEN, 2, SAMPLE_WORKER_2, "waker", 4500 * MS, 90 },
		{ SAMPLE_WORKER_2, SAMPLE_LOCK_OPEN, 2, SAMPLE_WORKER_1, "waker", 4500 * MS, 90 },
		{ SAMPLE_LOGGER, SAMPLE_DISK, 3, SAMPLE_INTERRUPT, "waker", 26 * SECOND - 12000,
		  102 },
		{ SAMPLE_MAIN, SAMPLE_POLL, 0, SAMPLE_INTERRUPT, "waker", 19800 * MS, 1800 },
	};

	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
		assert_int_equal(recording__put_object(recording, &objects[i]), 0);
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		assert_int_equal(recording__add_wait(recording, &waits[i]), 0);
}

static void add_bucket(struct recording *recording, enum recording_histogram of, int key,
		       int64_t slice, uint64_t ns, int64_t count)
{
	const struct recording_bucket bucket = { of,   key, slice, slice, (int)histogram_bucket(ns),
						 count };

	assert_int_equal(recording__add_bucket(recording, &bucket), 0);
}

static void add_syscalls(struct recording *recording)
{
	for (int64_t i = 1; i <= 3; i++) {
		const struct recording_syscall calls[] = {
			{ 262, "newfstatat", i, i, 127000, 121920, 1200 * MS, 300000, 1200 * MS },
			{ 232, "epoll_wait", i, i, 600, 0, 6600 * MS, 50 * MS, 3 * MS },
		};

		for (size_t j = 0; j < sizeof(calls) / sizeof(*calls); j++)
			assert_int_equal(recording__add_syscall(recording, &calls[j]), 0);
		add_bucket(recording, RECORDING_HISTOGRAM_SYSCALL, 262, i, 9000, 125000);
		add_bucket(recording, RECORDING_HISTOGRAM_SYSCALL, 262, i, 40000, 2000);
		add_bucket(recording, RECORDING_HISTOGRAM_SYSCALL, 232, i, 11 * MS, 600);
		add_bucket(recording, RECORDING_HISTOGRAM_STATE, SAMPLE_LOCK, i, 12 * MS, 600);
	}
	assert_int_equal(recording__add_syscall_error(recording, 262, 2, 365760), 0);
}

static void add_figures(struct recording *recording)
{
	int err = 0;

	err |= recording__put_cpu(recording, 0, 150 * MS);
	err |= recording__put_cpu(recording, 1, 450 * MS);
	err |= recording__put_quality(recording, "lost_ring_full", 0, "exits are missing", "");
	err |= recording__put_quality(recording, "repaired_wakeups", 7,
				      "their waker is known, their order is a guess", "");
	err |= recording__put_cost(recording, "own_cpu_ns", 300e6, "ns");
	err |= recording__put_cost(recording, "max_rss_bytes", 24.1e6, "bytes");
	err |= recording__put_cost(recording, "recording_bytes", 131072, "bytes");
	err |= recording__set_text(recording, "hooks",
				   "[{\"event\": \"sched_switch\", \"kind\": \"tp_btf\","
				   " \"why_not\": \"\"}]");
	assert_int_equal(err, 0);
}

static struct recording *write_accounts(const char *path)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__process(recording, 2, "gapless");
	sample__thread(recording, SAMPLE_INTERRUPT, 0, "[interrupt]", RECORDING_THREAD_NO_ACCOUNT);
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__thread(recording, SAMPLE_WORKER_1, 1, "app", 0);
	sample__thread(recording, SAMPLE_WORKER_2, 1, "worker-2", 0);
	sample__thread(recording, SAMPLE_LOGGER, 1, "logger", 0);
	sample__thread(recording, SAMPLE_OWN, 2, "gapless", RECORDING_THREAD_OWN);
	/* Born with its parent's name. */
	assert_int_equal(
		recording__add_name(recording, SAMPLE_WORKER_1, SAMPLE_START_NS + MS, "worker-1"),
		0);
	add_main(recording);
	add_workers(recording);
	add_logger(recording);
	sample__account(recording, SAMPLE_OWN, SAMPLE_RUN_USER, 1, 3, 300 * MS, 300);
	sample__account(recording, SAMPLE_OWN, SAMPLE_POLL, 1, 3, 29700 * MS, 300);
	add_waits(recording);
	add_syscalls(recording);
	add_figures(recording);
	return recording;
}

void sample__write(const char *path)
{
	sample__finish(write_accounts(path));
}

void sample__write_with_stacks(const char *path)
{
	struct recording *recording = write_accounts(path);

	sample__add_stacks(recording);
	sample__finish(recording);
}

void sample__write_with_signals(const char *path)
{
	struct recording *recording = write_accounts(path);

	sample__add_signals(recording);
	sample__finish(recording);
}

void sample__write_with_windows(const char *path)
{
	struct recording *recording = write_accounts(path);

	sample__add_windows(recording);
	sample__finish(recording);
}

void sample__write_with_requests(const char *path)
{
	struct recording *recording = write_accounts(path);
	sqlite3 *db = NULL;

	sample__add_stacks(recording);
	sample__add_windows(recording);
	sample__finish(recording);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "UPDATE sample SET window = 100 + id % 4 * 100 WHERE thread = 2"
			     " AND id % 4 < 3;"
			     "UPDATE sample SET time_ns = (SELECT end_ns - 1000 FROM window w"
			     " WHERE w.id = sample.window) WHERE window IN (100, 200);"
			     "UPDATE window SET has_details = 1 WHERE id = 500",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

void sample__write_with_all(const char *path)
{
	struct recording *recording = write_accounts(path);

	sample__add_stacks(recording);
	sample__add_signals(recording);
	sample__finish(recording);
}
