/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal tcp: enumerations, knobs, and the record. */
#pragma once

#include "bpf/ends.h"
#include "bpf/wire.h"

enum tcp_operation {
	TCP_CONNECT,
	TCP_ACCEPT,
	TCP_SEND,
	TCP_RECEIVE,
	TCP_RETRANSMIT,
	TCP_RESET,
	TCP_ZERO_WINDOW,
	TCP_OVERFLOW,
	TCP_LIFETIME,
	TCP_UNIX_SEND,
	TCP_UNIX_RECEIVE,
	TCP_LIMITED,
	TCP_OPERATIONS,
};

enum tcp_measure { TCP_TIME, TCP_BYTES, TCP_SEGMENTS, TCP_RTT, TCP_MEASURES };

/*
 * The place of a reset or of a closed window: which side caused it. The place of TCP_LIMITED: what
 * kept data from being sent.
 */
enum tcp_place {
	TCP_NOWHERE,
	TCP_OURS,
	TCP_THEIRS,
	TCP_BY_NETWORK, /* the congestion window, or acknowledgements on their way */
	TCP_BY_WINDOW,  /* the peer's window */
	TCP_BY_BUFFER,  /* our send buffer */
	TCP_PLACES
};

enum tcp_side {
	TCP_UNKNOWN,   /* it was open before the recording */
	TCP_OUTBOUND,  /* the local side connected */
	TCP_INBOUND,   /* the peer connected */
	TCP_LISTENING, /* a listening socket, not a connection */
	TCP_SIDES,
};

/*
 * object[1] of a series says what object[0] is: a socket's cookie, or a hash of address and port.
 */
#define TCP_OBJECT_CONNECTION 0
#define TCP_OBJECT_SERVICE    1 /* plus the side */

/* The only variable of the section .rodata.tcp, set before the load. */
struct tcp_knobs {
	__u64 jiffy_ns;
	__s32 nr_accept;
	__s32 nr_accept4;
};

/* A token bucket for rate limits. */
struct tcp_bucket {
	__u64 filled_ns;
	__u64 left;
};

/* The only variable of the section .data.tcp. */
struct tcp_control {
	struct tcp_bucket notes;  /* limits connections that are objects of their own */
	struct tcp_bucket events; /* limits events between begin and end of a connection */
	__u32 is_last;            /* this refresh of all connections is the last one */
	__u32 pad;
};

/* As the kernel counts them (ss -ti), but bytes exclude retransmissions, SYN and FIN. */
struct tcp_totals {
	__u64 sent_bytes;
	__u64 received_bytes;
	__u32 segments_out;
	__u32 segments_in;
	__u32 retransmits;
	__u32 rtt_us; /* 0: never measured */
};

enum tcp_kind { TCP_EVENT, TCP_NAME };

/* Sent by tcp.bpf.c, decoded by tcp.c. A TCP_NAME uses only object and ends. */
struct tcp_record {
	struct wire_head head;
	__u64 thread; /* the connection's owner; 0: unknown */
	__u64 stack;  /* hash of its user stack, if it accepted the connection; 0: none */
	__u64 object[2];
	__u64 duration_ns;
	struct socket_ends ends;
	struct tcp_totals totals; /* of the whole connection so far */
	__u16 operation;
	__u16 error;
	__u16 place;
	__u16 state; /* the kernel's TCP state */
};
_Static_assert(sizeof(struct tcp_record) == 144, "wire format");
