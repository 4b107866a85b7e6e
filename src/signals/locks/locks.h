/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One long wait for a lock. Sent by locks.bpf.h, decoded by locks.c. */
#pragma once

#include "bpf/wire.h"

enum locks_operation {
	LOCKS_FUTEX, /* a futex that is no lock of a kind below, as far as its memory tells */
	LOCKS_MUTEX,
	LOCKS_ROBUST,
	LOCKS_PI,
	LOCKS_MONITOR, /* of Java */
	LOCKS_JAVA,    /* of java.util.concurrent */
	LOCKS_WAITV,
	LOCKS_SEMOP,
	LOCKS_FLOCK,
	LOCKS_FCNTL,
	LOCKS_OFD,
	LOCKS_FILE, /* one of the three; the start of the wait was not seen */
	LOCKS_KERNEL_MUTEX,
	LOCKS_READ,
	LOCKS_WRITE,
	LOCKS_PERCPU,
	LOCKS_RT,
	LOCKS_KERNEL, /* another kernel lock, or the start of the wait was not seen */
	LOCKS_OPERATIONS,
};

/* Numbers of syscalls, set before the load. */
struct locks_numbers {
	__s32 flock;
	__s32 fcntl;
	__s32 futex_waitv;
};

/* The locks that have a number, and thus histograms of their own. */
#define LOCKS_NUMBERED 240

struct locks_record {
	struct wire_head head; /* head.time_ns: when the wait ended */
	__u64 thread;
	__u64 object[2];
	__u64 wait_ns;
	__u64 turn_ns;
	__u32 place;
	__u32 waiters;
	__u16 operation;
	__u8 is_handed;
	__u8 pad[5];
};
_Static_assert(sizeof(struct locks_record) == 80, "wire format");
