/*
 * Stacks on their way from the kernel half to the user half.
 *
 * A stack goes by a 64-bit hash of our own. Its frames are sent once, at the first sighting;
 * samples then carry the hash. (The kernel's STACK_TRACE maps would keep the frames for us, but
 * lose or swap stacks without a word when they fill up.)
 */
#pragma once

#include "bpf/wire.h"

/*
 * A user frame in a file that we know: bit 63, the module's id (23 bits), the address as the ELF
 * file has it (40 bits). Others are plain addresses: below 2^56 in user space, with the upper half
 * set in the kernel. A return address is sent as the byte before it, which belongs to the call.
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

#define STACK_MOST_FRAMES 1024 /* of user space */
#define STACK_MOST_KERNEL 127

/* How a user stack was walked: bits, for its frames can differ. */
enum stack_how {
	STACK_BY_ROWS = 1,   /* by the rows made of .eh_frame */
	STACK_BY_FRAMES = 2, /* by frame pointers */
};

/* Why a user stack ends where it ends. The first is the only good one. */
enum stack_end {
	STACK_END_ROOT,        /* the thread's start, recognised */
	STACK_END_TOO_DEEP,    /* more than STACK_MOST_FRAMES */
	STACK_END_NO_MEMORY,   /* the stack's memory could not be read */
	STACK_END_NO_RULE,     /* a rule that is too hard for us (a row says so) */
	STACK_END_NO_FRAME,    /* no row, and no frame pointer that makes sense */
	STACK_END_NO_PROGRESS, /* the next frame is not above this one */
	STACK_END_NOWHERE,     /* a return address that is in no known code */
	STACK_END_NOT_READY,   /* its process's or a file's tables were not there yet */
	STACK_END_COUNT,
};

/* Why a sample has no user stack. */
enum stack_none {
	STACK_TAKEN,        /* it has one */
	STACK_NONE_KERNEL,  /* a kernel thread: there is none */
	STACK_NONE_EXEC,    /* the program was replaced meanwhile */
	STACK_NONE_START,   /* a new thread: it did nothing yet */
	STACK_NONE_EXIT,    /* the thread ended */
	STACK_NONE_32BIT,   /* a 32-bit program */
	STACK_NONE_CROWDED, /* too many different waits before the next chance to take one */
	STACK_NONE_LOST,    /* no room to send it */
	STACK_NONE_ASLEEP,  /* still blocked at the end, and not unwound in time */
	STACK_NONE_BEFORE,  /* it left the CPU before we looked */
	STACK_NONE_LATE,    /* it went on before the stack could be taken */
	STACK_NONE_COUNT,
};

enum stack_record_kind { STACK_FRAMES, STACK_SAMPLE, STACK_ASLEEP };

/* The first sighting of a stack; `count` frames of 8 bytes follow, innermost first. */
struct stack_record {
	struct wire_head head;
	__u64 hash;
	__u32 pid; /* of the process, in gapless's namespace: plain addresses mean something only
		      there */
	__u16 count;
	__u8 how; /* enum stack_how; 0 for a kernel stack */
	__u8 end; /* enum stack_end */
};
_Static_assert(sizeof(struct stack_record) == 40, "wire format");

enum sample_flags {                  /* 1 is in old recordings, see enum recording_sample_flags */
		    SAMPLE_TICK = 2, /* a clock tick; else a drawn interval */
		    SAMPLE_KERNEL =
			    4, /* a tick that hit the kernel, whether its stack arrived or not */
};

#define SAMPLE_NO_CPU (-1)

/*
 * One sample: a stack with a weight. Intervals of waiting and of ready time are drawn with
 * p = min(1, wait/period) and weigh max(wait, period); those that began outside of calls can weigh
 * more, and are their own period (samples.bpf.h). A tick weighs the period of its clock, or several
 * if it came late.
 */
struct sample_record {
	struct wire_head head; /* time_ns: of a tick, now; of a wait, its end */
	__u64 thread;          /* id */
	__u64 user, kernel;    /* hashes, 0: none */
	__u64 waker;           /* the waker's stack, 0: none */
	__u64 by;              /* who ended the wait, as in ledger_key … */
	__u64 first;           /* … and who held the lock first */
	__u64 weight_ns;
	__u64 wait_ns;    /* the true length of what was drawn; 0 for a tick */
	__u64 period_ns;  /* in force when it was drawn; of a tick, the mean */
	__u32 pid;        /* in gapless's namespace */
	__u16 count;      /* drawn intervals in this one */
	__u8 slot;        /* enum ledger_slot */
	__u8 flags;       /* enum sample_flags */
	__u8 none;        /* enum stack_none */
	__u8 by_kind;     /* … and enum ledger_by */
	__u8 object_kind; /* what the wait was for, as in ledger_key */
	__u8 evidence;
	__u32 tid;
	__u64 object[2];
	__u32 key_pid; /* as in ledger_key */
	__s32 cpu;     /* that the thread was on when its stack was taken; SAMPLE_NO_CPU: on none */
};
_Static_assert(sizeof(struct sample_record) == 24 + 72 + 16 + 16 + 8, "wire format");

/* A thread that is still waiting at the end: user space walks its stack from here. */
struct asleep_record {
	struct sample_record sample;
	__u64 pc, sp, bp;
	__u64 link;    /* the link register, if the machine has one */
	__u64 in_call; /* pc is behind the instruction */
};
_Static_assert(sizeof(struct asleep_record) == 176, "wire format");

/* The clock of one CPU, from user space to the kernel half. */
struct tick_clock {
	__u64 since_ns; /* it began to tick with this period, the first time a period later */
	__u64 period_ns;
	__u64 weight_ns; /* of a tick */
};
_Static_assert(sizeof(struct tick_clock) == 24, "shared by both halves");
