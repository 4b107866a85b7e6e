/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the kernel half's records into the rows of a recording: keeps the last account of every
 * thread, writes the changes per slice, names objects and culprits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/timing.h"
#include "ledger/ledger.h"
#include "ledger/reader/attach.h"
#include "record/names.h"
#include "recording/recording.h"

struct collect;

/* `recording` belongs to the caller and must outlive *ret. */
int collect__new(struct recording *recording, bool full, struct collect **ret);
void collect__free(struct collect *collect);

/* The recording begins: the first slice opens. */
int collect__begin(struct collect *collect, uint64_t start_ns);

/* Callback for ledger__open() and ledger__snapshot(): takes any record. `context`: the collect. */
int collect__take(void *context, const struct wire_head *head);
struct ledger;
/* Takes the sums of the kernel half; see ledger__drain_sums(). */
int collect__drain(struct collect *collect, struct ledger *ledger, bool all);
/* Callbacks for ledger__drain_sums(). */
int collect__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum);
int collect__take_occupant(void *context, const struct ledger_occupant_key *key,
			   const struct ledger_occupant *sum);
/* Call after each drain: threads that ended before the previous drain get no more waits. */
int collect__waits_drained(struct collect *collect);

/* A snapshot is complete: closes the slice at `now` if it is long enough. */
int collect__snapshot_done(struct collect *collect, uint64_t now_ns);
/*
 * The time to the next snapshot, after one that took cost_ns. Doubles the interval if a snapshot
 * costs too much or has too many rows; halves it again, down to least_ns, if it is cheap and has
 * few.
 */
uint64_t collect__next_interval(struct collect *collect, uint64_t interval_ns, uint64_t least_ns,
				uint64_t cost_ns);

/*
 * Call these around each snapshot of all threads, changed or not; not needed for the last snapshot
 * of the recording. A thread that is missing in two of them in a row has lost its last record and
 * is forgotten.
 */
void collect__full_snapshot_begins(struct collect *collect);
int collect__whole_done(struct collect *collect);

/*
 * Call before the last snapshot, which is taken after the freeze: accounts end at `end_ns`, and
 * open waits are written too.
 */
void collect__ending(struct collect *collect, uint64_t end_ns);
/* Open waits without evidence get the owners of their locks, see holders.h. */
void collect__find_holders(struct collect *collect, const struct ledger *ledger);
/* Call after the last snapshot and the last drain: writes the last slice. */
int collect__end(struct collect *collect);

/* The number of the open slice, and the number of tracked threads without outside threads. */
int64_t collect__slice(const struct collect *collect);
size_t collect__threads(const struct collect *collect);
/* Whether a thread of the process is tracked. `outside`: outside threads count too. */
bool collect__has_process(const struct collect *collect, uint32_t pid, bool outside);

/*
 * The slot of the thread in its last record; SLOT_NONE if the thread is unknown. A thread without a
 * newer record is still in it.
 */
enum ledger_slot collect__open_slot(const struct collect *collect, int64_t thread);

/* The number of the thread, as in /proc; 0: it is unknown. */
uint32_t collect__tid(const struct collect *collect, int64_t thread);

/* The process of a thread; 0: it is unknown. */
int64_t collect__process(const struct collect *collect, int64_t thread);

/* The names, for other users of objects and culprits. Belongs to the collect. */
struct names *collect__names(struct collect *collect);

/* Drops names and paths that were not used since `before_ns`; see names__forget(). */
int collect__forget(struct collect *collect, uint64_t before_ns, int objects_fd);

/* Syscalls, switches and running time of all threads so far, from which the cost of hooks is
 * computed. */
struct timing_work collect__work(const struct collect *collect);

/* Writes how many calls are timed, if that has changed. Call it about once a second. */
int collect__write_step(struct collect *collect, uint64_t now_ns);

struct collect_quality {
	uint64_t malformed; /* records that were not understood */
	uint64_t torn;      /* accounts whose sum did not close (invariant 1) */
	/* Threads whose last account did not arrive: their rows end early. */
	uint64_t vanished;
	/* Threads whose account did not close ten times in a row, or never: time is missing. */
	uint64_t never_closed;
	/* Waits whose object or culprit has no own name because there are too many. */
	uint64_t overflowed;
	/* Time of waits whose object and culprit were lost. */
	uint64_t unnamed_wait_ns;
	/* Time of waits whose thread's account was lost: they are left out. */
	uint64_t waits_without_account_ns;
};
struct collect_quality collect__quality(const struct collect *collect);
