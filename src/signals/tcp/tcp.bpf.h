/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP connections, by the events of their life: requested, established, accepted, retransmitted,
 * reset, closed. No hook runs per packet, send or receive: bytes and segments are the kernel's own
 * totals (tcp_totals.bpf.h), which the refresh reads once a second for all open connections.
 *
 * The owner of a connection is known when a thread calls connect() and when accept() returns. The
 * handshake of an inbound connection is complete before that, in no particular context. Connections
 * that neither hook shows (open before the recording, accepted by io_uring) are found by the
 * iterator over all descriptors.
 *
 * Bytes of unix sockets are summed up by thread alone.
 */
#pragma once

#include "signals/tcp/tcp_totals.bpf.h"

enum {
	STATE_ESTABLISHED = 1,
	STATE_SYN_SENT = 2,
	STATE_SYN_RECV = 3,
	STATE_FIN_WAIT1 = 4,
	STATE_CLOSE = 7,
	STATE_LAST_ACK = 9,
	STATE_LISTEN = 10,
};

#define EEXIST    17
#define ECANCELED 125
#define MSG_PEEK  2

static __always_inline void tcp_own(struct connection *connection, const struct identity *who,
				    __u64 now)
{
	connection->thread = who->id;
	tcp_set(connection, OWNED);
	if (tcp_take_from(&tcp_control.notes, now, NOTED_RATE, NOTED_MOST))
		tcp_set(connection, NOTED);
}

static __always_inline void tcp_keep(__u64 cookie, const struct connection *connection)
{
	if (bpf_map_update_elem(&tcp_connections, &cookie, connection, BPF_ANY))
		COUNT_LOST(tcp, LOST_NO_STORAGE);
}

static __noinline int tcp_asks(struct sock *sk, __u16 side)
{
	struct connection connection = { .ends.side = side };
	struct identity who;

	if (!is_wanted_now(SIGNAL_tcp, &who))
		return 0;
	connection.begin_ns = bpf_ktime_get_ns();
	read_ends(sk, &connection.ends);
	if (side == TCP_LISTENING) {
		connection.thread = who.id;
		connection.flags = OWNED;
	} else {
		tcp_own(&connection, &who, connection.begin_ns);
	}
	tcp_keep(bpf_get_socket_cookie(sk), &connection);
	return 0;
}

/*
 * The handshake is complete: of our own connect(), or of an inbound connection that now waits for
 * accept().
 */
static __noinline int tcp_established(struct sock *sk, __u32 old)
{
	__u64 cookie = bpf_get_socket_cookie(sk);
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct connection new = { .ends.side = TCP_INBOUND, .flags = ESTABLISHED };
	struct moment moment = { .operation = TCP_CONNECT, .state = STATE_ESTABLISHED };

	if (!connection) {
		if (old != STATE_SYN_RECV)
			return 0; /* a connection that is not recorded */
		new.begin_ns = bpf_ktime_get_ns();
		read_ends(sk, &new.ends);
		tcp_keep(cookie, &new);
		return 0;
	}
	if (tcp_has(connection, BEFORE))
		return 0;
	moment.now = bpf_ktime_get_ns();
	moment.duration_ns = connection->connect_ns = moment.now - connection->begin_ns;
	read_ends(sk, &connection->ends);
	tcp_set(connection, ESTABLISHED | NEW_CONNECT);
	tcp_send_life(connection, bpf_skc_to_tcp_sock(sk), cookie, &moment, true);
	return 0;
}

