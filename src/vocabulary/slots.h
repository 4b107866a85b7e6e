/* The numbers of states, of classes of syscalls, of objects and of evidence. Both halves know them.
 */
#pragma once

/*
 * The states of a thread, one line per (state, cause, kind); words for them are in states.c. A
 * thread is in exactly one. The order matters to the range checks below.
 */
enum ledger_slot {
	SLOT_NONE, /* an account that is not open: new, or closed for good */
	SLOT_RUN_USER,
	SLOT_RUN_KERNEL,
	SLOT_RUN_ANY, /* at level sched; at level full: seeded while running, not resolved yet */
	SLOT_READY_WOKEN,
	SLOT_READY_PREEMPTED,
	SLOT_WAIT_LOCK,       /* no owner known */
	SLOT_WAIT_LOCK_OWNED, /* the owner is known */
	SLOT_WAIT_DISK,
	SLOT_WAIT_NET,
	SLOT_WAIT_ACCEPT, /* cause net, idle by choice */
	SLOT_WAIT_POLL,
	SLOT_WAIT_SLEEP,
	SLOT_WAIT_PIPE,
	SLOT_WAIT_CHILD,
	SLOT_WAIT_FAULT,
	SLOT_WAIT_KERNEL,
	SLOT_WAIT_URING,
	SLOT_WAIT_STOPPED,
	SLOT_WAIT_OTHER,
	SLOT_WAIT_KTHREAD, /* cause other: a kernel thread without work */
	SLOT_UNSEEN,
	SLOT_COUNT,
	SLOT_SEEDING, /* being opened; only ever seen inside the kernel half */
};

#define SLOT_IS_RUN(slot)   ((slot) >= SLOT_RUN_USER && (slot) <= SLOT_RUN_ANY)
#define SLOT_IS_READY(slot) ((slot) == SLOT_READY_WOKEN || (slot) == SLOT_READY_PREEMPTED)
#define SLOT_IS_WAIT(slot)  ((slot) >= SLOT_WAIT_LOCK && (slot) <= SLOT_WAIT_KTHREAD)

/* What a syscall that blocks waits for: filled in by states.c, by name, for this architecture. */
enum ledger_class {
	CLASS_OTHER,
	CLASS_FUTEX,
	CLASS_FUTEX2,  /* futex_wait and its like, which have no operation */
	CLASS_LOCK,    /* System V semaphores, a vector of futexes */
	CLASS_LOCK_FD, /* file locks */
	CLASS_SLEEP,
	CLASS_POLL,
	CLASS_CHILD,
	CLASS_NET,
	CLASS_ACCEPT,
	CLASS_FD,   /* by the kind of file behind the first argument */
	CLASS_COPY, /* from one descriptor to another */
	CLASS_DISK, /* by path, or everything */
	CLASS_QUEUE,
	CLASS_URING,
};

enum ledger_object {
	OBJECT_NONE,
	OBJECT_FUTEX,     /* [0] address */
	OBJECT_FILE,      /* [0] inode, [1] its generation << 32 | device */
	OBJECT_SOCKET,    /* [0] inode */
	OBJECT_PIPE,      /* [0] inode */
	OBJECT_CHILD,     /* [0] the pid asked for, 0 for any */
	OBJECT_KERNEL,    /* [0] address of a kernel lock, [1] 1: the mmap_lock of the process */
	OBJECT_SYSCALL,   /* [0] its number */
	OBJECT_MEMORY,    /* room for more pages: a limit, or reclaim */
	OBJECT_ANONYMOUS, /* [0] its operations, [1] the kernel's pid << 32 | descriptor */
	OBJECT_OTHER,     /* the map of objects was full */
	OBJECT_KINDS,
};

enum ledger_evidence {
	EVIDENCE_NONE,
	EVIDENCE_WAKER,
	EVIDENCE_OWNER,  /* `by` held the lock all the time */
	EVIDENCE_HANDED, /* `first` held it first, `by` last, if it is known who */
	EVIDENCE_TIMEOUT,
};
