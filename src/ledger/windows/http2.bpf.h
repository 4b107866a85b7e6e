/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP/2: the streams of a connection are requests, and many are open at once. So each has a window
 * of its own, in a place behind those of the sockets. The window of the connection's own place only
 * says how far both directions were walked.
 *
 * A thread works for the stream of which it has read or sent a frame last. Whoever serves one
 * connection serves many streams, so a poll always ends its segment.
 */
#pragma once

#include "ledger/windows/sides.bpf.h"

#define STREAM_WAYS      8
#define HTTP2_STEPS      8192 /* frames, pieces of them and pieces of memory in one message */
#define HPACK_FIELDS     64
#define HPACK_REMEMBERED 4096

/* What a frame does to a stream. Large, so not on the stack: one for each CPU. */
struct http2_event {
	__u64 inode, now, ready_ns, begin_ns;
	__u32 place; /* of the connection */
	__u32 stream;
	__u32 asks; /* this side does */
	__u32 resets;
	/* A block of headers. */
	__u32 size; /* bytes of it that are in `block` */
	__u32 skip; /* so many of them are no headers */
	__u32 is_answer;
	__u32 is_cut; /* there is more of it elsewhere */
	struct hpack_entry entry, method, path;
	__u8 block[HPACK_BYTES + HPACK_SPARE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct http2_event);
} windows_http2 SEC(".maps");

/* Headers of dynamic tables that mean something. */
struct hpack_key {
	__u64 inode;
	__u32 number; /* the how many-th that was inserted */
	__u32 is_answer;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HPACK_REMEMBERED);
	__type(key, struct hpack_key);
	__type(value, struct hpack_entry);
} windows_headers SEC(".maps");

/* --- places of streams ----------------------------------------------------------------------- */

static __always_inline __u32 stream_place(__u64 inode, __u32 stream, __u32 i)
{
	__u64 hash = (inode << 20 ^ stream) * 0x9e3779b97f4a7c15ULL;

	return STREAMS_FIRST + ((hash >> (64 - STREAM_BITS) & ~(STREAM_WAYS - 1)) + i);
}

static __always_inline bool is_open_window(const struct socket_window *socket)
{
	return socket->phase == PHASE_ASKED || socket->phase == PHASE_ANSWERED;
}

/* 0: the stream has no window. */
VERIFIED_ONCE __u32 place_of_stream(__u64 inode, __u32 stream)
{
	for (__u32 i = 0; i < STREAM_WAYS; i++) {
		__u32 place = stream_place(inode, stream, i);
		struct socket_window *socket = socket_window_at(place);

		if (socket && socket->inode == inode && socket->stream == stream &&
		    is_open_window(socket))
			return place;
	}
	return 0;
}

static __always_inline struct socket_window *find_stream(__u64 inode, __u32 stream,
							 __u32 *ret_place)
{
	*ret_place = place_of_stream(inode, stream);
	return *ret_place ? socket_window_at(*ret_place) : NULL;
}

/* Whether the place can be had. If its connection is gone, nobody will end its window. */
VERIFIED_ONCE bool takes_place(struct socket_window *socket, bool also_stale)
{
	struct socket_window *connection;
	__u32 was;

	if (!socket || !with_windows)
		return false;
	was = socket->phase;
	if (was == PHASE_ENDING)
		return false;
	if (was != PHASE_NONE) {
		connection = also_stale ? socket_window_at(socket->connection) : NULL;
		if (!connection || connection->inode == socket->inode)
			return false;
	}
	if (__sync_val_compare_and_swap(&socket->phase, was, PHASE_ENDING) != was)
		return false;
	if (was != PHASE_NONE)
		count_window(WINDOWS_SOCKETS_LOST, 1);
	return true;
}

/* A place for a new stream, in the phase PHASE_ENDING. 0: there is no room. */
VERIFIED_ONCE __u32 place_for_stream(__u64 inode, __u32 stream)
{
	for (__u32 i = 0; i < 2 * STREAM_WAYS; i++) {
		__u32 place = stream_place(inode, stream, i & (STREAM_WAYS - 1));
		struct socket_window *socket = socket_window_at(place);

		if (socket && takes_place(socket, i >= STREAM_WAYS))
			return place;
	}
	count_window(WINDOWS_LOST, 1);
	return 0;
}

/* --- windows of streams ---------------------------------------------------------------------- */

/* The exchange of the current thread on this connection. 0: nothing is to be done. */
static __always_inline bool exchange_of(const struct http2_event *event, struct exchange *of)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u32 place = event->place;

	*of = (struct exchange) { .task = current, .now = event->now };
	of->thread = find(current);
	of->here = claimed_by(current);
	of->worker = worker_of(current, !event->asks);
	of->talk = bpf_map_lookup_elem(&talks, &place);
	return of->thread && of->talk;
}

static __always_inline void stream_is_new(struct socket_window *stream,
					  struct socket_window *connection,
					  const struct http2_event *event)
{
	stream->inode = event->inode;
	stream->stream = event->stream;
	stream->connection = event->place;
	stream->protocol = connection->protocol;
	stream->kind = connection->kind;
	stream->ends = connection->ends;
	stream->flags = 0;
	stream->dialled_for = 0;
	stream->text_hash = 0;
	stream->class = 0;
	__builtin_memset(stream->window.text, 0, WINDOW_TEXT_BYTES);
}

