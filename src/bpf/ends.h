/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format of a socket's two ends. Written by ends.bpf.h, named by core/ends.h. */
#pragma once

#include <linux/types.h>

struct socket_ends {
	__u8 local[16]; /* an IPv4 address has the first four bytes */
	__u8 peer[16];
	__u16 local_port;
	__u16 peer_port; /* 0: the socket is not connected */
	__u16 family;
	__u16 side; /* for tcp: enum tcp_side */
};
_Static_assert(sizeof(struct socket_ends) == 40, "wire format");
