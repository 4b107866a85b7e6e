/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of states, kinds, syscall classes, objects and evidence, for kernel and user half. */
#pragma once

#include "vocabulary/kinds.def"
#include "vocabulary/states.def"

#define SLOT_OF(slot, ...) SLOT_##slot,

/*
 * The states of a thread, one per row of states.def. A thread is in exactly one. A list's END is
 * the number after its last state; the same number is the first of the next list.
 */
enum ledger_slot {
	SLOT_NONE, /* the account is not open yet */
	STATES_RUN(SLOT_OF) SLOT_RUN_END,
	SLOT_RUN_LAST = SLOT_RUN_END - 1,
	STATES_READY(SLOT_OF) SLOT_READY_END,
	SLOT_READY_LAST = SLOT_READY_END - 1,
	STATES_WAIT(SLOT_OF) SLOT_WAIT_END,
	SLOT_WAIT_LAST = SLOT_WAIT_END - 1,
	STATES_UNSEEN(SLOT_OF) SLOT_COUNT,
	SLOT_SEEDING, /* the account is being opened; used only inside the kernel half */
};

#define SLOT_FIRST      (SLOT_NONE + 1)
#define SLOT_WAIT_FIRST SLOT_READY_END

#define SLOT_IS_RUN(slot)   ((slot) >= SLOT_FIRST && (slot) < SLOT_RUN_END)
#define SLOT_IS_READY(slot) ((slot) >= SLOT_RUN_END && (slot) < SLOT_READY_END)
#define SLOT_IS_WAIT(slot)  ((slot) >= SLOT_WAIT_FIRST && (slot) < SLOT_WAIT_END)

#define KIND_OF(kind, ...) KIND_##kind,

/* Kinds of states, one per row of kinds.def. */
enum kind { KINDS(KIND_OF) KIND_COUNT };

/* What a blocking syscall waits for. calls__classes() maps the numbers of this architecture. */
enum ledger_class {
	CLASS_OTHER,
	CLASS_FUTEX,
	CLASS_FUTEX2,  /* futex_wait and similar calls, which have no operation argument */
	CLASS_LOCK,    /* System V semaphores, futex_waitv */
	CLASS_LOCK_FD, /* file locks */
	CLASS_SLEEP,
	CLASS_POLL,
	CLASS_CHILD,
	CLASS_NET,
	CLASS_ACCEPT,
	CLASS_FD,   /* depends on the kind of file behind the first argument */
	CLASS_COPY, /* from one descriptor to another */
	CLASS_DISK, /* calls with a path, and calls like sync */
	CLASS_QUEUE,
	CLASS_URING,
};

/*
 * What a call does to a socket, or which sockets it waits for. calls__talks() maps the numbers of
 * this architecture.
 */
enum ledger_talk {
	TALK_NONE,
	TALK_SEND,
	TALK_SENDTO,  /* with an address in the fifth argument */
	TALK_SENDMSG, /* with an address in the message */
	TALK_SPLICE,  /* receives from the first argument, sends to the third */
	TALK_RECEIVE,
	TALK_CONNECT,
	TALK_ACCEPT,
	TALK_PAIR,
	TALK_POLL, /* this and the next two wait for several descriptors */
	TALK_SELECT,
	TALK_EPOLL,
	TALK_CLOSE,
};

/* Where a call that sends or receives has its bytes: in the second argument. */
enum ledger_bytes {
	BYTES_NONE, /* several messages, or none that are in memory of the program */
	BYTES_AT,
	BYTES_IN_VECTOR,  /* an array of struct iovec */
	BYTES_IN_MESSAGE, /* a struct msghdr */
};

enum ledger_object {
	OBJECT_NONE,
	OBJECT_FUTEX,     /* [0] address */
	OBJECT_FILE,      /* [0] inode, [1] its generation << 32 | device */
	OBJECT_SOCKET,    /* [0] inode, [1] not connected: hash of the address sent to */
	OBJECT_PIPE,      /* [0] inode */
	OBJECT_CHILD,     /* [0] the pid asked for, 0 for any */
	OBJECT_KERNEL,    /* [0] address of a kernel lock, [1] KERNEL_LOCK_… */
	OBJECT_SYSCALL,   /* [0] its number */
	OBJECT_MEMORY,    /* free memory: a cgroup limit, or reclaim */
	OBJECT_ANONYMOUS, /* [0] address of f_op, [1] the kernel's tgid << 32 | descriptor */
	OBJECT_MONITOR,   /* of Java: [0] address, [1] address of its object's class; 0: unknown */
	OBJECT_JAVA_LOCK, /* an object of java.util.concurrent: [0] address, [1] of its class */
	OBJECT_OTHER,     /* too many objects, or the sum of the wait was lost */
	OBJECT_KINDS,
};

/* Objects at an address of the waiter's process. */
#define OBJECT_IS_OF_JAVA(kind)    ((kind) == OBJECT_MONITOR || (kind) == OBJECT_JAVA_LOCK)
#define OBJECT_IS_OF_PROCESS(kind) ((kind) == OBJECT_FUTEX || OBJECT_IS_OF_JAVA(kind))

/* What a kernel lock is, in the lower half of object[1]. */
enum ledger_kernel_lock {
	KERNEL_LOCK_UNKNOWN,
	KERNEL_LOCK_MMAP,  /* of the process in the upper half: its pid here */
	KERNEL_LOCK_INODE, /* the i_rwsem of a file */
};

enum ledger_evidence {
	EVIDENCE_NONE,
	EVIDENCE_WAKER,
	EVIDENCE_OWNER,  /* `by` held the lock during the whole wait */
	EVIDENCE_HANDED, /* `first` held the lock first, `by` last (if known) */
	EVIDENCE_TIMEOUT,
	EVIDENCE_OCCUPANT, /* `by` had the CPU that a ready thread was queued for */
};

/* How a wait ended. */
enum ledger_ended {
	ENDED_UNKNOWN,
	ENDED_EVENT, /* what it waited for happened */
	ENDED_TIMEOUT,
	ENDED_SIGNAL,
	ENDED_OPEN, /* it had not ended at the end of the recording */
};

/* Whose turn it is on the connection that a thread waits for. */
enum ledger_turn {
	TURN_NONE,
	TURN_ASKED,      /* the thread has sent something and not received an answer */
	TURN_ANSWERED,   /* the last that happened was an answer */
	TURN_CONNECTING, /* the connection is not established yet */
	TURN_UNSENT,     /* like TURN_ASKED, but a part is still in the send queue (Nagle) */
};
