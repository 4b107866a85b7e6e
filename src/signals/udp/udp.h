/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal udp: operations, and the record. */
#pragma once

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
	__u8 local[16]; /* an IPv4 address has the first four bytes */
	__u8 peer[16];
	__u16 local_port;
	__u16 peer_port; /* 0: the socket is not connected */
	__u16 family;
	__u16 pad;
};
_Static_assert(sizeof(struct udp_record) == 72, "wire format");
