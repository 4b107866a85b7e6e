/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two ends of a connection, and the link between their windows if both are on this machine and
 * recorded: a server's request that another process's request asks for is a child of that one.
 *
 * A UNIX socket knows its peer. A TCP server's connection has the addresses of the client's the
 * other way round, unless they are translated in between; then there is no link.
 */
#pragma once

#include "ledger/windows/window.bpf.h"

#define PEER_LOOKS 4 /* times that a server looks for the other end */

/* Clients by their connection. */
struct window_connection {
	__u8 client[16], server[16]; /* IPv4 is ::ffff:a.b.c.d */
	__u16 client_port, server_port;
	__u32 pad;
	__u64 net; /* of addresses that other network namespaces have too */
};

struct window_client {
	__u64 inode;
	__u32 place;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct window_connection);
	__type(value, struct window_client);
} windows_clients SEC(".maps");

/* The begin of a struct sock, too. */
struct sock_common___net {
	struct {
		struct net *net;
	} skc_net;
} __attribute__((preserve_access_index));

static __always_inline __u64 net_of(struct sock *sk)
{
	return (__u64)BPF_CORE_READ((struct sock_common___net *)sk, skc_net.net);
}

static __always_inline void put_address(__u8 to[16], const __u8 from[16], __u8 family)
{
	if (family != AF_INET) {
		__builtin_memcpy(to, from, 16);
		return;
	}
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, from, 4);
}

static __always_inline bool is_loopback(const __u8 address[16])
{
	const __u32 *words = (const void *)address;

	if (words[0] || words[1])
		return false;
	return words[2] ? address[10] == 0xff && address[12] == 127 : words[3] == bpf_htonl(1);
}

static __always_inline void note_client(const struct socket_window *socket, struct sock *sk,
					__u32 place)
{
	const struct window_ends *ends = &socket->ends;
	struct window_client client = { .inode = socket->inode, .place = place };
	struct window_connection key = { .client_port = ends->local_port,
					 .server_port = ends->peer_port };

	put_address(key.client, ends->local, ends->family);
	put_address(key.server, ends->peer, ends->family);
	if (is_loopback(key.server))
		key.net = net_of(sk);
	bpf_map_update_elem(&windows_clients, &key, &client, BPF_ANY);
}

/* A hash of the address of a TCP client's peer. */
static __always_inline __u64 peer_of(struct sock *sk)
{
	__u64 address[2] = {};

	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET)
		return BPF_CORE_READ(sk, __sk_common.skc_daddr);
	if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		BPF_CORE_READ_INTO(&address, sk, __sk_common.skc_v6_daddr);
	return fold_mix(fold_mix(0, address[0]), address[1]);
}

/* What tells a service from others; see struct window_class_key. */
static __always_inline __u64 served_by(const struct socket_window *socket, struct sock *sk)
{
	struct unix_sock *named = (void *)sk;

	if (socket->ends.family != AF_UNIX)
		return net_of(sk) ^ (socket->kind == WINDOW_CLIENT ? peer_of(sk) : 0);
	if (socket->kind == WINDOW_CLIENT)
		named = (void *)BPF_CORE_READ(named, peer);
	/* An accepted socket has the listener's. */
	return (__u64)BPF_CORE_READ(named, addr);
}

/* Notes both ends while the socket is there. `place`: its own. */
static __noinline int describe_ends(struct socket_window *socket, __u64 sock, __u32 place)
{
	struct window_ends *ends = &socket->ends;
	struct sock *sk = (void *)sock;

	ends->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ends->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ends->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	ends->service = served_by(socket, sk);
	if (ends->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)ends->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)ends->peer, sk, __sk_common.skc_daddr);
	} else if (ends->family == AF_INET6 &&
		   bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&ends->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&ends->peer, sk, __sk_common.skc_v6_daddr);
	}
	if (socket->kind == WINDOW_CLIENT && ends->family != AF_UNIX)
		note_client(socket, sk, place);
	return 0;
}

/* Looks for the other end of a server's connection, if it is on this machine. */
VERIFIED_ONCE int look_for_peer(struct socket_window *socket, __u64 sock)
{
	struct window_connection key = {};
	struct window_client *client;
	struct sock *sk = (void *)sock;
	const struct window_ends *ends;
	struct talk *talk;
	__u64 inode;

	if (!socket || !with_windows)
		return 0;
	ends = &socket->ends;
	socket->peer_looked++;
	if (ends->family == AF_UNIX) {
		struct sock *peer = BPF_CORE_READ((struct unix_sock *)sk, peer);

		inode = BPF_CORE_READ(peer, sk_socket, file, f_inode, i_ino);
		talk = inode ? find_talk(inode) : NULL;
		if (talk) {
			socket->peer_inode = inode;
			socket->peer_place = talk->place;
		}
		return 0;
	}
	key.client_port = ends->peer_port;
	key.server_port = ends->local_port;
	put_address(key.client, ends->peer, ends->family);
	put_address(key.server, ends->local, ends->family);
	if (is_loopback(key.server))
		key.net = net_of(sk);
	client = bpf_map_lookup_elem(&windows_clients, &key);
	if (client) {
		socket->peer_inode = client->inode;
		socket->peer_place = client->place;
	}
	return 0;
}

/*
 * The answer to a request begins. If its client is recorded too, the client waits for it, because a
 * connection has one request at a time: the request works for the client's.
 */
static __always_inline void joins_client(struct socket_window *socket, __u64 sock)
{
	struct socket_window *client;

	if (!socket->peer_inode && socket->peer_looked < PEER_LOOKS)
		look_for_peer(socket, sock);
	if (!socket->peer_inode)
		return;
	client = socket_window_at(socket->peer_place);
	if (!client || client->inode != socket->peer_inode || client->kind != WINDOW_CLIENT ||
	    client->phase != PHASE_ASKED || client->window.ready_ns > socket->window.ready_ns)
		return;
	socket->window.parent = client->window.serial;
	socket->window.evidence = WINDOW_BY_SOCKET;
	count_window(WINDOWS_BY_SOCKET, 1);
}
