/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire format of stacks.
 *
 * A stack is identified by a 64-bit hash of our own. The frames are sent once, when the stack is
 * first seen; samples then carry only the hash. Rejected: the kernel's STACK_TRACE maps, which
 * would store the frames for us, but silently drop or replace stacks when they fill up.
 */
#pragma once

#include "bpf/wire.h"

/*
 * A user frame in a known file: bit 63 set, bit 62 clear, the module's id (22 bits), the address in
 * the ELF file (40 bits). Other frames are plain addresses: below 2^56 in user space, with the
 * upper bits set in the kernel. Instead of a return address, the byte before it is sent, which
 * belongs to the call instruction.
 */
#define FRAME_IN_MODULE    (1ULL << 63)
#define FRAME_ADDRESS_BITS 40
#define FRAME_ADDRESS_MASK ((1ULL << FRAME_ADDRESS_BITS) - 1)
#define FRAME_MOST_MODULES ((1U << 22) - 1) /* bit 62 stays 0: kernel addresses have it set */
#define FRAME_IS_KERNEL(f) (((f) >> 62) == 3)
#define FRAME_IS_MODULE(f) (((f) >> 62) == 2)
#define FRAME_MODULE(f)    ((__u32)((f) >> FRAME_ADDRESS_BITS) & FRAME_MOST_MODULES)
#define FRAME_ADDRESS(f)   ((f) & FRAME_ADDRESS_MASK)
#define FRAME_MAKE(module, address)                                                                \
	(FRAME_IN_MODULE | (__u64)(module) << FRAME_ADDRESS_BITS | ((address) & FRAME_ADDRESS_MASK))

/*
 * A frame of a language runtime is two words. The first one has bit 62 set and bit 63 clear, the
 * runtime (4 bits) and the address of the function's object in its process (48 bits). The second
 * one has the position in the function and a cookie, which tells whether the address has been
 * reused for another function since: both as the runtime's part of the walk defines them.
 */
#define FRAME_OF_RUNTIME    (1ULL << 62)
#define FRAME_IS_RUNTIME(f) (((f) >> 62) == 1)
#define FRAME_RUNTIME(f)    ((__u32)((f) >> 56) & 15)
#define FRAME_OBJECT_MASK   ((1ULL << 48) - 1)
#define FRAME_OBJECT(f)     ((f) & FRAME_OBJECT_MASK)
#define FRAME_COOKIE_BITS   30
#define FRAME_COOKIE_MASK   ((1U << FRAME_COOKIE_BITS) - 1)
#define FRAME_MAKE_RUNTIME(kind, object)                                                           \
	(FRAME_OF_RUNTIME | (__u64)(kind) << 56 | ((object) & FRAME_OBJECT_MASK))
#define FRAME_MAKE_POSITION(position, cookie)                                                      \
	((__u64)((cookie) & FRAME_COOKIE_MASK) << 32 | (__u32)(position))
#define FRAME_POSITION(second) ((__u32)(second))
#define FRAME_COOKIE(second)   ((__u32)((second) >> 32) & FRAME_COOKIE_MASK)

#define STACK_MOST_FRAMES 1024 /* in user space */
#define STACK_MOST_WORDS  2048 /* of 8 bytes; a frame of a runtime has two */
#define STACK_MOST_KERNEL 127

/* How a user stack was walked: bits, because the frames of one stack can differ. */
enum stack_how {
	STACK_BY_ROWS = 1,   /* by the rows made of .eh_frame */
	STACK_BY_FRAMES = 2, /* by frame pointers */
	STACK_BY_RUNTIME =
		4, /* what the runtime knows; without a flag of its own in old recordings */
};

/* Why a user stack ends. Only STACK_END_ROOT is a complete stack. */
enum stack_end {
	STACK_END_ROOT,        /* the start of the thread was recognised */
	STACK_END_TOO_DEEP,    /* more than STACK_MOST_FRAMES */
	STACK_END_NO_MEMORY,   /* the memory of the stack could not be read */
	STACK_END_NO_RULE,     /* the row says that the CFI rule is not supported */
	STACK_END_NO_FRAME,    /* no row, and no plausible frame pointer */
	STACK_END_NO_PROGRESS, /* the next frame is not above this one */
	STACK_END_NOWHERE,     /* the return address is not in known code */
	STACK_END_NOT_READY,   /* the tables of the process or of a file were not there yet */
	STACK_END_COUNT,
};

/* Why a sample has no user stack. */
enum stack_none {
	STACK_TAKEN,        /* the sample has a user stack */
	STACK_NONE_KERNEL,  /* a kernel thread */
	STACK_NONE_EXEC,    /* exec replaced the program meanwhile */
	STACK_NONE_START,   /* a new thread that has not run in user space yet */
	STACK_NONE_EXIT,    /* the thread ended */
	STACK_NONE_32BIT,   /* a 32-bit program */
	STACK_NONE_CROWDED, /* too many different waits before the next chance to take a stack */
	STACK_NONE_LOST,    /* no room to send it */
	STACK_NONE_ASLEEP,  /* still blocked at the end, and could not be unwound in time */
	STACK_NONE_BEFORE,  /* the thread left the CPU before the recording began */
	STACK_NONE_LATE,    /* the thread continued before the stack could be taken */
	STACK_NONE_COUNT,
};

