/*
 * From the kernel half's records to the rows of a recording: keeps the last account of every
 * thread, writes what changed per slice, names objects and culprits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/timing.h"
#include "ledger/ledger.h"
#include "record/names.h"
#include "recording/recording.h"

struct collect;

/* `recording` stays the caller's. */
int collect__new(struct recording *recording, bool full, struct collect **ret);
void collect__free(struct collect *collect);

/* The recording begins: the first slice opens. */
int collect__begin(struct collect *collect, uint64_t start_ns);

/* For ledger__open and ledger__snapshot: takes any record. The context is the collect. */
int collect__take(void *context, const struct wire_head *head);
/* For ledger__drain_waits. */
int collect__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum);
/* After it: what ended before the last drain has no more waits to come. */
int collect__waits_drained(struct collect *collect);

/* A snapshot is complete: closes the slice at `now` if it is long enough. */
int collect__snapshot_done(struct collect *collect, uint64_t now_ns);

/*
 * Around each snapshot of all threads, changed or not (the last one of the recording needs it not).
 * Threads that two of them in a row did not show have lost their last record: they are forgotten.
 */
void collect__whole_begins(struct collect *collect);
int collect__whole_done(struct collect *collect);

/*
 * Before the last snapshot, taken when nothing changes any more: accounts end at `end_ns`, and what
 * is still open is written too.
 */
void collect__ending(struct collect *collect, uint64_t end_ns);
/* After it: the last slice. */
int collect__end(struct collect *collect);

/* The number of the open slice, and how many threads are alive. */
int64_t collect__slice(const struct collect *collect);
size_t collect__threads(const struct collect *collect);

/*
 * The slot that the thread was in when its last record came, SLOT_NONE if it is not known. A thread
 * that has sent nothing since is still in it.
 */
enum ledger_slot collect__open_slot(const struct collect *collect, int64_t thread);

/* For others that name what was waited for. */
struct names *collect__names(struct collect *collect);

/* What all threads did so far, as it brings hooks to run. */
struct timing_work collect__work(const struct collect *collect);

struct collect_quality {
	uint64_t malformed; /* records that were not understood */
	uint64_t torn;      /* accounts whose sum did not close (invariant 1) */
	/* Threads whose last account did not arrive: their rows end early. */
	uint64_t vanished;
	/* Threads whose account did not close ten times in a row, or at all: their time is missing.
	 */
	uint64_t never_closed;
	/* Waits whose object or culprit has no name of its own: there are too many. */
	uint64_t overflowed;
	/* Time of waits whose object and culprit were lost. */
	uint64_t unnamed_wait_ns;
	/* Time of waits whose thread's account was lost: they are left out. */
	uint64_t waits_without_account_ns;
};
struct collect_quality collect__quality(const struct collect *collect);
