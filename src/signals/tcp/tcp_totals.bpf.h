/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds the kernel's own totals of a socket to the sums. Nothing runs per packet: the totals are
 * read when a connection ends, and once a second while it is open, and the increase is added. Two
 * CPUs may do so at the same time, because the iterator does not hold the socket's lock. So a total
 * only moves forward, and only the CPU that moved it adds the increase.
 */
#pragma once

#include "signals/tcp/tcp_events.bpf.h"

#define MOST_TRIES 3

/*
 * What to add to the sums; unset fields are 0. `weight` is the number of events, and values are
 * their totals.
 */
struct addition {
	__u64 weight;
	__u64 values[TCP_MEASURES];
	__u64 most_rtt_ns;
};

/* Moves *told forward to `now` and returns the increase. */
static __always_inline __u64 tcp_advance(__u64 *told, __u64 now)
{
	for (int i = 0; i < MOST_TRIES; i++) {
		__u64 then = *(volatile __u64 *)told;

		if ((__s64)(now - then) <= 0)
			return 0;
		if (__sync_val_compare_and_swap(told, then, now) == then)
			return now - then;
	}
	__sync_fetch_and_add(&series[SIGNAL_tcp].unpaired, 1);
	return 0;
}

static __always_inline __u32 tcp_advance32(__u32 *told, __u32 now)
{
	for (int i = 0; i < MOST_TRIES; i++) {
		__u32 then = *(volatile __u32 *)told;

		if ((__s32)(now - then) <= 0)
			return 0;
		if (__sync_val_compare_and_swap(told, then, now) == then)
			return now - then;
	}
	__sync_fetch_and_add(&series[SIGNAL_tcp].unpaired, 1);
	return 0;
}

/* How long sending was limited in this way, in jiffies; as in tcp_get_info_chrono_stats(). */
static __always_inline __u32 tcp_read_limited(struct tcp_sock *tcp, __u32 chrono)
{
	__u32 limited = tcp->chrono_stat[chrono];

	if (BPF_CORE_READ_BITFIELD(tcp, chrono_type) == chrono + 1)
		limited += (__u32)bpf_jiffies64() - tcp->chrono_start;
	return limited;
}

VERIFIED_ONCE int tcp_distribute(const struct series_key *key, __u32 measure, __u64 value)
{
	__u32 bucket = histogram_bucket(value), *buckets;

	if (!is_on(SIGNAL_tcp) || !key)
		return 0;
	buckets = series_histograms(SERIES(tcp), series_turn(SERIES(tcp)), key);
	if (buckets && bucket < HISTOGRAM_BUCKETS && measure < TCP_MEASURES)
		__sync_fetch_and_add(&buckets[measure * HISTOGRAM_BUCKETS + bucket], 1);
	return 0;
}

/* Like series_sum_up(), but for several events at once. */
VERIFIED_ONCE int tcp_add_many(const struct series_key *key, const struct addition *add)
{
	struct series_key copy; /* 6.1: an argument of a global function cannot be a map key */
	struct series_sum *sum;

	if (!is_on(SIGNAL_tcp) || !key || !add)
		return 0;
	copy = *key;
	series_reduce(&copy);
	sum = series_sum_of(SERIES(tcp), series_turn(SERIES(tcp)), &copy);
	if (!sum)
		sum = &series[SIGNAL_tcp].overflow;
	__sync_fetch_and_add(&sum->count, add->weight);
	for (int i = 0; i < TCP_MEASURES; i++) {
		__u64 most = i == TCP_RTT ? add->most_rtt_ns : add->values[i];

		__sync_fetch_and_add(&sum->sum[i], add->values[i]);
		if (most > sum->max[i])
			sum->max[i] = most;
	}
	return 0;
}

static __always_inline void tcp_add_one(struct series_key *key, __u16 operation, __u16 error,
					__u64 time_ns)
{
	struct addition add = { .weight = 1, .values[TCP_TIME] = time_ns };

	key->operation = operation;
	key->error = error;
	tcp_add_many(key, &add);
	tcp_distribute(key, TCP_TIME, time_ns);
	key->error = 0;
}

/* Adds the connection's connect, accept and lifetime, once each. */
static __always_inline void tcp_tell_life(struct connection *connection, struct series_key *key)
{
	if (tcp_clear(connection, NEW_CONNECT))
		tcp_add_one(key, TCP_CONNECT, connection->error, connection->connect_ns);
	if (tcp_clear(connection, NEW_ACCEPT))
		tcp_add_one(key, TCP_ACCEPT, 0, connection->accept_ns);
	if (tcp_clear(connection, NEW_LIFETIME))
		tcp_add_one(key, TCP_LIFETIME, 0, connection->lifetime_ns);
}

static __always_inline void tcp_tell_traffic(struct connection *connection, struct series_key *key,
					     const struct tcp_totals *now)
{
	__u64 rtt_ns = (__u64)now->rtt_us * 1000;
	__u64 bytes = tcp_advance(&connection->told.sent_bytes, now->sent_bytes);
	__u64 segments = tcp_advance32(&connection->told.segments_out, now->segments_out);
	struct addition add = { segments, { 0, bytes, segments, rtt_ns * segments }, rtt_ns };

	if (bytes || segments) {
		key->operation = TCP_SEND;
		tcp_add_many(key, &add);
		/* Even if the value is unchanged: one sample per connection and second. */
		if (rtt_ns)
			tcp_distribute(key, TCP_RTT, rtt_ns);
	}
	bytes = tcp_advance(&connection->told.received_bytes, now->received_bytes);
	segments = tcp_advance32(&connection->told.segments_in, now->segments_in);
	if (bytes || segments) {
		add = (struct addition) { segments, { 0, bytes, segments, 0 }, 0 };
		key->operation = TCP_RECEIVE;
		tcp_add_many(key, &add);
	}
}

