/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal udp: operations, and the record. */
#pragma once

#include "bpf/ends.h"
#include "bpf/wire.h"

enum udp_operation {
	UDP_SEND,
	UDP_RECEIVE,
	UDP_DROP, /* datagrams that a socket had no room for, and others that it refused */
	UDP_OPERATIONS,
};

/* The name of a socket, sent when it is first seen: it is the only record. */
struct udp_record {
	struct wire_head head;
	__u64 cookie;
	struct socket_ends ends;
};
_Static_assert(sizeof(struct udp_record) == 72, "wire format");
