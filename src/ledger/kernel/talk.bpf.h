/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who spoke last on a socket, and which of its two sides asks. The side that made the connection
 * asks; the other one serves. A connection that is older than the recording is judged by what the
 * kernel still knows:
 *
 *   TCP      the port was chosen by connect() (fastreuse of its bind bucket is -1), or by bind() on
 *            this very socket (an accepted socket has lost that mark): it asks
 *   UDP      its port was chosen by the kernel: it asks
 *   AF_UNIX  an accepted socket has the listener's address, and a client usually has none
 *
 * Otherwise the side is unknown. A pair of sockets that was made during the recording is the only
 * case in which an unknown side can become known: if this side spoke first and has been answered
 * twice, it asks.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "ledger/kernel/thread.bpf.h"

#define AF_UNIX  1
#define AF_INET  2
#define AF_INET6 10

#define SOCK_DGRAM            2
#define SOCK_BINDPORT_LOCK    8
#define PROTOCOL_TCP          6
#define TCP_STATE_ESTABLISHED 1
#define TCP_STATE_SYN_SENT    2
#define TCP_STATE_CLOSE       7
#define TCP_STATE_LISTEN      10

#define PROVING_TURNS 2

enum talk_side { SIDE_UNKNOWN, SIDE_ASKS, SIDE_SERVES, SIDE_NONE };

enum talk_last { LAST_NOBODY, LAST_OURS, LAST_THEIRS };

enum talk_flags {
	TALK_IS_TCP = 1,
	TALK_IS_DATAGRAM = 2,
	TALK_HEARD = 4,       /* the peer has said something */
	TALK_IS_NEW = 8,      /* a pair that was made during the recording */
	TALK_OURS_FIRST = 16, /* of such a pair, this side spoke first */
	TALK_IN_VAIN = 32,    /* a wait for the answer to the last request has begun */
	TALK_DIALLED = 64,    /* connect() was called, and nothing has been sent since */
	TALK_IS_TLS = 128,    /* a client whose first message was a TLS handshake */
};

/* What is known of a socket. */
struct talk {
	__u64 inode; /* 0: free; CLAIMED_TALK: being filled in */
	__u64 sock;
	__u64 asked_ns; /* when the last call that sent began; 0 at level sched */
	__u64 asked_by; /* the thread that made it */
	__u8 side, last, family, flags;
	__u16 turns;        /* times that we spoke and were answered */
	__u16 in_vain;      /* times that we waited for an answer and spoke again without it */
	__u16 peer_port;    /* of a socket that is not connected: where we sent to last */
	__u16 record_bytes; /* length of the last TLS record, see tickets.bpf.h */
	__u8 tickets;       /* TLS records in a row that can be session tickets */
	__u8 is_used;       /* since a place was last looked for in its row */
	__u8 is_met;        /* windows have looked for what was readable before */
	__u8 pad;
	__u8 peer[16];
	/* When the first byte and the last one became readable that nobody has read; 0: none. */
	__u64 ready_ns, ready_last_ns;
	__u32 place; /* its own number */
	__u32 pad2;
};

/*
 * By inode number, which is not reused within a recording. Sends and receives are frequent, and a
 * look-up in an array costs a quarter of one in a hash map. A socket has one of the TALK_WAYS
 * places of its row; a new one takes the place of one that has not been used lately.
 */
#define TALK_WAYS    4
#define TALK_BITS    14 /* of the number of a place */
#define CLAIMED_TALK (~0ULL)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TALK_BITS);
	__type(key, __u32);
	__type(value, struct talk);
} talks SEC(".maps");

static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

/* The kernel notes in jiffies when data was sent and received last. */
static __always_inline __u8 tcp_spoke_last(struct sock *sk)
{
	struct tcp_sock *tcp = (void *)sk;
	struct inet_connection_sock *connection = (void *)sk;
	bool heard = BPF_CORE_READ(tcp, bytes_received), spoke = BPF_CORE_READ(tcp, bytes_sent);
	__s32 later;

	if (!heard || !spoke)
		return heard ? LAST_THEIRS : spoke ? LAST_OURS : LAST_NOBODY;
	later = BPF_CORE_READ(tcp, lsndtime) - BPF_CORE_READ(connection, icsk_ack.lrcvtime);
	return later > 0 ? LAST_OURS : later < 0 ? LAST_THEIRS : LAST_NOBODY;
}

static __always_inline void learn_tcp(struct talk *talk, struct sock *sk)
{
	struct inet_connection_sock *connection = (void *)sk;
	struct tcp_sock *tcp = (void *)sk;
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	talk->flags = TALK_IS_TCP;
	if (BPF_CORE_READ(tcp, bytes_received))
		talk->flags |= TALK_HEARD;
	if (state == TCP_STATE_CLOSE)
		return;
	if (state == TCP_STATE_LISTEN)
		talk->side = SIDE_SERVES;
	else if (BPF_CORE_READ(connection, icsk_bind_hash, fastreuse) == -1 ||
		 BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK)
		talk->side = SIDE_ASKS;
	else
		talk->side = SIDE_SERVES;
	talk->last = tcp_spoke_last(sk);
}

