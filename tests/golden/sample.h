/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording with known answers, written by hand: 30 s in three slices of 10 s, an application
 * with a main thread, two workers and a logger that holds their lock, and gapless itself.
 */
#pragma once

#include "recording/recording.h"

#define SECOND 1000000000LL
#define MS     1000000LL
/* When the recording starts, on the monotonic clock. */
#define SAMPLE_START_NS (1000 * SECOND)

enum sample_state {
	SAMPLE_RUN_USER = 1,
	SAMPLE_RUN_KERNEL,
	SAMPLE_READY_WOKEN,
	SAMPLE_READY_PREEMPTED,
	SAMPLE_LOCK_OPEN, /* undecided */
	SAMPLE_LOCK,      /* delaying */
	SAMPLE_DISK,
	SAMPLE_POLL,
	SAMPLE_UNSEEN,
	SAMPLE_PIPE,
	SAMPLE_CHILD,
};

enum sample_thread {
	SAMPLE_INTERRUPT = -1,
	SAMPLE_MAIN = 1,
	SAMPLE_WORKER_1,
	SAMPLE_WORKER_2,
	SAMPLE_LOGGER,
	SAMPLE_OWN,
};

/* A path for a recording in a new folder below /tmp, and how to remove it again. */
char *sample__path(void);
void sample__remove(char *path);

/* Meta data, states and three slices; nobody in it. Fails the test on any error. */
struct recording *sample__begin(const char *path);
/* A process of this serial, pid 1000 × serial, in the cgroup "/app". */
void sample__process(struct recording *recording, int64_t id, const char *comm);
/* A thread that lives through the recording; tid = 1000 × process + serial. */
void sample__thread(struct recording *recording, int64_t id, int64_t process, const char *comm,
		    int flags);
/* `ns` in one state, from the begin of slice `from` to the end of slice `to`. */
void sample__account(struct recording *recording, int64_t thread, int state, int64_t from,
		     int64_t to, int64_t ns, int64_t count);
void sample__finish(struct recording *recording);

/* The whole of it, finished, in a file. */
void sample__write(const char *path);
/*
 * The same with code, stacks and samples, whose weights add up to the accounts of each thread and
 * state. It has what is hard to show: inlined functions, kernel and generated code, addresses
 * without a name, stacks that are cut or missing, wakers, and names made to break a format.
 */
void sample__write_with_stacks(const char *path);
void sample__add_stacks(struct recording *recording);
/* The same with all signals instead of stacks. */
void sample__write_with_signals(const char *path);
void sample__add_signals(struct recording *recording);
/*
 * Windows of one class and length, of which `kept` are kept, each for the same number. The parts
 * are of one window and add up to its length; kept windows are `spread_ns` shorter or longer in the
 * first part in turn.
 */
struct sample_part {
	const char *part;
	int state;
	int64_t ns;
};
#define SAMPLE_PARTS 8
struct sample_windows {
	int64_t class, from, to, count, n, kept, first_id, spread_ns;
	struct sample_part parts[SAMPLE_PARTS];
};
void sample__windows(struct recording *recording, const struct sample_windows *windows);
/*
 * 2,000 requests in HTTP to the application: the faster half takes 100 µs, 880 take 200 µs, 100
 * take 1 ms, 20 take 20 ms; and what it asks of a database.
 */
void sample__add_windows(struct recording *recording);
void sample__write_with_windows(const char *path);
/*
 * The same with stacks. Samples of the first worker belong to three of the windows, one of which
 * had ended before; and the query has details.
 */
void sample__write_with_requests(const char *path);
/* The same with both. */
void sample__write_with_all(const char *path);
/*
 * And with more in one signal than a page has room for: SAMPLE_CROWD operations "op-0001" and up
 * of "block", each with a series, two distributions and one request in each slice. Every third one
 * fails. The first ones took longest, and all of them less than what else is in the signal.
 */
#define SAMPLE_CROWD 1200
void sample__write_crowded(const char *path);