static __always_inline void tcp_tell_repeated(struct connection *connection, struct series_key *key,
					      const struct tcp_totals *now, __u64 repeated)
{
	__u64 segments = tcp_advance32(&connection->told.retransmits, now->retransmits);
	__u64 bytes = tcp_advance(&connection->repeated_told, repeated);
	struct addition add = { segments, { 0, bytes, segments, 0 }, 0 };

	if (!segments && !bytes)
		return;
	key->operation = TCP_RETRANSMIT;
	tcp_add_many(key, &add);
}

static __always_inline void tcp_tell_resets(struct connection *connection, struct series_key *key)
{
	for (int i = 0; i < 2; i++) {
		struct addition add = { .weight = __sync_lock_test_and_set(&connection->resets[i],
									   0) };

		if (!add.weight)
			continue;
		key->operation = TCP_RESET;
		key->place = TCP_OURS + i;
		tcp_add_many(key, &add);
	}
	key->place = 0;
}

/* Our window is closed if the advertised window is full. */
static __always_inline bool tcp_is_window_closed(struct tcp_sock *tcp)
{
	return (__s32)(tcp->rcv_wup + tcp->rcv_wnd - tcp->rcv_nxt) <= 0;
}

/* Adds the time in which sending was limited in this way, and returns it. */
static __always_inline __u64 tcp_tell_limited(struct connection *connection, struct series_key *key,
					      struct tcp_sock *tcp, __u32 chrono)
{
	__u64 limited_ns = tcp_knobs.jiffy_ns * tcp_advance32(&connection->limited_told[chrono],
							      tcp_read_limited(tcp, chrono));

	if (limited_ns) {
		key->place = TCP_BY_NETWORK + chrono;
		tcp_add_one(key, TCP_LIMITED, 0, limited_ns);
	}
	return limited_ns;
}

static __always_inline void tcp_tell_windows(struct connection *connection, struct series_key *key,
					     struct tcp_sock *tcp, __u64 cookie, __u64 now,
					     bool is_look)
{
	struct moment moment = { .now = now,
				 .duration_ns = tcp_tell_limited(connection, key, tcp, CHRONO_RWND),
				 .operation = TCP_ZERO_WINDOW,
				 .place = TCP_THEIRS };

	tcp_tell_limited(connection, key, tcp, CHRONO_BUSY);
	tcp_tell_limited(connection, key, tcp, CHRONO_SNDBUF);
	if (moment.duration_ns) {
		key->place = TCP_THEIRS;
		tcp_add_one(key, TCP_ZERO_WINDOW, 0, moment.duration_ns);
		moment.state = ((struct sock *)tcp)->__sk_common.skc_state;
		tcp_send_incident(connection, tcp, cookie, &moment);
	}
	key->place = TCP_OURS;
	if (is_look && tcp_is_window_closed(tcp)) {
		struct addition add = { .weight = 1 };

		key->operation = TCP_ZERO_WINDOW;
		tcp_add_many(key, &add);
	}
	key->place = 0;
}

/* For a listener: drops are all that it has. */
static __always_inline void tcp_tell_drops(struct connection *connection, struct series_key *key,
					   struct tcp_sock *tcp, __u64 cookie, __u64 now)
{
	struct sock *sk = (struct sock *)tcp;
	struct addition add = { .weight = tcp_advance32(&connection->drops_told,
							sk->sk_drops.counter) };

	if (!add.weight)
		return;
	tcp_object_of(connection, cookie, now, key->object);
	key->operation = TCP_OVERFLOW;
	tcp_add_many(key, &add);
}

/*
 * Adds to the sums what is not in them yet. `is_look`: called for a connection that is still open.
 */
static __noinline int tcp_tell(struct connection *connection, struct tcp_sock *tcp, __u64 cookie,
			       __u64 now, bool is_look)
{
	struct series_key key = {};
	struct tcp_totals totals;
	__u64 repeated;

	if (!tcp_is_ours(connection))
		return 0;
	/* A short connection may end soon, and is then added to the sums of its service. */
	if (is_look && !tcp_control.is_last && connection->ends.side != TCP_LISTENING &&
	    !tcp_is_noted(connection, now))
		return 0;
	key.thread = connection->thread;
	if (connection->ends.side == TCP_LISTENING) {
		tcp_tell_drops(connection, &key, tcp, cookie, now);
		return 0;
	}
	tcp_learn_port(connection, (struct sock *)tcp);
	tcp_object_of(connection, cookie, now, key.object);
	tcp_read_totals(tcp, &totals, &repeated);
	tcp_tell_life(connection, &key);
	tcp_tell_traffic(connection, &key, &totals);
	tcp_tell_repeated(connection, &key, &totals, repeated);
	tcp_tell_resets(connection, &key);
	tcp_tell_windows(connection, &key, tcp, cookie, now, is_look);
	return 0;
}

/* Ignores what the connection did before. */
static __always_inline void tcp_skip_totals(struct connection *connection, struct tcp_sock *tcp)
{
	struct sock *sk = (struct sock *)tcp;

	tcp_read_totals(tcp, &connection->told, &connection->repeated_told);
	for (int i = 0; i < TCP_CHRONOS; i++)
		connection->limited_told[i] = tcp_read_limited(tcp, i);
	connection->drops_told = sk->sk_drops.counter;
}