/* The headers of a new request have come, or were sent. */
VERIFIED_ONCE int stream_begins(const struct http2_event *event)
{
	struct socket_window *connection;
	struct exchange of;

	if (!event || !with_windows || !exchange_of(event, &of))
		return 0;
	connection = socket_window_at(event->place);
	if (!connection)
		return 0;
	of.place = place_for_stream(event->inode, event->stream);
	of.socket = of.place ? socket_window_at(of.place) : NULL;
	if (!of.socket)
		return 0;
	connection->http2.has_streams = 1;
	stream_is_new(of.socket, connection, event);
	if (event->asks) {
		window_begins(of.socket, of.thread, event->begin_ns, of.now);
		of.socket->cursor_ns = event->begin_ns;
		note_parent(&of);
		return 0;
	}
	if (!of.worker) {
		of.socket->phase = PHASE_NONE;
		count_window(WINDOWS_LOST, 1);
		return 0;
	}
	stops_working(&of);
	server_begins(of.socket, of.worker, of.thread, event->ready_ns, of.now);
	starts_working(&of);
	of.worker->serves_many = 1;
	return 0;
}

/* More of a request was read. */
VERIFIED_ONCE int stream_is_asked(const struct http2_event *event)
{
	struct exchange of;

	if (!event || !with_windows || event->asks || !exchange_of(event, &of))
		return 0;
	of.socket = find_stream(event->inode, event->stream, &of.place);
	if (!of.socket || !of.worker || works_for(&of))
		return 0;
	stops_working(&of);
	gap_ends(of.socket, of.now, WINDOW_PART_CLIENT_BYTES, event->ready_ns);
	starts_working(&of);
	return 0;
}

/* Some of the answer was sent, or has come. */
VERIFIED_ONCE int stream_is_answered(const struct http2_event *event)
{
	struct socket_window *connection;
	struct exchange of;

	if (!event || !with_windows || !exchange_of(event, &of))
		return 0;
	connection = socket_window_at(event->place);
	of.socket = find_stream(event->inode, event->stream, &of.place);
	if (!of.socket || !connection)
		return 0;
	if (event->asks) {
		answer_arrives(&of, event->ready_ns);
		return 0;
	}
	if (!of.worker)
		return 0;
	if (!works_for(&of))
		stops_working(&of);
	answer_leaves(&of, connection->flags & SOCKET_CHOKED);
	return 0;
}

/* The last byte of the answer was sent, or has come. */
VERIFIED_ONCE int stream_ends(const struct http2_event *event)
{
	struct exchange of;

	if (!event || !with_windows || !exchange_of(event, &of))
		return 0;
	of.socket = find_stream(event->inode, event->stream, &of.place);
	if (!of.socket || of.socket->phase != PHASE_ANSWERED)
		return 0;
	if (event->resets)
		of.socket->status = WINDOW_STATUS_FAILED;
	if (!event->asks && works_for(&of))
		is_answered(&of);
	window_ends(of.socket, PHASE_ANSWERED, of.talk->sock);
	return 0;
}

/* No more of the answer will come. */
static __always_inline void give_up(struct socket_window *stream, __u64 now, __u64 sock)
{
	if (stream->phase == PHASE_ASKED) {
		gap_ends(stream, now, WINDOW_PART_ELSEWHERE, 0);
		stream->window.end_ns = stream->cursor_ns;
		stream->status = WINDOW_STATUS_ABANDONED;
		window_ends(stream, PHASE_ASKED, sock);
	} else {
		window_ends(stream, PHASE_ANSWERED, sock);
	}
}

/* The side that asks wants no answer any more. */
VERIFIED_ONCE int stream_is_cancelled(const struct http2_event *event)
{
	struct exchange of;

	if (!event || !with_windows || !exchange_of(event, &of))
		return 0;
	of.socket = find_stream(event->inode, event->stream, &of.place);
	if (!of.socket)
		return 0;
	if (works_for(&of))
		stops_working(&of);
	give_up(of.socket, of.now, of.talk->sock);
	return 0;
}

/* --- all streams of a connection ------------------------------------------------------------- */

struct stream_sweep {
	__u64 inode, now, sock;
	__u32 is_lost; /* it is not known whether the streams have ended */
	__u32 count;
};

static long sweep_stream(__u32 i, struct stream_sweep *sweep)
{
	struct socket_window *stream = socket_window_at(STREAMS_FIRST + i);
	__u32 phase;

	if (!stream)
		return 1;
	phase = stream->phase;
	if (stream->inode != sweep->inode || !is_open_window(stream))
		return 0;
	if (!sweep->is_lost)
		give_up(stream, sweep->now, sweep->sock);
	else if (__sync_val_compare_and_swap(&stream->phase, phase, PHASE_NONE) == phase)
		sweep->count++;
	return 0;
}

/* The connection is closed: no answer will follow. */
VERIFIED_ONCE int streams_are_closed(struct socket_window *connection, __u64 now, __u64 sock)
{
	struct stream_sweep sweep = { .now = now, .sock = sock };

	if (!connection || !with_windows || !connection->http2.has_streams)
		return 0;
	sweep.inode = connection->inode;
	bpf_loop(1 << STREAM_BITS, sweep_stream, &sweep, 0);
	return 0;
}

/* A direction of the connection was lost, so an end may have been missed. */
VERIFIED_ONCE int streams_are_lost(struct socket_window *connection)
{
	struct stream_sweep sweep = { .is_lost = 1 };

	if (!connection || !with_windows)
		return 0;
	count_window(WINDOWS_RESYNC, 1);
	connection->http2.asked.is_whole = connection->http2.answered.is_whole = 0;
	if (!connection->http2.has_streams)
		return 0;
	sweep.inode = connection->inode;
	bpf_loop(1 << STREAM_BITS, sweep_stream, &sweep, 0);
	if (sweep.count)
		count_window(WINDOWS_LOST, sweep.count);
	connection->http2.has_streams = 0;
	return 0;
}
