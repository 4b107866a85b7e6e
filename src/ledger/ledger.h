/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of a thread, as the kernel half writes it and the user half reads it. Shared by
 * ledger.bpf.c and the rest of this folder.
 */
#pragma once

#include "bpf/identity.h"
#include "bpf/slow_call.h"
#include "bpf/wire.h"
#include "vocabulary/histogram.h"
#include "vocabulary/slots.h"

#define LEDGER_SYSCALLS   CALL_NUMBERS
#define LEDGER_32BIT_CALL CALL_32BIT

/* Bit of ledger_key.first: the thread has no account, and the other bits are its tid. */
#define FIRST_UNACCOUNTED (1ULL << 63)

/*
 * After this many draws, or stacks taken at switch-out, since user space last adjusted their rate,
 * the kernel half halves the rate by itself.
 */
#define LEDGER_FUSE 4000

/* What ended a wait. */
enum ledger_by {
	BY_NOBODY,
	BY_THREAD,      /* `by` is its id */
	BY_UNACCOUNTED, /* a thread without an account: `by` is its tid */
	BY_INTERRUPT,
	BY_TIMEOUT, /* the wait timed out */
};

/* What a wait was for, and who ended it. */
struct ledger_key {
	__u64 thread; /* the waiter's id */
	__u64 object[2];
	__u64 by;
	__u64 first; /* EVIDENCE_HANDED: the thread that held the lock when the wait began */
	__u8 slot;
	__u8 object_kind;
	__u8 by_kind;
	__u8 evidence;
	__u32 pid; /* the waiter's process: a futex address is valid only there */
};
_Static_assert(sizeof(struct ledger_key) == 48, "wire format");

struct ledger_sum {
	__u64 ns;
	__u64 count;
};

/* Invariant 1: Σ ns + (now − since_ns, in the open slot) = now − first_ns, at every now. */
struct ledger_account {
	__u32 sequence; /* odd during a write */
	__u32 slot;     /* the open slot */
	__u64 since_ns;
	__u64 first_ns;
	__u64 unexplained_ns;
	__u64 ns[SLOT_COUNT];
	__u32 count[SLOT_COUNT]; /* intervals that began, or that the thread was found in */
};

/* The first part of the kernel half's struct thread. User space does not see the rest. */
struct ledger_thread {
	struct identity identity;
	struct ledger_account account;
};

enum ledger_thread_flags {
	THREAD_FOLLOW = 1, /* threads and processes that it starts are accounted too */
	THREAD_KERNEL = 2,
	THREAD_EXITING = 4,       /* past sched_process_exit */
	THREAD_ENDED = 8,         /* past its last switch */
	THREAD_SUMS = 16,         /* the scheduler's sums are noted, see repair.bpf.h */
	THREAD_NEW_IMAGE = 32,    /* between a successful exec and its return: new user stack */
	THREAD_HANDED_OVER = 128, /* the last iterator has read its open interval and samples */
	THREAD_STARTING = 64,     /* before its first instruction: its user stack is empty */
};

enum ledger_kind { LEDGER_THREAD, LEDGER_EXIT, LEDGER_OBJECT };

/* One thread's account at head.time_ns. Comes from the iterator; the last one from the ring. */
struct ledger_record {
	struct wire_head head;
	__u64 id;
	__u64 process_start_ns; /* identifies the process together with pid */
	__u32 pid;
	__u32 tid;
	__u32 parent_pid;
	__u32 flags;
	__u32 cpu; /* the CPU that it runs on or ran on last */
	__u32 pad;
	char comm[WIRE_COMM_BYTES];
	struct ledger_account account;
	__u64 minor_faults, major_faults; /* since its account began, by the kernel's own count */
	struct ledger_key wait;           /* the open wait, if there is one */
	struct ledger_key cell;     /* key of finished waits that are not in the map of waits yet */
	struct ledger_sum cell_sum; /* sum of the waits in `cell` */
};
/* The account grows with the rows of states.def. */
_Static_assert(sizeof(struct ledger_record) == 24 + 16 + 56 + sizeof(struct ledger_account) + 112,
	       "wire format");

/* Key of the objects that the kernel half has already described. */
struct ledger_seen {
	__u64 object[2];
	__u64 kind; /* enum ledger_object */
};

/* Describes a file, pipe or socket behind a wait. Sent when it is first seen. */
struct ledger_object_record {
	struct wire_head head;
	__u64 object[2];
	__u32 pid; /* the waiter */
	__s32 fd;  /* descriptor of the object in the waiter's process */
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

/* One syscall on one CPU. Only that CPU writes it; user space maps it. The count is Σ buckets. */
struct ledger_call {
	__u64 total_ns;
	__u64 run_ns; /* part of total_ns that was spent on a CPU */
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
	__u64 hidden_ns; /* running time of threads that the kernel hides from BPF programs */
	__u64 since_ns;  /* start of the current idle or hidden interval; 0: none */
	__u64 hidden;    /* whether that interval is hidden */
	__u64 switches;  /* 0: nothing is known of this CPU */
};

struct ledger_error_key {
	__u32 number;
	__u32 err;
};

/* Things that should not happen, counted where they do. */
enum ledger_quality {
	QUALITY_IMPOSSIBLE,        /* impossible transitions: the interval is unexplained */
	QUALITY_MISSED_WAKEUPS,    /* part of IMPOSSIBLE: waits that ended without a wakeup */
	QUALITY_REPAIRED_WAKEUPS,  /* missed wakeups, reconstructed (repair.bpf.h) */
	QUALITY_REPAIRED_SWITCHES, /* missed switches, reconstructed */
	QUALITY_NEGATIVE,          /* intervals of negative length, taken as 0 */
	QUALITY_TORN,              /* accounts that could not be read in one piece */
	QUALITY_DROPPED,           /* wakeups ignored on purpose, by the test switch */
	QUALITY_COUNT,
};
