/*
 * What travels from the kernel half to the user half: fixed-size records that all begin with a
 * struct wire_head. The kernel says pid for a thread and tgid for a process; in every record, pid
 * is the process and tid the thread, as users say it.
 */
#pragma once

#include <linux/types.h>

#define WIRE_COMM_BYTES 16

struct wire_head {
	__u32 size;    /* of the whole record; the reader checks it against its own */
	__u16 kind;    /* which record of this signal */
	__u16 version; /* of this record's layout */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 cpu;
	__u32 pad;
};
_Static_assert(sizeof(struct wire_head) == 24, "wire format");

/* Why something was lost: indexes of the per-object counters in `lost`. */
enum lost {
	LOST_RING_FULL,
	LOST_NO_STORAGE, /* no room for a thread's account, or for what a signal follows */
	LOST_MAP_FULL,   /* a name went into "other"; its time is kept */
	LOST_COUNT,
};
