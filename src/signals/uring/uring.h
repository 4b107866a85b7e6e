/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal uring: operations, knobs, and the records. */
#pragma once

#include "bpf/ends.h"
#include "bpf/path.h"
#include "bpf/wire.h"

/* Operations below are the kernel's opcodes (enum io_uring_op). */
#define URING_OPCODES 128

enum uring_operation {
	URING_WORKER = URING_OPCODES, /* CPU time of a submitter's worker threads (iou-wrk) */
	URING_POLLER,                 /* CPU time of the thread that submits for it (iou-sqp) */
	URING_OPERATIONS,
};

enum uring_measure {
	URING_TIME,
	URING_BYTES,
	URING_IN_FLIGHT,
	URING_ASYNC,
	URING_CPU,
	URING_MEASURES,
};

/* The only variable of the section .rodata.uring, set before the load. */
struct uring_knobs {
	__u64 transfers[URING_OPCODES / 64]; /* a bit for each opcode whose result is bytes */
	__u32 multishot;                     /* the flag REQ_F_APOLL_MULTISHOT */
	__u32 has_cqe; /* io_uring_complete has the completion, not its fields */
};

enum uring_kind { URING_NAME = 1, URING_SLOW };

/* The name of a file or socket, sent when it is first seen. */
struct uring_name_record {
	struct wire_head head;
	__u64 object[2];
	__u32 mode; /* of the inode */
	__u32 pad;
	struct socket_ends ends; /* of a socket */
	struct path_names path;  /* of a file that is not a socket */
};
_Static_assert(sizeof(struct uring_name_record) == 736, "wire format");

/* A slow operation. */
struct uring_slow_record {
	struct wire_head head; /* head.time_ns: when it was complete */
	__u64 thread;          /* the submitter */
	__u64 object[2];
	__u64 duration_ns;
	__u64 bytes;
	__u32 in_flight;
	__u32 place;
	__u16 operation;
	__u16 error;
	__u16 is_async;
	__u16 is_part; /* a completion that did not end its request */
};
_Static_assert(sizeof(struct uring_slow_record) == 80, "wire format");