static __noinline int tcp_ended(struct sock *sk, __u32 old)
{
	__u64 cookie = bpf_get_socket_cookie(sk);
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct moment moment = { .operation = TCP_LIFETIME, .state = old };

	if (!connection || !tcp)
		return 0;
	moment.now = bpf_ktime_get_ns();
	moment.duration_ns = moment.now - connection->begin_ns;
	tcp_learn_port(connection, sk);
	if (connection->ends.side == TCP_OUTBOUND && !tcp_has(connection, ESTABLISHED)) {
		/* If the caller itself gave up, the kernel sets no error. */
		moment.error = connection->error = sk->sk_err ? sk->sk_err : ECANCELED;
		moment.operation = TCP_CONNECT;
		connection->connect_ns = moment.duration_ns;
		tcp_set(connection, NEW_CONNECT);
		tcp_send_life(connection, tcp, cookie, &moment, true);
	} else if (connection->ends.side != TCP_LISTENING) {
		if (tcp_has(connection, BEFORE)) {
			moment.duration_ns = 0;
		} else {
			connection->lifetime_ns = moment.duration_ns;
			tcp_set(connection, NEW_LIFETIME);
		}
		tcp_send_life(connection, tcp, cookie, &moment, false);
	}
	tcp_tell(connection, tcp, cookie, moment.now, false);
	return 0;
}

/*
 * Whoever closes a connection is its owner, if no other is known. Its totals are added now: after
 * this, no descriptor may refer to it, and the recording may end before the connection does.
 */
static __noinline int tcp_closes(struct sock *sk)
{
	__u64 cookie = bpf_get_socket_cookie(sk);
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct identity who;
	__u64 now;

	if (!connection || !tcp)
		return 0;
	now = bpf_ktime_get_ns();
	if (!tcp_has(connection, OWNED) && is_wanted_now(SIGNAL_tcp, &who))
		tcp_own(connection, &who, now);
	tcp_tell(connection, tcp, cookie, now, false);
	return 0;
}

/*
 * A connect() that ends while the signal is stopped. Its note must not become a failed connect; the
 * next refresh finds the connection as one that began before.
 */
static __noinline int tcp_missed(struct sock *sk)
{
	__u64 cookie = bpf_get_socket_cookie(sk);

	bpf_map_delete_elem(&tcp_connections, &cookie);
	return 0;
}

/* The work is in separate functions, because all of it together would need too much stack. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_on_state, struct sock *sk, int old, int new)
{
	if (!is_on(SIGNAL_tcp) || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (!series[SIGNAL_tcp].enabled)
		return new == STATE_ESTABLISHED ? tcp_missed(sk) : 0;
	switch (new) {
	case STATE_SYN_SENT:
		return tcp_asks(sk, TCP_OUTBOUND);
	case STATE_LISTEN:
		return tcp_asks(sk, TCP_LISTENING);
	case STATE_ESTABLISHED:
		return tcp_established(sk, old);
	case STATE_FIN_WAIT1:
	case STATE_LAST_ACK:
		return tcp_closes(sk);
	case STATE_CLOSE:
		return tcp_ended(sk, old);
	}
	return 0;
}

/* Runs after the last change of state, because a reset can still be sent in between. */
SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_on_destroy, struct sock *sk)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter;
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);

	if (!connection)
		return 0;
	if (tcp && series[SIGNAL_tcp].enabled)
		tcp_tell(connection, tcp, cookie, bpf_ktime_get_ns(), false);
	bpf_map_delete_elem(&tcp_connections, &cookie);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_on_retransmit, struct sock *sk, struct sk_buff *skb)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter;
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct moment moment = { .operation = TCP_RETRANSMIT };

	if (!connection || !series[SIGNAL_tcp].enabled)
		return 0;
	moment.now = bpf_ktime_get_ns();
	moment.state = sk->__sk_common.skc_state;
	tcp_learn_port(connection, sk);
	tcp_send_incident(connection, bpf_skc_to_tcp_sock(sk), cookie, &moment);
	return 0;
}

