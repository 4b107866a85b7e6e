/* What collect.c, accounts.c and waits.c share, and nobody else. */
#pragma once

#include "base/map.h"
#include "record/collect.h"
#include "record/names.h"

/* Rows of the open state that can still be corrected: two per whole snapshot. */
#define RECENT_ROWS 8

/* A thread as of its last record, and what it added since the begin of the open slice. */
struct tracked {
	int64_t id;
	int64_t process;
	uint32_t pid, tid;
	uint32_t flags;
	char comm[WIRE_COMM_BYTES + 1];
	bool renamed;
	bool final;        /* its account at the end was taken */
	size_t changed_at; /* its place in the list of changed threads, from 1; 0: not in it */
	uint64_t seen;     /* the number of whole snapshots begun before its last record */
	int64_t covered;   /* the last slice that its rows reach to */
	uint64_t first_ns, last_ns;
	uint64_t unexplained_ns;
	uint32_t slot;           /* open at last_ns */
	uint64_t ns[SLOT_COUNT]; /* all that is in rows, or will be */
	uint32_t count[SLOT_COUNT];
	uint64_t added_ns[SLOT_COUNT]; /* of that, not written yet */
	uint32_t added[SLOT_COUNT];
	struct tracked_faults {
		uint64_t minor, major;
	} faults, faults_added;
	/* The last rows of the open slot, newest last. */
	struct {
		int64_t to;
		uint64_t ns;
	} recent[RECENT_ROWS];
	size_t recent_count;
};

struct collect {
	uint64_t begun[SLOT_COUNT]; /* intervals, of all threads */
	struct recording *recording;
	struct names *names;
	bool full;
	struct map threads; /* by id */
	struct map refused; /* by id: how often in a row */
	struct map owed;    /* by id: see waits.c */
	uint64_t *due;      /* ids of accounts that are final, but the waits are not … */
	size_t due_count, due_size;
	size_t due_before; /* … of these, from before the last drain */
	struct tracked **changed;
	size_t changed_count, changed_size;
	int64_t slice;
	uint64_t slice_ns; /* its begin */
	uint64_t start_ns, end_ns;
	uint64_t wholes;   /* whole snapshots begun so far */
	int merged, merge; /* snapshots in this slice, and how many make one */
	uint64_t rows;     /* in this slice; those of threads that ended left out */
	struct collect_quality quality;
};

/*
 * Books the account up to time_ns, at which totals[] holds what is in each slot. Returns in *ret_ns
 * the time up to which the rows go: time_ns, or later where too much is written to be taken back.
 */
int accounts__book(struct collect *collect, struct tracked *thread, const uint64_t *totals,
		   uint64_t time_ns, uint64_t *ret_ns);

/* Writes what was added in the open slice, and the thread itself. */
int accounts__write(struct collect *collect, struct tracked *thread);

/* What a last record has that the kernel half has not handed over: a sum, and the open wait. */
int waits__add_last(struct collect *collect, const struct ledger_record *record, uint64_t time_ns);
/* No more will be added to the thread's account: its waits have to agree with it. */
int waits__final(struct collect *collect, const struct tracked *thread);
/* A thread whose last record was lost lived at least as long as its waits say. */
void waits__prolong(struct collect *collect, struct tracked *thread);
/* After a whole snapshot: waits whose thread two of them did not show have lost their account. */
int waits__sweep(struct collect *collect);
/* After the last drain and every account. */
int waits__end(struct collect *collect);
void waits__release(struct collect *collect);
