/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One recording from start to finish, behind `gapless record`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/features.h"
#include "core/signal.h"
#include "core/target.h"
#include "recording/recording.h"

/* Defaults of commands. */
#define RUN_INTERVAL_NS UINT64_C(100000000)
#define RUN_SLOW_NS     UINT64_C(10000000)
#define RUN_BUDGET_PPM  50000

struct run_options {
	struct target target;
	bool full;
	uint64_t interval_ns; /* initial and shortest interval between snapshots */
	uint32_t drop_every;  /* test switch: ignore every Nth wakeup; 0: none */
	bool early;         /* children that the target starts before run__begin() are wanted too */
	uint32_t gated_pid; /* a process that is wanted from its exec on; 0: none */
	uint32_t budget_ppm;  /* millionths of the target's CPU time for hooks; 0: no limit */
	bool keep_signals;    /* signals are not stopped to keep the budget */
	uint64_t tick_ns;     /* mean time between two samples of a CPU; 0: no stacks */
	uint64_t seed;        /* seed of the random sampling periods; 0: choose one at random */
	uint64_t table_bytes; /* memory limit for the unwinder's tables */
	const struct signal *const *signals; /* ends with NULL; NULL: none */
	uint64_t slow_ns;                    /* operations that take this long become events */
	uint32_t refused_signal;             /* test switch, see ledger_options */
	bool no_slow_calls;                  /* no events for syscalls: programs load faster */
	bool no_requests;                    /* the account is not cut by requests */
	bool no_window_text;                 /* no text of requests is recorded */
	bool calls;                          /* the account is cut by calls of functions */
	bool no_peers;                       /* do not look up the other ends of pipes */
	bool outside;                 /* threads that keep the target waiting get accounts too */
	bool (*is_interrupted)(void); /* true if the user wants to stop; may be NULL */
};

struct run;

/*
 * Starts in two steps. run__open() loads and attaches. run__begin(), with the same options, seeds;
 * when it returns, every wanted thread has an account. With `early`, each of the target's processes
 * must have one thread when run__open() is called. Both log and return -errno.
 */
int run__open(const struct run_options *options, struct recording *recording,
	      struct features *features, struct run **ret);
int run__begin(struct run *run, const struct run_options *options);
/* Both at once. */
int run__start(const struct run_options *options, struct recording *recording,
	       struct features *features, struct run **ret);
void run__free(struct run *run);

/* Works for about one interval, until `until_ns` at most (0: no limit). -errno: cannot continue. */
int run__step(struct run *run, uint64_t until_ns);

/*
 * Writes everything until now to the recording, with the names of all threads involved. Otherwise
 * that takes up to a second. Takes some milliseconds.
 */
int run__flush(struct run *run);
/*
 * For a recording whose reader deletes rows. Series get new ids, so their rows may be deleted. The
 * limit on the number of events starts again. Objects, code and threads without an account that
 * were not used since `before_ns` are dropped: older rows must already be deleted. before_ns 0
 * drops nothing.
 */
int run__forget(struct run *run, uint64_t before_ns);

/* The number of requested signals that run. */
size_t run__signals(const struct run *run);
/* False: the account is not cut by requests, because it was not asked for or the kernel refused. */
bool run__has_windows(const struct run *run);
/* The number of accounted threads that are alive. */
size_t run__threads(const struct run *run);

/*
 * For live views. The state of a thread at its last record, by its id in the recording. A thread
 * without a newer record is still in it. 0: there is no such thread.
 */
int run__open_state(const struct run *run, int64_t thread);
/* Sets the interval between snapshots. */
void run__set_interval(struct run *run, uint64_t interval_ns);
/* Like run__flush(), with the accounts of all threads, changed or not. */
int run__flush_whole(struct run *run);
/* Names as many unnamed frames as possible until `until_ns`. */
int run__name(struct run *run, uint64_t until_ns);

/* Writes all last accounts, quality and cost. The recording is then ready to be finished. */
int run__stop(struct run *run);
