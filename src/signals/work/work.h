/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of the signal work. Sent by work.bpf.h, decoded by work.c. */
#pragma once

#include "bpf/wire.h"

enum work_operation {
	WORK_DONE,
	WORK_QUEUED_UNSEEN, /* queued before anything was counted: it has no delay */
	WORK_OPERATIONS,
};

/* A work item that was delayed or ran for long. head.time_ns: when it ended. */
struct work_record {
	struct wire_head head;
	__u64 thread; /* the one that ran it; 0: unknown to the ledger */
	__u64 function;
	__u64 time_ns;
	__u64 delay_ns;
	__u32 operation;
	__u32 tid;
	char comm[WIRE_COMM_BYTES];
};
_Static_assert(sizeof(struct work_record) == 24 + 40 + WIRE_COMM_BYTES, "wire format");
