/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection's timeline: begin and end of each connection that is an object of its own, slow
 * operations, and rate-limited incidents in between.
 */
#pragma once

#include "signals/tcp/tcp_connection.bpf.h"

#define SOCK_DONE 1 /* bit of sk_flags: the peer's FIN has arrived */

/*
 * The kernel counts retransmissions before it sends them, so reading in this order never gives too
 * much.
 */
static __always_inline void tcp_read_totals(struct tcp_sock *tcp, struct tcp_totals *ret,
					    __u64 *ret_repeated)
{
	struct sock *sk = (struct sock *)tcp;
	__u64 sent = *(volatile __u64 *)&tcp->bytes_sent;
	__u64 received = *(volatile __u64 *)&tcp->bytes_received;

	*ret_repeated = tcp->bytes_retrans;
	ret->sent_bytes = sent > *ret_repeated ? sent - *ret_repeated : 0;
	/* The kernel counts the FIN as a byte. */
	ret->received_bytes = received - (received && sk->__sk_common.skc_flags >> SOCK_DONE & 1);
	ret->segments_out = tcp->segs_out;
	ret->segments_in = tcp->segs_in;
	ret->retransmits = tcp->total_retrans;
	ret->rtt_us = tcp->srtt_us >> 3;
}

static __always_inline bool tcp_is_ours(const struct connection *connection)
{
	return tcp_has(connection, OWNED) || series[SIGNAL_tcp].every_thread;
}

/* Something that happens to a connection. */
struct moment {
	__u64 now;
	__u64 duration_ns;
	__u16 operation;
	__u16 place;
	__u16 error;
	__u16 state;
	__u64 stack; /* if it ends in the connection's own thread, in a syscall; 0: none */
};

static __noinline int tcp_send_event(struct connection *connection, struct tcp_sock *tcp,
				     __u64 cookie, const struct moment *moment)
{
	struct tcp_record *record;
	__u64 object[2], repeated;

	tcp_object_of(connection, cookie, moment->now, object);
	record = tcp_reserve(TCP_EVENT);
	if (!record)
		return 0;
	record->head.time_ns = moment->now;
	record->thread = connection->thread;
	record->stack = moment->stack;
	record->object[0] = object[0];
	record->object[1] = object[1];
	record->duration_ns = moment->duration_ns;
	record->ends = connection->ends;
	if (tcp && connection->ends.side != TCP_LISTENING)
		tcp_read_totals(tcp, &record->totals, &repeated);
	record->operation = moment->operation;
	record->place = moment->place;
	record->error = moment->error;
	record->state = moment->state;
	bpf_ringbuf_submit(record, 0);
	return 0;
}

/* Begin or end: sent for each connection that is an object of its own, and if it is slow. */
static __always_inline void tcp_send_life(struct connection *connection, struct tcp_sock *tcp,
					  __u64 cookie, const struct moment *moment,
					  bool can_be_slow)
{
	if (by_class || !tcp_is_ours(connection))
		return;
	if (!tcp_is_noted(connection, moment->now)) {
		if (!can_be_slow || !series_is_slow(SERIES(tcp), moment->duration_ns)) {
			__sync_fetch_and_add(&series[SIGNAL_tcp].unsent, 1);
			return;
		}
		tcp_set(connection, NOTED);
	}
	tcp_send_event(connection, tcp, cookie, moment);
}

/* An incident between begin and end. */
static __always_inline void tcp_send_incident(struct connection *connection, struct tcp_sock *tcp,
					      __u64 cookie, const struct moment *moment)
{
	if (by_class || !tcp_is_ours(connection))
		return;
	if (tcp_take_from(&tcp_control.events, moment->now, EVENTS_RATE, EVENTS_MOST))
		tcp_send_event(connection, tcp, cookie, moment);
	else
		__sync_fetch_and_add(&series[SIGNAL_tcp].unsent, 1);
}
