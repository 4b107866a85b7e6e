/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long data of TCP connections takes: what was received, until the program has read it; what
 * was sent, until the peer has acknowledged it.
 *
 * Each connection times one segment and one send at a time: the first that comes when none is being
 * timed. Its sequence number tells when it is read or acknowledged. So each time is exact, and a
 * segment that comes while another one is being timed costs one look-up.
 *
 * Only a segment that is the next in order is timed. The kernel may still drop it, if the receive
 * buffer is full; then its retransmission is timed instead.
 *
 * Rejected: the kernel's own time of the last segment (tcp_mstamp), which would need no hook per
 * segment. The program falls behind if more segments come than it reads, and then the last one says
 * nothing about how long the first one lies there.
 */
#pragma once

#include "bpf/ends.bpf.h"
#include "bpf/identity.bpf.h"
#include "signals/delivery/delivery.h"

#define DELIVERY_TCP       6
#define DELIVERY_LONG_LIFE 1000000000ULL /* connections that live longer are objects */
#define DELIVERY_NOTED     512           /* so are so many others */
#define DELIVERY_SOCK_DONE 1             /* bit of skc_flags: the peer's FIN has arrived */

SERIES_MAPS(delivery, DELIVERY_MEASURES, 0, 8192);

struct delivery_socket {
	__u64 first_ns;    /* when it was first seen */
	__u64 arrived_ns;  /* of the segment that is timed; 0: none is */
	__u64 sent_ns;     /* of the send that is timed; 0: none is */
	__u64 sender;      /* its thread */
	__u32 arrived_end; /* the sequence number behind it */
	__u32 sent_end;
	__u32 is_noted; /* it is an object */
	__u32 named_at; /* delivery_forgotten + 1 when its name was sent; 0: it was not */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct delivery_socket);
} delivery_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} delivery_ring SEC(".maps");

/* User space increments it when it forgets names, so that they are sent again. */
__u32 delivery_forgotten SEC(".data.delivery");

__u64 delivery_noted; /* connections that became objects before they were old */

/* The part of a segment's header that is needed. */
struct delivery_header {
	__u16 ports[2];
	__u32 seq;
	__u32 ack;
	__u8 offset; /* the upper half: words of 4 bytes */
	__u8 flags;
	__u16 window;
};
#define DELIVERY_FLAG_ACK 16

/* NULL: no room. */
static __always_inline struct delivery_socket *delivery_find(struct sock *sk)
{
	struct delivery_socket *socket =
		bpf_sk_storage_get(&delivery_sockets, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!socket)
		COUNT_LOST(delivery, LOST_NO_STORAGE);
	return socket;
}

/* --- what ended ------------------------------------------------------------------------------- */

struct delivery_end {
	__u64 now;
	__u64 begin_ns;
	__u64 thread;
	__u32 queued_bytes;
	__u16 operation;
};

