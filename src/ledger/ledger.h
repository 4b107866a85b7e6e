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

/* A budget is given in parts of this; at least one call in 2^LEDGER_MOST_SHIFT is timed. */
#define LEDGER_WHOLE      65536
#define LEDGER_MOST_SHIFT 6

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
	__u32 pid;       /* the waiter's process: a futex address is valid only there */
	__u8 ended;      /* enum ledger_ended */
	__u8 turn;       /* enum ledger_turn */
	__u8 in_request; /* 1: the waiter had read a request and not answered it */
	__u8 pad[5];
};
_Static_assert(sizeof(struct ledger_key) == 56, "wire format");

/* A thread by its number in its own pid namespace, as found in user memory. */
struct tid_key {
	__u32 pid; /* the kernel's tgid */
	__u32 ns_tid;
};

/* Counters of releases; locks with the same hash share one. See kernel/holder.bpf.h. */
#define RELEASE_BITS 12

/* A condition of glibc uses two futexes beside each other by turns. They count as one lock. */
#define LOCK_OF(address) ((address) & ~7ULL)

/* `pid`: the process whose address space `lock` is in; 0 for a kernel lock. */
static inline __u32 release_index(__u64 lock, __u32 pid)
{
	return (LOCK_OF(lock) ^ (__u64)pid << 32) * 0x9e3779b97f4a7c15ULL >> (64 - RELEASE_BITS);
}

struct ledger_sum {
	__u64 ns;
	__u64 count;
};

/*
 * Bit of ledger_occupant_key.by: the thread has no account; the other bits are its start time in
 * units of 2^20 ns, and in the lower half the kernel's number for it.
 */
#define OCCUPANT_UNACCOUNTED (1ULL << 63)

/* Who ran on the CPU that a thread was queued for. */
struct ledger_occupant_key {
	__u64 thread; /* the id of the thread that was queued */
	__u64 by;     /* the id of the one that ran; 0: none, the CPU was idle */
};
_Static_assert(sizeof(struct ledger_occupant_key) == 16, "wire format");

struct ledger_occupant {
	__u64 ns;
	/* If the one that ran has no account: */
	__u32 pid;
	__u32 tid;
	char comm[WIRE_COMM_BYTES];
	char process[WIRE_COMM_BYTES]; /* name of its process */
};
_Static_assert(sizeof(struct ledger_occupant) == 48, "wire format");

/* Invariant 1: Σ ns + (now − since_ns, in the open slot) = now − first_ns, at every now. */
struct ledger_account {
	__u32 sequence; /* odd during a write */
	__u32 slot;     /* the open slot */
	__u64 since_ns;
	__u64 first_ns;
	__u64 unexplained_ns;
	__u64 ns[SLOT_COUNT];
	__u32 count[SLOT_COUNT]; /* intervals that began, or that the thread was found in */
	/* If not every call is timed, see kernel/budget.bpf.h: */
	__u32 shift;  /* one call in 2^shift is timed now */
	__u64 spread; /* of the time in user space and of that in the kernel */
};
_Static_assert(sizeof(struct ledger_account) == 40 + 12 * SLOT_COUNT + 4, "no padding");

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
	THREAD_OUTSIDE = IDENTITY_OUTSIDE, /* not wanted: see outside.bpf.h */
};

/* At most this many outside threads get an account. */
#define OUTSIDE_MOST 256

enum ledger_outside {
	OUTSIDE_ACCOUNTS, /* accounts opened */
	OUTSIDE_PENDING, /* to be opened by the next seeding; at the end, those that ended before */
	OUTSIDE_TOO_MANY, /* refused, because OUTSIDE_MOST was reached */
	OUTSIDE_COUNTS,
};

enum ledger_kind { LEDGER_THREAD, LEDGER_EXIT, LEDGER_OBJECT, LEDGER_PATH, LEDGER_CGROUP };