/* Counted for the listener, because the connection has no socket yet. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(tcp_on_retransmit_synack, struct sock *sk, struct request_sock *request)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter;
	struct connection *connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	struct addition add = { .weight = 1, .values[TCP_SEGMENTS] = 1 };
	struct series_key key = { .operation = TCP_RETRANSMIT };
	struct moment moment = { .operation = TCP_RETRANSMIT, .state = STATE_SYN_RECV };

	if (!connection || !series[SIGNAL_tcp].enabled || !tcp_is_ours(connection))
		return 0;
	moment.now = bpf_ktime_get_ns();
	key.thread = connection->thread;
	tcp_object_of(connection, cookie, moment.now, key.object);
	tcp_add_many(&key, &add);
	tcp_send_incident(connection, NULL, cookie, &moment);
	return 0;
}

/* Also for unknown sockets, and for none: a reset in reply to an unexpected segment. */
static __always_inline void tcp_reset(struct sock *sk, struct tcp_sock *tcp, __u16 place)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter;
	struct connection *connection =
		cookie ? bpf_map_lookup_elem(&tcp_connections, &cookie) : NULL;
	struct moment moment = { .operation = TCP_RESET, .place = place };
	struct series_key key = { .operation = TCP_RESET, .place = place };
	struct addition add = { .weight = 1 };

	if (!series[SIGNAL_tcp].enabled)
		return;
	if (!connection) {
		if (series[SIGNAL_tcp].every_thread)
			tcp_add_many(&key, &add);
		return;
	}
	__sync_fetch_and_add(&connection->resets[place != TCP_OURS], 1);
	moment.now = bpf_ktime_get_ns();
	moment.state = sk->__sk_common.skc_state;
	tcp_learn_port(connection, sk);
	tcp_send_incident(connection, tcp, cookie, &moment);
}

/*
 * There may be no socket at all. 6.13 and later pass NULL; before, reading the socket yields zeros.
 */
