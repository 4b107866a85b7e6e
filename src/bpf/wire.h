/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel half sends to the user half: fixed-size records that all begin with a struct
 * wire_head. In the kernel, pid is a thread and tgid is a process. In every record, as for users,
 * pid is the process and tid is the thread.
 */
#pragma once

#include <linux/types.h>

#define WIRE_COMM_BYTES 16

struct wire_head {
	__u32 size;    /* of the whole record; the reader compares it with its own */
	__u16 kind;    /* the type of the record within this signal */
	__u16 version; /* of this record's layout */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 cpu;
	__u32 pad;
};
_Static_assert(sizeof(struct wire_head) == 24, "wire format");

/* Why data was lost: indexes into the per-object counters `lost`. */
enum lost {
	LOST_RING_FULL,
	LOST_NO_STORAGE, /* no memory for a thread's account, or for what a signal tracks */
	LOST_MAP_FULL,   /* a name was counted under "other"; its time is kept */
	LOST_COUNT,
};
