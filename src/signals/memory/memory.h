/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the signal memory. Sent by memory.bpf.h, decoded by memory.c. */
#pragma once

#include "bpf/drawn.h"
#include "bpf/path.h"
#include "bpf/wire.h"

/* What a page fault was in. Each kind has an operation for each access. */
enum memory_kind {
	MEMORY_UNKNOWN, /* there is no such mapping, or it could not be looked up */
	MEMORY_ANONYMOUS,
	MEMORY_FILE,
	MEMORY_SHARED, /* tmpfs and shared memory */
	MEMORY_HEAP,   /* what brk() gave */
	MEMORY_STACK,  /* of the main thread */
	MEMORY_KINDS,
};

enum memory_access { MEMORY_READ, MEMORY_WRITE, MEMORY_EXECUTE, MEMORY_ACCESSES };

enum memory_operation {
	MEMORY_FAULTS, /* + kind * MEMORY_ACCESSES + access */
	MEMORY_DIRECT_RECLAIM = MEMORY_KINDS * MEMORY_ACCESSES,
	MEMORY_CGROUP_RECLAIM,
	MEMORY_COMPACTION,
	MEMORY_OOM_KILL,
	MEMORY_SWAP_IN, /* a fault that is counted by its mapping, too */
	MEMORY_MMAP,    /* of anonymous memory */
	MEMORY_MUNMAP,  /* of any */
	MEMORY_BRK,
	MEMORY_BRK_BACK, /* the heap shrinks */
	MEMORY_OPERATIONS,
	/* The operations that have a begin and an end, from MEMORY_DIRECT_RECLAIM on. */
	MEMORY_TIMED = MEMORY_OOM_KILL - MEMORY_DIRECT_RECLAIM,
};

enum memory_record_kind { MEMORY_SLOW, MEMORY_VICTIM, MEMORY_NAME };

#define MEMORY_CGROUP_BYTES 128

/* A slow reclaim or compaction. */
struct memory_slow {
	struct wire_head head; /* time_ns: when it ended */
	__u64 thread;
	__u64 stack; /* hash of its user stack; 0: none */
	__u64 duration_ns;
	__u64 bytes;  /* that were reclaimed */
	__u32 cgroup; /* the low half of its id */
	__u16 operation;
	__u16 pad;
};
_Static_assert(sizeof(struct memory_slow) == 64, "wire format");

/* The kernel kills a process to get its memory. */
struct memory_victim {
	struct wire_head head;
	__u64 thread;                   /* the one whose allocation failed */
	__u32 cgroup;                   /* the victim's; before 6.10, that of `thread` */
	__u32 pid;                      /* the victim's, in the kernel's pid namespace */
	char comm[WIRE_COMM_BYTES];     /* the victim's; empty before 6.10 */
	char name[MEMORY_CGROUP_BYTES]; /* the last component of the cgroup's path */
};
_Static_assert(sizeof(struct memory_victim) == 184, "wire format");

/* The name of a mapped file. */
struct memory_name {
	struct wire_head head;
	__u64 object[2];
	struct path_names path;
};
_Static_assert(sizeof(struct memory_name) == 40 + 648, "wire format");

/* Set by user space. */
struct memory_calls {
	__u32 mmap, munmap, mremap, brk; /* numbers of the syscalls that give and take memory */
	__u32 times_faults;              /* the end of a fault is hooked */
};