enum stack_record_kind { STACK_FRAMES, STACK_SAMPLE, STACK_ASLEEP, STACK_FATAL, STACK_DRAWN };

/* Sent when a stack is first seen. `count` words of 8 bytes follow, innermost frame first. */
struct stack_record {
	struct wire_head head;
	__u64 hash;
	__u32 pid; /* in gapless's namespace; plain addresses are valid only in this process */
	__u16 count;
	__u8 how; /* enum stack_how; 0 for a kernel stack */
	__u8 end; /* enum stack_end */
};
_Static_assert(sizeof(struct stack_record) == 40, "wire format");

/* The value 1 was used in old recordings, see enum recording_sample_flags. */
enum sample_flags {
	SAMPLE_TICK = 2,   /* a clock tick; not set: a drawn interval */
	SAMPLE_KERNEL = 4, /* a tick in kernel mode, with or without a kernel stack */
};

#define SAMPLE_NO_CPU (-1)

/* What a thread runs, where the runtime has threads of its own (goroutines): its number, or … */
#define FIBER_UNKNOWN 0
#define FIBER_NONE    (~0ULL) /* the thread runs none now: it is the scheduler */

/*
 * One sample: a stack with a weight. An interval of waiting or ready time is drawn with p = min(1,
 * wait/period) and weighs max(wait, period). An interval that began outside of a syscall can weigh
 * more, and its period is its weight (samples.bpf.h). A tick weighs the period of its clock, or
 * several periods if it came late.
 */
struct sample_record {
	struct wire_head head; /* time_ns: of a tick, now; of a wait, its end */
	__u64 thread;          /* id */
	__u64 user, kernel;    /* hashes; 0: none */
	__u64 waker;           /* the waker's stack, 0: none */
	__u64 by;              /* the thread that ended the wait, as in ledger_key; see by_kind */
	__u64 first;           /* the thread that held the lock when the wait began */
	__u64 weight_ns;
	__u64 wait_ns;    /* the real length of the drawn interval; 0 for a tick */
	__u64 period_ns;  /* in force at the draw; for a tick, the mean period */
	__u32 pid;        /* in gapless's namespace */
	__u16 count;      /* drawn intervals in this sample */
	__u8 slot;        /* enum ledger_slot */
	__u8 flags;       /* enum sample_flags */
	__u8 none;        /* enum stack_none */
	__u8 by_kind;     /* enum ledger_by: the kind of `by` */
	__u8 object_kind; /* the object of the wait, as in ledger_key */
	__u8 evidence;
	__u32 tid;
	__u64 object[2];
	__u32 key_pid; /* as in ledger_key */
	__s32 cpu;     /* where the thread was when its stack was taken; SAMPLE_NO_CPU: on none */
	__u8 ended, turn, in_request; /* as in ledger_key */
	__u8 pad[5];
	__u64 fiber;  /* of the user stack */
	__u64 window; /* serial of the request or call that the thread worked for; 0: none */
};
_Static_assert(sizeof(struct sample_record) == 24 + 72 + 16 + 16 + 8 + 8 + 8 + 8, "wire format");

/* A thread that is still waiting at the end. User space walks its stack from these registers. */
struct asleep_record {
	struct sample_record sample;
	__u64 pc, sp, bp;
	__u64 link;    /* the link register, if the machine has one */
	__u64 in_call; /* in a syscall: pc is after the syscall instruction */
	__u64 thread_pointer;
};
_Static_assert(sizeof(struct asleep_record) == 208, "wire format");

/* A signal kills a process. Sent by the thread that takes it. */
struct fatal_record {
	struct wire_head head;
	__u64 thread;  /* id */
	__u64 user;    /* hash of its stack; 0: none */
	__u64 address; /* si_addr; 0: none */
	__s32 signal;
	__s32 code; /* si_code */
};
_Static_assert(sizeof(struct fatal_record) == 24 + 32, "wire format");

/* The stack of an event of a signal, which stands for `count` of them. See bpf/drawn.bpf.h. */
struct drawn_record {
	struct wire_head head;
	__u64 thread; /* id */
	__u64 user;   /* hash of its stack; 0: none */
	__u64 count;
	__u64 bytes;     /* of all of them */
	__u32 signal;    /* enum signal_number */
	__u32 operation; /* numbered by the signal */
};
_Static_assert(sizeof(struct drawn_record) == 24 + 40, "wire format");

/* The clock of one CPU, from user space to the kernel half. */
struct tick_clock {
	__u64 since_ns; /* start of this period; the first tick is one period later */
	__u64 period_ns;
	__u64 weight_ns; /* of a tick */
};
_Static_assert(sizeof(struct tick_clock) == 24, "shared by both halves");
