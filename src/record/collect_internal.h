/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to collect.c, accounts.c and waits.c. */
#pragma once

#include "base/map.h"
#include "record/collect.h"
#include "record/names.h"
#include "record/path_calls.h"

/* Rows of the open state that can still be corrected: two per whole snapshot. */
#define RECENT_ROWS 8

/* A thread at its last record, and what was added since the start of the open slice. */
struct tracked {
	int64_t id;
	int64_t process;
	uint32_t pid, tid;
	uint32_t flags;
	char comm[WIRE_COMM_BYTES + 1];
	bool renamed;
	bool final;        /* its account at the end of the recording was taken */
	size_t changed_at; /* its position in collect.changed, from 1; 0: not in it */
	uint64_t seen;     /* collect.wholes at its last record */
	int64_t covered;   /* the last slice that its rows cover */
	uint64_t first_ns, last_ns;
	uint64_t unexplained_ns;
	uint32_t slot;           /* the open slot at last_ns */
	uint64_t ns[SLOT_COUNT]; /* all time in rows, written or not */
	uint32_t count[SLOT_COUNT];
	uint64_t added_ns[SLOT_COUNT]; /* part of ns[] that is not written yet */
	uint32_t added[SLOT_COUNT];
	struct tracked_faults {
		uint64_t minor, major;
	} faults, faults_added;
	uint64_t spread, spread_added; /* see struct ledger_account */
	uint32_t shift;
	/* The last rows of the open slot, newest last. */
	struct {
		int64_t to;
		uint64_t ns;
	} recent[RECENT_ROWS];
	size_t recent_count;
};

struct collect {
	/* Of the target's threads, and of outside ones: intervals and running time. */
	struct collect_work {
		uint64_t begun[SLOT_COUNT];
		uint64_t run_ns;
	} work, outside_work;
	struct recording *recording;
	struct names *names;
	struct path_calls *path_calls;
	bool full;
	const struct ledger *ledger; /* to find holders with; NULL: do not look for them */
	struct map threads;          /* by id */
	size_t outside;              /* outside threads among them */
	struct map refused;          /* by id: number of refusals in a row */
	struct map owed;             /* by id: see waits.c */
	uint64_t *due; /* ids of threads with a final account, but maybe more waits to come */
	size_t due_count;
	size_t due_before; /* the first due_before of these are from before the last drain */
	struct recording_occupant *occupants; /* taken and not yet written */
	size_t occupant_count;
	struct tracked **changed;
	size_t changed_count;
	uint32_t own_pid;
	int64_t slice;
	uint64_t slice_ns; /* start of the slice */
	uint64_t start_ns, end_ns;
	uint64_t wholes;     /* whole snapshots begun so far */
	int merged, merge;   /* snapshots in this slice, and how many make one */
	bool is_sparse;      /* the last slice had few rows for its length */
	uint64_t rows;       /* rows in this slice, without those of ended threads */
	size_t thinned;      /* threads of which not every call is timed */
	uint32_t most_shift; /* of any of them since the last collect__write_step() */
	int64_t step;        /* the last step that was written; 0: none */
	struct collect_quality quality;
};

/*
 * Books the account up to time_ns. totals[] is the time in each slot at time_ns. *ret_ns is the
 * time that the rows reach to: time_ns, or later if too much was written and cannot be taken back.
 */
int accounts__book(struct collect *collect, struct tracked *thread, const uint64_t *totals,
		   uint64_t time_ns, uint64_t *ret_ns);

/* Writes what was added in the open slice, and the thread itself. */
int accounts__write(struct collect *collect, struct tracked *thread);

/* What the record says of calls that are not timed. NULL: the thread has ended. */
void estimates__note(struct collect *collect, struct tracked *thread,
		     const struct ledger_account *account);
int estimates__write(struct collect *collect, struct tracked *thread);

/* Writes the open slice, which ends at now_ns, and opens the next one. */
int slices__close(struct collect *collect, uint64_t now_ns);

/* Adds the waits that are only in the last record: the cell, and the open wait. */
int waits__add_last(struct collect *collect, const struct ledger_record *record, uint64_t time_ns);
/* The thread's account is final: its waits have to agree with it. */
int waits__final(struct collect *collect, const struct tracked *thread);
/* The last record of the thread was lost. Extends its account to cover all of its waits. */
void waits__extend_account(struct collect *collect, struct tracked *thread);
/* After a whole snapshot: drops waits of threads that two whole snapshots did not show. */
int waits__sweep(struct collect *collect);
/* Call after the last drain and the last account. */
int waits__end(struct collect *collect);
void waits__release(struct collect *collect);