static __always_inline struct delivery_record *delivery_reserve(__u16 kind, __u64 now)
{
	struct delivery_record *record = bpf_ringbuf_reserve(&delivery_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(delivery, LOST_RING_FULL);
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_at(&record->head, sizeof(*record), kind, 1, now);
	return record;
}

static __always_inline void delivery_send_name(struct sock *sk, __u64 cookie, __u64 now)
{
	struct delivery_record *record = delivery_reserve(DELIVERY_NAME, now);

	if (!record)
		return;
	record->cookie = cookie;
	read_ends(sk, &record->ends);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void delivery_send_slow(const struct series_key *key,
					       const struct delivery_end *end)
{
	struct delivery_record *record = delivery_reserve(DELIVERY_SLOW, end->now);

	if (!record)
		return;
	record->cookie = key->object[0];
	record->thread = key->thread;
	record->duration_ns = end->now - end->begin_ns;
	record->queued_bytes = end->queued_bytes;
	record->port = key->place;
	record->operation = key->operation;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Whether the connection is an object: the first ones are, and those that live long or are slow. */
static __always_inline bool delivery_is_noted(struct delivery_socket *socket, __u64 now, bool slow)
{
	if (socket->is_noted)
		return true;
	if (!slow && now - socket->first_ns < DELIVERY_LONG_LIFE &&
	    __sync_fetch_and_add(&delivery_noted, 1) >= DELIVERY_NOTED)
		return false;
	socket->is_noted = 1;
	return true;
}

static __noinline int delivery_account(struct sock *sk, struct delivery_socket *socket,
				       const struct delivery_end *end)
{
	__u16 local = sk->__sk_common.skc_num, peer = bpf_ntohs(sk->__sk_common.skc_dport);
	struct series_key key = { .thread = end->thread, .operation = end->operation };
	__u64 values[DELIVERY_MEASURES];
	bool slow;

	/* The signal was stopped meanwhile, so the end may have been missed. */
	if (end->begin_ns < series[SIGNAL_delivery].since_ns || end->begin_ns > end->now)
		return 0;
	values[DELIVERY_TIME] = end->now - end->begin_ns;
	values[DELIVERY_QUEUED] = end->queued_bytes;
	key.place = local < peer ? local : peer;
	slow = !by_class && series_is_slow(SERIES(delivery), values[DELIVERY_TIME]);
	if (!by_class && delivery_is_noted(socket, end->now, slow)) {
		key.object[0] = bpf_get_socket_cookie(sk);
		if (socket->named_at != delivery_forgotten + 1) {
			socket->named_at = delivery_forgotten + 1;
			delivery_send_name(sk, key.object[0], end->now);
		}
	}
	series_reduce(&key);
	series_add(SERIES(delivery), &key, values);
	if (slow)
		delivery_send_slow(&key, end);
	return 0;
}

/* --- received --------------------------------------------------------------------------------- */

/* Bytes that have arrived and were not read. The kernel counts the FIN as one. */
static __always_inline __u32 delivery_unread(struct sock *sk, struct tcp_sock *tcp)
{
	__u32 unread = tcp->rcv_nxt - tcp->copied_seq;

	return unread && sk->__sk_common.skc_flags >> DELIVERY_SOCK_DONE & 1 ? unread - 1 : unread;
}

/* Runs in the thread that reads, with the socket locked, after bytes were copied. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(delivery_on_read, struct sock *sk)
{
	struct delivery_end end = { .operation = DELIVERY_RECEIVE };
	struct delivery_socket *socket;
	struct tcp_sock *tcp;
	struct identity who;

	if (!is_on(SIGNAL_delivery) || !series[SIGNAL_delivery].enabled)
		return 0;
	socket = bpf_sk_storage_get(&delivery_sockets, sk, NULL, 0);
	if (!socket || !socket->arrived_ns)
		return 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (!tcp || (__s32)(tcp->copied_seq - socket->arrived_end) < 0)
		return 0;
	end.begin_ns = socket->arrived_ns;
	socket->arrived_ns = 0;
	if (!is_wanted_now(SIGNAL_delivery, &who))
		return 0;
	end.thread = who.id;
	end.queued_bytes = delivery_unread(sk, tcp);
	end.now = bpf_ktime_get_ns();
	delivery_account(sk, socket, &end);
	return 0;
}

/* Times the segment if it is the next in order, and none is being timed. */
static __always_inline void delivery_arrives(struct delivery_socket *socket, struct tcp_sock *tcp,
					     const struct delivery_header *header, __u32 bytes,
					     __u64 now)
{
	__u32 seq = bpf_ntohl(header->seq), headers = (header->offset >> 4) * 4;

	if (bytes <= headers || seq != tcp->rcv_nxt)
		return;
	socket->arrived_end = seq + bytes - headers;
	socket->arrived_ns = now;
}

/* --- sent ------------------------------------------------------------------------------------- */

/* The segment acknowledges the send that is timed. */
static __always_inline void delivery_acknowledged(struct sock *sk, struct delivery_socket *socket,
						  struct tcp_sock *tcp, __u32 ack, __u64 now)
{
	struct delivery_end end = { .now = now,
				    .begin_ns = socket->sent_ns,
				    .thread = socket->sender,
				    .queued_bytes = tcp->write_seq - ack,
				    .operation = DELIVERY_SEND };

	/* The sender may begin to time its next send at the same moment on another CPU. */
	if (__sync_val_compare_and_swap(&socket->sent_ns, end.begin_ns, 0) == end.begin_ns)
		delivery_account(sk, socket, &end);
}

static __noinline int delivery_sends(struct sock *sk)
{
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct delivery_socket *socket;
	struct delivery_end end = { .operation = DELIVERY_SEND };
	struct identity who;

	if (!tcp || !is_wanted_now(SIGNAL_delivery, &who))
		return 0;
	socket = delivery_find(sk);
	if (!socket || socket->sent_ns >= series[SIGNAL_delivery].since_ns)
		return 0; /* one is being timed */
	end.now = bpf_ktime_get_ns();
	if (!socket->first_ns)
		socket->first_ns = end.now;
	if (tcp->snd_una == tcp->write_seq) { /* acknowledged before the call returned */
		end.begin_ns = end.now;
		end.thread = who.id;
		delivery_account(sk, socket, &end);
		return 0;
	}
	socket->sender = who.id;
	socket->sent_end = tcp->write_seq;
	__sync_lock_test_and_set(&socket->sent_ns, end.now);
	return 0;
}

static __always_inline void delivery_sock_send(struct sock *sk, int ret)
{
	if (ret > 0 && sk->sk_protocol == DELIVERY_TCP && series[SIGNAL_delivery].enabled)
		delivery_sends(sk);
}

/* Before 6.3 there is no tracepoint for this. */
SEC("fexit/tcp_sendmsg")
int BPF_PROG(delivery_on_sendmsg, struct sock *sk, struct msghdr *message, __u64 size, int ret)
{
	if (is_on(SIGNAL_delivery))
		delivery_sock_send(sk, ret);
	return 0;
}

/* --- segments --------------------------------------------------------------------------------- */

/* Runs for each segment of an established connection, before the kernel has looked at it. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(delivery_on_segment, struct sock *sk, struct sk_buff *packet)
{
	struct delivery_header header;
	struct delivery_socket *socket;
	struct tcp_sock *tcp;
	bool may_arrive;
	__u64 now;

	if (!is_on(SIGNAL_delivery) || !series[SIGNAL_delivery].enabled)
		return 0;
	socket = delivery_find(sk);
	tcp = socket ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (!tcp)
		return 0;
	/* What was dropped instead of being queued is timed anew. */
	may_arrive = !socket->arrived_ns || (__s32)(tcp->rcv_nxt - socket->arrived_end) < 0;
	if (!may_arrive && !socket->sent_ns)
		return 0;
	if (bpf_probe_read_kernel(&header, sizeof(header), packet->data))
		return 0;
	now = bpf_ktime_get_ns();
	if (!socket->first_ns)
		socket->first_ns = now;
	if (socket->sent_ns && header.flags & DELIVERY_FLAG_ACK &&
	    (__s32)(bpf_ntohl(header.ack) - socket->sent_end) >= 0)
		delivery_acknowledged(sk, socket, tcp, bpf_ntohl(header.ack), now);
	if (may_arrive)
		delivery_arrives(socket, tcp, &header, packet->len, now);
	return 0;
}