static __always_inline void learn_udp(struct talk *talk, struct sock *sk)
{
	talk->flags = TALK_IS_DATAGRAM;
	if (!(BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & SOCK_BINDPORT_LOCK))
		talk->side = SIDE_ASKS;
	else if (!BPF_CORE_READ(sk, __sk_common.skc_dport))
		talk->side = SIDE_SERVES;
}

static __always_inline void learn_unix(struct talk *talk, struct sock *sk)
{
	struct unix_sock *local = (void *)sk;
	struct unix_sock *peer = (void *)BPF_CORE_READ(local, peer);
	bool is_named = BPF_CORE_READ(local, addr), is_peer_named = false;

	if (peer)
		is_peer_named = BPF_CORE_READ(peer, addr);
	if (is_named != is_peer_named)
		talk->side = is_named ? SIDE_SERVES : SIDE_ASKS;
}

static __noinline int learn(struct talk *talk, struct sock *sk)
{
	talk->sock = (__u64)sk;
	talk->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (BPF_CORE_READ(sk, sk_type) == SOCK_DGRAM)
		talk->flags = TALK_IS_DATAGRAM;
	if (talk->family == AF_UNIX)
		learn_unix(talk, sk);
	else if (talk->family != AF_INET && talk->family != AF_INET6)
		talk->side = SIDE_NONE;
	else if (talk->flags & TALK_IS_DATAGRAM)
		learn_udp(talk, sk);
	else if (BPF_CORE_READ(sk, sk_protocol) == PROTOCOL_TCP)
		learn_tcp(talk, sk);
	return 0;
}

/* Numbers of places: those of a row follow each other. */
static __always_inline __u32 first_place(__u64 inode)
{
	return inode * 0x9e3779b97f4a7c15ULL >> (64 - TALK_BITS) & ~(TALK_WAYS - 1);
}

static __noinline struct talk *find_further(__u64 inode)
{
	__u32 first = first_place(inode);

	for (__u32 i = 1; i < TALK_WAYS; i++) {
		__u32 number = first + i;
		struct talk *talk = bpf_map_lookup_elem(&talks, &number);

		if (talk && talk->inode == inode)
			return talk;
	}
	return NULL;
}

static __always_inline struct talk *find_talk(__u64 inode)
{
	__u32 first = first_place(inode);
	struct talk *talk = bpf_map_lookup_elem(&talks, &first);

	if (!talk || talk->inode != inode)
		talk = find_further(inode);
	if (talk)
		talk->is_used = 1;
	return talk;
}

/* A place for a new socket: a free one, or the next that was not used since the last time. */
static __noinline struct talk *place_for_talk(__u64 inode, __u32 *ret_place)
{
	__u32 first = first_place(inode);
	struct talk *talk = NULL;

	for (__u32 i = 0; i < TALK_WAYS; i++) {
		__u32 number = first + i;

		talk = bpf_map_lookup_elem(&talks, &number);
		*ret_place = number;
		if (talk && !talk->inode)
			return talk;
	}
	for (__u32 i = 0; i <= TALK_WAYS; i++) {
		__u32 number = first + ((inode + i) & (TALK_WAYS - 1));

		talk = bpf_map_lookup_elem(&talks, &number);
		*ret_place = number;
		if (!talk || !talk->is_used)
			return talk;
		talk->is_used = 0;
	}
	/* All were in use, so what is known of one is lost. */
	count_quality(QUALITY_TURNS_UNKNOWN);
	return talk;
}

/* Finds the state of a socket, or begins it. NULL: another CPU took its place; that is counted. */
static __noinline struct talk *meet(__u64 inode, struct file *file)
{
	__u32 place;
	struct talk *talk = place_for_talk(inode, &place);
	__u64 was;

	if (!talk)
		return NULL;
	was = talk->inode;
	if (was == CLAIMED_TALK ||
	    __sync_val_compare_and_swap(&talk->inode, was, CLAIMED_TALK) != was) {
		talk = find_talk(inode);
		if (!talk)
			count_quality(QUALITY_TURNS_UNKNOWN);
		return talk;
	}
	*talk = (struct talk) { .inode = CLAIMED_TALK, .is_used = 1, .place = place };
	learn(talk, sock_of(file));
	arch_order_stores();
	talk->inode = inode;
	return talk;
}

/* Whether what this side says on the socket is a request. */
static __always_inline bool asks(const struct talk *talk)
{
	if (talk->side == SIDE_UNKNOWN)
		return talk->flags & TALK_OURS_FIRST && talk->turns >= PROVING_TURNS;
	return talk->side == SIDE_ASKS;
}