/* One thread's account at head.time_ns. Comes from the iterator; the last one from the ring. */
struct ledger_record {
	struct wire_head head;
	__u64 id;
	__u64 process_start_ns; /* identifies the process together with pid */
	__u32 pid;
	__u32 tid;
	__u32 parent_pid;
	__u32 flags;
	__u32 cpu;         /* the CPU that it runs on or ran on last */
	__u32 cell_number; /* of `cell`: a thread's next one has another number */
	__u64 cgroup_id;   /* 0: not asked for */
	char comm[WIRE_COMM_BYTES];
	struct ledger_account account;
	__u64 minor_faults, major_faults; /* since its account began, by the kernel's own count */
	struct ledger_key wait;           /* the open wait, if there is one */
	struct ledger_key cell;     /* key of finished waits that are not in the map of waits yet */
	struct ledger_sum cell_sum; /* sum of the waits in `cell` */
};
/* The account grows with the rows of states.def. */
_Static_assert(sizeof(struct ledger_record) == 24 + 16 + 64 + sizeof(struct ledger_account) + 128,
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
	__s32 fd;  /* descriptor of the object in the waiter's process; -1: it has none */
	__u8 kind;
	__u8 family; /* of a socket */
	__u16 local_port;
	__u16 peer_port;
	__u16 pad;
	union {
		__u32 peer_pid; /* AF_UNIX: the process at the other end, 0 if unknown */
		__u64 inode;    /* OBJECT_KERNEL: of the file that the lock belongs to; 0: none */
	};
	union {
		struct {
			__u8 local[16]; /* address: the first 4 bytes for AF_INET */
			__u8 peer[16];
		};
		char name[64]; /* of a file, without its folder; of an anonymous file: "[eventfd]"
				*/
	};
};
_Static_assert(sizeof(struct ledger_object_record) == 128, "wire format");

#define LEDGER_PATH_BYTES 256

/* The path of one syscall, drawn at random. */
struct ledger_path_record {
	struct wire_head head;
	__u64 thread;
	__u64 weight; /* the number of calls that it stands for */
	__u32 number;
	__u16 error; /* an errno; 0: success */
	__u16 pad;
	char path[LEDGER_PATH_BYTES]; /* as the program passed it, maybe cut; ends with NUL */
};
_Static_assert(sizeof(struct ledger_path_record) == 304, "wire format");

#define LEDGER_CGROUP_BYTES 512

/* A cgroup was made or removed. */
struct ledger_cgroup_record {
	struct wire_head head;
	__u64 id;
	__u32 is_gone;
	__u32 pad;
	char path[LEDGER_CGROUP_BYTES]; /* below the mount point, maybe cut; ends with NUL */
};
_Static_assert(sizeof(struct ledger_cgroup_record) == 552, "wire format");

/* Object of a wait for a socket, if waits are summed by class: see kernel/classes.bpf.h. */
#define LEDGER_SOCKET_CLASS(family, port, is_datagram)                                             \
	((__u64)(family) | (__u64)(port) << 16 | (__u64)(is_datagram) << 32)
#define LEDGER_CLASS_FAMILY(object)   ((__u16)(object))
#define LEDGER_CLASS_PORT(object)     ((__u16)((object) >> 16))
#define LEDGER_CLASS_DATAGRAM(object) ((object) >> 32 & 1)

/*
 * Each syscall has two rates of its own, for calls that succeed and for calls that fail: a call
 * that is made often must not hide others.
 */
#define LEDGER_PATH_STREAMS (2 * LEDGER_SYSCALLS)
struct ledger_path_stream {
	__u64 drawn; /* so far */
	__u64 limit;
	__u32 shift; /* one call in 2^shift is drawn */
	__u32 pad;
};
/* After this many paths since user space last adjusted the rate, the kernel half halves it. */
#define LEDGER_PATH_FUSE 64

/*
 * The variance of an estimate, in units of SPREAD_NS²: one call of `ns` stands for `weight` calls
 * of that kind, each of which was drawn with the chance 1/weight.
 */
#define SPREAD_NS 64
static inline __u64 spread_of(__u64 weight, __u64 ns)
{
	__u64 units = (ns + SPREAD_NS - 1) / SPREAD_NS;

	return weight * (weight - 1) * units * units;
}

/* One syscall on one CPU. Only that CPU writes it; user space maps it. */
struct ledger_call {
	__u64 count;
	__u64 untimed; /* part of count, without a time */
	__u64 spread;  /* of total_ns */
	__u64 total_ns;
	__u64 run_ns; /* part of total_ns that was spent on a CPU */
	__u64 max_ns;
	__u64 errors;
	__u32 buckets[HISTOGRAM_BUCKETS]; /* their sum is the count, or an estimate of it */
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

/* The calls of one thread with one number. */
struct ledger_thread_call {
	__u64 thread;
	__u64 number;
};

struct ledger_call_sum {
	__u64 total_ns;
	__u64 run_ns; /* part of total_ns that was spent on a CPU */
	__u32 count;
	__u32 errors;
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
	QUALITY_TURNS_UNKNOWN,     /* sockets or requests without room in a map (turns.bpf.h) */
	QUALITY_UNLISTED,          /* ready intervals without room in the list of their CPU */
	QUALITY_CALLS_DROPPED,     /* calls in here.bpf.h that found no thread to be added to */
	QUALITY_OCCUPANTS_LOST_NS, /* time of CPUs without room in the map of occupants */
	QUALITY_COUNT,
};