SEC("tp_btf/tcp_send_reset")
int BPF_PROG(tcp_on_send_reset, struct sock *sk)
{
	struct series_key key = { .operation = TCP_RESET, .place = TCP_OURS };
	struct addition add = { .weight = 1 };

	if (sk)
		tcp_reset(sk, NULL, TCP_OURS);
	else if (series[SIGNAL_tcp].enabled && series[SIGNAL_tcp].every_thread)
		tcp_add_many(&key, &add);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(tcp_on_receive_reset, struct sock *sk)
{
	tcp_reset(sk, bpf_skc_to_tcp_sock(sk), TCP_THEIRS);
	return 0;
}

/* The cookie of the TCP socket behind a descriptor of the current thread; 0: no TCP socket. */
static __always_inline __u64 tcp_cookie_at(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL, **files = BPF_CORE_READ(table, fd);
	struct socket *socket;
	struct sock *sk;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return 0;
	if ((BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/* The current thread accepted a connection. Returns whether it is recorded. */
VERIFIED_ONCE bool tcp_accepted(const struct identity *who, __u32 fd)
{
	struct moment moment = { .operation = TCP_ACCEPT, .state = STATE_ESTABLISHED };
	struct connection *connection;
	__u64 cookie;

	if (!is_on(SIGNAL_tcp) || !who || !series[SIGNAL_tcp].enabled)
		return false;
	cookie = tcp_cookie_at(bpf_get_current_task_btf(), fd);
	connection = cookie ? bpf_map_lookup_elem(&tcp_connections, &cookie) : NULL;
	if (!connection || connection->accept_ns)
		return false;
	if (!is_recorded(SIGNAL_tcp, who)) {
		bpf_map_delete_elem(&tcp_connections, &cookie);
		return false;
	}
	moment.now = bpf_ktime_get_ns();
	/* The iterator over all descriptors may have found it before the call returned. */
	if (!tcp_has(connection, OWNED))
		tcp_own(connection, who, moment.now);
	if (tcp_has(connection, BEFORE))
		return false; /* unknown since when it waited */
	connection->accept_ns = moment.duration_ns = moment.now - connection->begin_ns;
	tcp_set(connection, NEW_ACCEPT);
	if (moment.duration_ns >= series[SIGNAL_tcp].slow_ns)
		moment.stack = event_stack();
	tcp_send_life(connection, NULL, cookie, &moment, true);
	return true;
}

static __always_inline bool tcp_sys_exit(const struct identity *who, __u64 nr, long ret, __u64 now)
{
	return ((__s32)nr == tcp_knobs.nr_accept4 || (__s32)nr == tcp_knobs.nr_accept) &&
	       ret >= 0 && tcp_accepted(who, ret);
}

/* Adds a connection that was open before the recording, or whose begin was missed. */
static __noinline int tcp_meet(struct tcp_sock *tcp, __u64 cookie, const struct identity *who)
{
	struct connection new = { .ends.side = TCP_UNKNOWN, .flags = BEFORE | NOTED | ESTABLISHED };
	struct sock *sk = (struct sock *)tcp;
	long err;

	switch (sk->__sk_common.skc_state) {
	case STATE_CLOSE: /* not connected yet, or not any more */
	case STATE_SYN_SENT:
	case STATE_SYN_RECV:
		return 0;
	case STATE_LISTEN:
		new.ends.side = TCP_LISTENING;
	}
	if (who) {
		new.thread = who->id;
		new.flags |= OWNED;
	}
	read_ends(sk, &new.ends);
	tcp_skip_totals(&new, tcp);
	/*
	 * If the connection began meanwhile, it already has an entry, which is complete. Keep that
	 * one.
	 */
	err = bpf_map_update_elem(&tcp_connections, &cookie, &new, BPF_NOEXIST);
	if (err && err != -EEXIST)
		COUNT_LOST(tcp, LOST_NO_STORAGE);
	return 0;
}

/* All descriptors of all processes in all network namespaces, once a second. */
SEC("iter/task_file")
int tcp_on_descriptor(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct connection *connection;
	struct tcp_sock *tcp;
	struct socket *socket;
	struct identity who;
	struct sock *sk;
	__u64 cookie;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : NULL;
	tcp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (!tcp || !is_wanted_by(SIGNAL_tcp, task, &who))
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	if (!connection) {
		tcp_meet(tcp, cookie, &who);
		return 0;
	}
	if (!tcp_has(connection, OWNED))
		tcp_own(connection, &who, bpf_ktime_get_ns());
	tcp_tell(connection, tcp, cookie, bpf_ktime_get_ns(), true);
	return 0;
}

/* All sockets of our own network namespace, including those without a descriptor. */
SEC("iter/tcp")
int tcp_on_socket(struct bpf_iter__tcp *ctx)
{
	struct sock_common *sk = ctx->sk_common;
	struct tcp_sock *tcp = sk ? bpf_skc_to_tcp_sock(sk) : NULL;
	struct connection *connection;
	__u64 cookie;

	if (!tcp)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	connection = bpf_map_lookup_elem(&tcp_connections, &cookie);
	if (connection)
		tcp_tell(connection, tcp, cookie, bpf_ktime_get_ns(), true);
	else if (series[SIGNAL_tcp].every_thread)
		tcp_meet(tcp, cookie, NULL);
	return 0;
}

/* Bytes of a unix socket. */
VERIFIED_ONCE int tcp_carried(int bytes, __u16 operation)
{
	struct series_key key = { .operation = operation };
	struct addition add = { .weight = 1, .values[TCP_BYTES] = bytes };
	struct identity who;

	if (!is_on(SIGNAL_tcp) || !is_wanted_now(SIGNAL_tcp, &who))
		return 0;
	key.thread = who.id;
	tcp_add_many(&key, &add);
	tcp_distribute(&key, TCP_BYTES, bytes);
	return 0;
}

static __always_inline void tcp_sock_send(struct sock *sk, int ret)
{
	if (sk->__sk_common.skc_family == AF_UNIX && ret > 0)
		tcp_carried(ret, TCP_UNIX_SEND);
}

static __always_inline void tcp_sock_receive(struct sock *sk, int ret, int flags)
{
	if (sk->__sk_common.skc_family == AF_UNIX && ret > 0 && !(flags & MSG_PEEK))
		tcp_carried(ret, TCP_UNIX_RECEIVE);
}

/* Before 6.3 there are no tracepoints for this. For stream sockets, use the functions. */
SEC("fexit/unix_stream_sendmsg")
int BPF_PROG(tcp_on_unix_sendmsg, struct socket *socket, struct msghdr *message, __u64 size,
	     int ret)
{
	tcp_sock_send(socket->sk, ret);
	return 0;
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(tcp_on_unix_recvmsg, struct socket *socket, struct msghdr *message, __u64 size,
	     int flags, int ret)
{
	tcp_sock_receive(socket->sk, ret, flags);
	return 0;
}
