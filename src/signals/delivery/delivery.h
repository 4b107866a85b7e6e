/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal delivery: operations, and the record. */
#pragma once

#include "bpf/ends.h"
#include "bpf/wire.h"

enum delivery_operation {
	DELIVERY_RECEIVE, /* from the arrival of a segment until the program has read it */
	DELIVERY_SEND,    /* from the end of a send until the peer has acknowledged it */
	DELIVERY_OPERATIONS,
};

enum delivery_measure { DELIVERY_TIME, DELIVERY_QUEUED, DELIVERY_MEASURES };

enum delivery_kind { DELIVERY_NAME = 1, DELIVERY_SLOW };

/* A DELIVERY_NAME uses only the cookie and the ends, a DELIVERY_SLOW all but the ends. */
struct delivery_record {
	struct wire_head head; /* head.time_ns: when it was read or acknowledged */
	__u64 cookie;          /* of the socket */
	__u64 thread;          /* that read or sent it */
	__u64 duration_ns;
	__u32 queued_bytes;
	__u32 port; /* the place */
	struct socket_ends ends;
	__u32 operation;
	__u32 pad;
};
_Static_assert(sizeof(struct delivery_record) == 104, "wire format");
