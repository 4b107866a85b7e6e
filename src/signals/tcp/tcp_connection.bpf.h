/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a live connection. The key is the socket's cookie: it is unique, and any hook can read
 * it. Socket storage would need a pointer that the verifier trusts, which accept() does not have.
 * An entry is deleted with its socket.
 */
#pragma once

#include "bpf/ends.bpf.h"
#include "bpf/identity.bpf.h"
#include "signals/tcp/tcp.h"

#define MOST_CONNECTIONS 65536
#define MOST_SERVICES    4096

#define SECOND_NS   1000000000ULL
#define LONG_LIFE   SECOND_NS /* connections that live longer are objects of their own */
#define NOTED_MOST  1000      /* short connections that are objects of their own: at once */
#define NOTED_RATE  20        /* short connections that are objects of their own: per second */
#define EVENTS_MOST 1000      /* events other than begin and end: at once */
#define EVENTS_RATE 200       /* events other than begin and end: per second */

#define IPPROTO_TCP 6
#define AF_UNIX     1
#define AF_INET     2
#define AF_INET6    10

SERIES_MAPS(tcp, 4, 0, 8192);

/* enum tcp_chrono of the kernel, less one: how it divides the time in which it has data to send. */
enum { CHRONO_BUSY, CHRONO_RWND, CHRONO_SNDBUF, TCP_CHRONOS };

enum {
	OWNED = 1,          /* the owner is known and recorded */
	NOTED = 2,          /* the connection is an object of its own */
	NAMED = 4,          /* its name was sent */
	BEFORE = 8,         /* its begin was not seen */
	ESTABLISHED = 16,   /* the handshake is complete */
	NEW_CONNECT = 32,   /* connect_ns is not in the sums yet */
	NEW_ACCEPT = 64,    /* accept_ns is not in the sums yet */
	NEW_LIFETIME = 128, /* lifetime_ns is not in the sums yet */
};

struct connection {
	__u64 thread;   /* the owner */
	__u64 begin_ns; /* outbound: of the connect(); inbound: end of the handshake */
	__u64 connect_ns;
	__u64 accept_ns; /* how long it waited for accept() */
	__u64 lifetime_ns;
	struct socket_ends ends;
	struct tcp_totals told; /* the part of the kernel's totals that is already in the sums */
	__u64 repeated_told;    /* bytes; like `told`, as are the next two */
	__u32 limited_told[TCP_CHRONOS]; /* jiffies */
	__u32 drops_told;
	__u32 resets[2]; /* ours, theirs; not in the sums yet */
	__u32 flags;
	__u32 error;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_CONNECTIONS);
	__type(key, __u64);
	__type(value, struct connection);
} tcp_connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MOST_SERVICES);
	__type(key, __u64[2]);
	__type(value, __u8);
} tcp_services_named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} tcp_ring SEC(".maps");

const volatile struct tcp_knobs tcp_knobs SEC(".rodata.tcp");
struct tcp_control tcp_control SEC(".data.tcp") = { .notes.left = NOTED_MOST,
						    .events.left = EVENTS_MOST };

/* Not atomic: two CPUs may take the same token, which is harmless. */
static __always_inline bool tcp_take_from(struct tcp_bucket *bucket, __u64 now, __u64 rate,
					  __u64 most)
{
	__u64 added = (now - bucket->filled_ns) / (SECOND_NS / rate);

	if (added) {
		bucket->left =
			added > most || bucket->left + added > most ? most : bucket->left + added;
		bucket->filled_ns = now;
	}
	if (!bucket->left)
		return false;
	bucket->left--;
	return true;
}

static __always_inline bool tcp_has(const struct connection *connection, __u32 flag)
{
	return connection->flags & flag;
}

/* Returns whether the flag was set before. */
static __always_inline bool tcp_set(struct connection *connection, __u32 flag)
{
	return __sync_fetch_and_or(&connection->flags, flag) & flag;
}

static __always_inline bool tcp_clear(struct connection *connection, __u32 flag)
{
	return __sync_fetch_and_and(&connection->flags, ~flag) & flag;
}

/* The local port of an outbound connection is chosen after its first change of state. */
static __always_inline void tcp_learn_port(struct connection *connection, struct sock *sk)
{
	if (!connection->ends.local_port)
		connection->ends.local_port = sk->__sk_common.skc_num;
}

static __always_inline struct tcp_record *tcp_reserve(__u16 kind)
{
	struct tcp_record *record = bpf_ringbuf_reserve(&tcp_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(tcp, LOST_RING_FULL);
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_init(&record->head, sizeof(*record), kind, 1);
	return record;
}

static __always_inline void tcp_send_name(const struct connection *connection,
					  const __u64 object[2])
{
	struct tcp_record *record = tcp_reserve(TCP_NAME);

	if (!record)
		return;
	record->object[0] = object[0];
	record->object[1] = object[1];
	record->ends = connection->ends;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline __u64 tcp_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* The object that many short connections share: the peer's address and port, or the local ones. */
static __always_inline void service_of(const struct connection *connection, __u64 ret[2])
{
	const struct socket_ends *ends = &connection->ends;
	bool is_out = ends->side == TCP_OUTBOUND;
	const __u64 *address = (const __u64 *)(is_out ? ends->peer : ends->local);

	ret[0] = tcp_mix(tcp_mix(tcp_mix(1, address[0]), address[1]),
			 is_out ? ends->peer_port : ends->local_port);
	ret[1] = TCP_OBJECT_SERVICE + ends->side;
}

static __always_inline bool tcp_is_noted(struct connection *connection, __u64 now)
{
	if (tcp_has(connection, NOTED))
		return true;
	if (now - connection->begin_ns < LONG_LIFE)
		return false;
	tcp_set(connection, NOTED);
	return true;
}

/* The object for the sums of this connection. Sends its name if it is new. */
static __always_inline void tcp_object_of(struct connection *connection, __u64 cookie, __u64 now,
					  __u64 ret[2])
{
	__u8 one = 1;

	if (by_class)
		return;
	if (connection->ends.side != TCP_LISTENING && tcp_is_noted(connection, now)) {
		ret[0] = cookie;
		ret[1] = TCP_OBJECT_CONNECTION;
		/* The iterator may run before the port is chosen. The name is sent later then. */
		if (connection->ends.local_port && !tcp_set(connection, NAMED))
			tcp_send_name(connection, ret);
		return;
	}
	service_of(connection, ret);
	if (bpf_map_lookup_elem(&tcp_services_named, ret))
		return;
	bpf_map_update_elem(&tcp_services_named, ret, &one, BPF_ANY);
	tcp_send_name(connection, ret);
}
