/*
 * The account, as the kernel half keeps it and the user half reads it. Shared by ledger.bpf.c and
 * the rest of this folder.
 */
#pragma once

#include "bpf/identity.h"
#include "bpf/slow_call.h"
#include "bpf/wire.h"
#include "vocabulary/histogram.h"
#include "vocabulary/slots.h"

#define LEDGER_SYSCALLS   CALL_NUMBERS
#define LEDGER_32BIT_CALL CALL_32BIT

/* Of ledger_key.first: a thread without account; the rest is its tid. */
#define FIRST_STRANGER (1ULL << 63)

/* Who ended a wait, where it was not a thread with an account. */
enum ledger_by {
	BY_NOBODY,
	BY_THREAD,   /* `by` is its id */
	BY_STRANGER, /* a thread without account: `by` is its tid */
	BY_INTERRUPT,
	BY_TIMEOUT, /* nobody: its time was up */
};

/* What a wait was for, and who ended it. */
struct ledger_key {
	__u64 thread; /* the waiter's id */
	__u64 object[2];
	__u64 by;
	__u64 first; /* EVIDENCE_HANDED: who held the lock when the wait began */
	__u8 slot;
	__u8 object_kind;
	__u8 by_kind;
	__u8 evidence;
	__u32 pid; /* the waiter's: a futex address means something only there */
};
_Static_assert(sizeof(struct ledger_key) == 48, "wire format");

struct ledger_sum {
	__u64 ns;
	__u64 count;
};

/* Invariant 1: Σ ns + (now − since_ns, in the open slot) = now − first_ns, at every now. */
struct ledger_account {
	__u32 sequence; /* odd while a writer is in it */
	__u32 slot;     /* the open one */
	__u64 since_ns;
	__u64 first_ns;
	__u64 unexplained_ns;
	__u64 ns[SLOT_COUNT];
	__u32 count[SLOT_COUNT]; /* of intervals: that began, or that it was found in */
};

/* What the kernel half keeps of a thread begins like this; the rest is its own. */
struct ledger_thread {
	struct identity identity;
	struct ledger_account account;
};

enum ledger_thread_flags {
	THREAD_FOLLOW = 1, /* threads and processes that it starts are accounted too */
	THREAD_KERNEL = 2,
	THREAD_EXITING = 4,    /* past sched_process_exit */
	THREAD_ENDED = 8,      /* its last record is sent */
	THREAD_SUMS = 16,      /* the scheduler's sums are noted, see repair.bpf.h */
	THREAD_NEW_IMAGE = 32, /* in an exec that succeeded: its user stack is not the caller's */
	THREAD_HANDED_OVER = 128, /* what it has open and pending was read at the end */
	THREAD_STARTING = 64,     /* before its first instruction: its user stack is empty */
};

enum ledger_kind { LEDGER_THREAD, LEDGER_EXIT, LEDGER_OBJECT };

/* One thread's account at head.time_ns: from the iterator, or its last one through the ring. */
struct ledger_record {
	struct wire_head head;
	__u64 id;
	__u64 process_start_ns; /* of the process: with pid, its identity */
	__u32 pid;
	__u32 tid;
	__u32 parent_pid;
	__u32 flags;
	__u32 cpu; /* where it runs or ran last */
	__u32 pad;
	char comm[WIRE_COMM_BYTES];
	struct ledger_account account;
	__u64 minor_faults, major_faults; /* since its account began, by the kernel's own count */
	struct ledger_key wait;           /* of the wait that is open, if one is */
	struct ledger_key cell;     /* waits that ended and are not in the map of waits yet … */
	struct ledger_sum cell_sum; /* … and their sum */
};
/* The account grows with the rows of states.def. */
_Static_assert(sizeof(struct ledger_record) == 24 + 16 + 56 + sizeof(struct ledger_account) + 112,
	       "wire format");

/* What the kernel half has described, so that it does not again. */
struct ledger_seen {
	__u64 object[2];
	__u64 kind; /* enum ledger_object */
};

/* The first sighting of a file, pipe or socket behind a wait. */
struct ledger_object_record {
	struct wire_head head;
	__u64 object[2];
	__u32 pid; /* the waiter, and … */
	__s32 fd;  /* … its descriptor */
	__u8 kind;
	__u8 family; /* of a socket */
	__u16 local_port;
	__u16 peer_port;
	__u16 pad;
	__u32 peer_pid; /* AF_UNIX: the process at the other end, 0 if unknown */
	__u32 pad2;
	union {
		struct {
			__u8 local[16]; /* address: the first 4 bytes for AF_INET */
			__u8 peer[16];
		};
		char name[32]; /* of an anonymous file: "[eventfd]" */
	};
};
_Static_assert(sizeof(struct ledger_object_record) == 96, "wire format");

/* One syscall on one CPU: written there only, read by mapping it. The count is Σ buckets. */
struct ledger_call {
	__u64 total_ns;
	__u64 run_ns; /* of that, on a CPU */
	__u64 max_ns;
	__u64 errors;
	__u32 buckets[HISTOGRAM_BUCKETS];
	__u32 pad;
};

/* One slot's intervals on one CPU; only those that began and ended inside the recording. */
struct ledger_histogram {
	__u32 buckets[HISTOGRAM_BUCKETS];
	__u32 pad;
};

struct ledger_cpu {
	__u64 idle_ns;
	__u64 hidden_ns; /* of threads that the kernel does not show */
	__u64 since_ns;  /* idle or hidden since then; 0: neither */
	__u64 switches;  /* 0: nothing is known of this CPU */
};

struct ledger_error_key {
	__u32 number;
	__u32 err;
};

/* Things that should not happen, counted where they do. */
enum ledger_quality {
	QUALITY_IMPOSSIBLE,        /* transitions that cannot be: the interval is unexplained */
	QUALITY_MISSED_WAKEUPS,    /* of these: a wait that ended without a wakeup */
	QUALITY_REPAIRED_WAKEUPS,  /* wakeups that were not shown to us, made up for */
	QUALITY_REPAIRED_SWITCHES, /* switches, likewise */
	QUALITY_NEGATIVE,          /* intervals of negative length, taken as 0 */
	QUALITY_TORN,              /* accounts that could not be read in one piece */
	QUALITY_DROPPED,           /* wakeups ignored on purpose, by the test switch */
	QUALITY_COUNT,
};
