/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams over UDP: sends, receives, their bytes and errors, by socket and thread. The hooks are
 * those of all sends and receives, which the ledger and tcp have too. A receive that finds nothing
 * (EAGAIN) is not counted.
 *
 * A socket counts what it dropped itself. The count is read at each receive; what a socket drops
 * after the last one is not seen.
 */
#pragma once

#include "bpf/ends.bpf.h"
#include "bpf/identity.bpf.h"
#include "signals/udp/udp.h"

#define UDP_PROTOCOL     17
#define UDP_MOST_SOCKETS 16384
#define UDP_EAGAIN       11
#define UDP_MSG_PEEK     2
#define UDP_MOST_ERRNO   4095

SERIES_MAPS(udp, 1, 0, 8192);

struct udp_socket {
	__u32 drops_told;
	__u16 local_port; /* of the name that was sent */
	__u16 peer_port;
};

/* By the socket's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UDP_MOST_SOCKETS);
	__type(key, __u64);
	__type(value, struct udp_socket);
} udp_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} udp_ring SEC(".maps");

static __always_inline void udp_send_name(struct sock *sk, __u64 cookie)
{
	struct udp_record *record = bpf_ringbuf_reserve(&udp_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(udp, LOST_RING_FULL);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_init(&record->head, sizeof(*record), 0, 1);
	record->cookie = cookie;
	read_ends(sk, &record->ends);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline __u32 udp_read_drops(struct sock *sk)
{
	struct numa_drop_counters *counters;

	if (bpf_core_field_exists(sk->sk_drop_counters)) {
		counters = sk->sk_drop_counters;
		if (counters)
			return counters->drops0.counter + counters->drops1.counter;
	}
	return sk->sk_drops.counter;
}

/* NULL: no room. A socket that is bound or connected later gets another name. */
static __always_inline struct udp_socket *udp_find(struct sock *sk, __u64 cookie)
{
	struct udp_socket *socket = bpf_map_lookup_elem(&udp_sockets, &cookie), new = {};
	__u16 local_port = sk->__sk_common.skc_num, peer_port = sk->__sk_common.skc_dport;

	if (!socket) {
		new.drops_told = udp_read_drops(sk);
		bpf_map_update_elem(&udp_sockets, &cookie, &new, BPF_NOEXIST);
		socket = bpf_map_lookup_elem(&udp_sockets, &cookie);
	}
	if (!socket) {
		COUNT_LOST(udp, LOST_MAP_FULL);
		return NULL;
	}
	if (!by_class && (socket->local_port != local_port || socket->peer_port != peer_port)) {
		socket->local_port = local_port;
		socket->peer_port = peer_port;
		udp_send_name(sk, cookie);
	}
	return socket;
}

/* Several at once, without bytes and histogram. */
static __always_inline void udp_add_drops(struct series_key *key, __u32 count)
{
	struct series_sum *sum;

	key->operation = UDP_DROP;
	key->error = 0;
	sum = series_sum_of(SERIES(udp), series_turn(SERIES(udp)), key);
	if (!sum)
		sum = &series[SIGNAL_udp].overflow;
	__sync_fetch_and_add(&sum->count, count);
}

static __noinline int udp_count(struct sock *sk, int ret, __u16 operation)
{
	struct series_key key = { .operation = operation };
	__u64 bytes = ret > 0 ? ret : 0, cookie;
	struct udp_socket *socket;
	struct identity who;
	__u32 drops, told;

	if (ret == -UDP_EAGAIN || !is_wanted_now(SIGNAL_udp, &who))
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	socket = udp_find(sk, cookie);
	key.thread = who.id;
	key.object[0] = cookie;
	if (ret < 0)
		key.error = ret < -UDP_MOST_ERRNO ? UDP_MOST_ERRNO : -ret;
	series_reduce(&key);
	series_add_own(SERIES(udp), &key, &bytes);
	if (operation != UDP_RECEIVE || !socket)
		return 0;
	drops = udp_read_drops(sk);
	told = __sync_lock_test_and_set(&socket->drops_told, drops);
	if ((__s32)(drops - told) > 0)
		udp_add_drops(&key, drops - told);
	return 0;
}

static __always_inline void udp_sock_send(struct sock *sk, int ret)
{
	if (sk->sk_protocol == UDP_PROTOCOL)
		udp_count(sk, ret, UDP_SEND);
}

static __always_inline void udp_sock_receive(struct sock *sk, int ret, int flags)
{
	if (sk->sk_protocol == UDP_PROTOCOL && !(flags & UDP_MSG_PEEK))
		udp_count(sk, ret, UDP_RECEIVE);
}
