/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk along the frames of a message of HTTP/2. */
#pragma once

#include "ledger/windows/headers.bpf.h"

struct frame_walk {
	struct http2_way *way;
	struct socket_window *connection;
	struct http2_event *event;
	__u64 address, left; /* of this piece of memory */
	__u64 rest, pieces;  /* bytes in the pieces behind, and the iovec of the next one */
	__u32 is_answer;
	__u32 stream;      /* that the thread works for since this message */
	__u32 is_gathered; /* the begin of the block of headers is there */
};

static __always_inline void passes(struct frame_walk *walk)
{
	struct http2_way *way = walk->way;

	if (!http2_carries(way) || walk->stream == way->stream)
		return;
	walk->stream = walk->event->stream = way->stream;
	if (walk->is_answer)
		stream_is_answered(walk->event);
	else
		stream_is_asked(walk->event);
}

static __always_inline void frame_begins(struct frame_walk *walk)
{
	struct http2_way *way = walk->way;
	struct http2 *http2 = &walk->connection->http2;

	if (walk->is_answer || way->type != HTTP2_HEADERS || !(way->stream & 1) ||
	    way->stream <= http2->last_stream) {
		passes(walk);
		return;
	}
	http2->last_stream = way->stream;
	walk->stream = walk->event->stream = way->stream;
	stream_begins(walk->event);
}

/* `bytes` bytes of the payload are there: those of headers are gathered. */
static __always_inline void payload_comes(struct frame_walk *walk, __u32 bytes, bool is_first)
{
	struct http2_event *event = walk->event;
	__u32 at, room;

	passes(walk);
	if (walk->way->type != HTTP2_HEADERS)
		return;
	if (is_first) {
		walk->is_gathered = 1;
		event->size = event->is_cut = 0;
	}
	if (!walk->is_gathered)
		return;
	at = event->size;
	room = at < HPACK_BYTES ? HPACK_BYTES - at : 0;
	if (bytes > room) {
		bytes = room;
		event->is_cut = 1;
	}
	if (!bytes)
		return;
	if (bpf_probe_read_user(event->block + (at & (HPACK_BYTES - 1)),
				((bytes - 1) & (HPACK_BYTES - 1)) + 1, (void *)walk->address))
		event->is_cut = 1;
	else
		event->size = at + bytes;
}

/*
 * A block of headers is complete. If it came in several messages or frames, it is not read, and the
 * table is not known any more. Padding is rare, and not worth its parser.
 */
static __always_inline void headers_end(struct frame_walk *walk)
{
	struct http2_way *way = walk->way;
	struct http2_event *event = walk->event;

	event->stream = way->stream;
	event->is_answer = walk->is_answer;
	event->skip = way->flags & HTTP2_HAS_PRIORITY ? 5 : 0;
	if (!walk->is_gathered || way->type != HTTP2_HEADERS || way->flags & HTTP2_PADDED) {
		event->size = 0;
		event->is_cut = 1;
	}
	if (!(way->flags & HTTP2_END_HEADERS))
		event->is_cut = 1;
	walk->is_gathered = 0;
	stream_has_headers();
}

static __always_inline void frame_ends(struct frame_walk *walk)
{
	struct http2_way *way = walk->way;
	struct http2_event *event = walk->event;

	if (way->type == HTTP2_HEADERS || way->type == HTTP2_CONTINUATION ||
	    way->type == HTTP2_PUSH_PROMISE)
		headers_end(walk);
	if (!http2_ends_stream(way))
		return;
	event->stream = way->stream;
	event->resets = way->type == HTTP2_RST_STREAM;
	if (walk->is_answer)
		stream_ends(event);
	else if (event->resets)
		stream_is_cancelled(event);
}

static __always_inline long next_piece(struct frame_walk *walk)
{
	struct {
		__u64 base, size;
	} piece;

	if (!walk->pieces || bpf_probe_read_user(&piece, sizeof(piece), (void *)walk->pieces)) {
		walk->way->is_lost = 1;
		return 1;
	}
	walk->pieces += sizeof(piece);
	walk->address = piece.base;
	walk->left = piece.size < walk->rest ? piece.size : walk->rest;
	walk->rest -= walk->left;
	return 0;
}

static long frame_step(__u32 i, struct frame_walk *walk)
{
	struct http2_way *way = walk->way;
	__u32 wants, passed = 0;

	if (!walk->left && walk->rest && (!way->is_open || way->skip))
		return next_piece(walk);
	wants = http2_wants(way, walk->left);
	if (wants &&
	    (!walk->address || bpf_probe_read_user(http2_room(way), wants & (HEAD_BYTES - 1),
						   (void *)walk->address))) {
		way->is_lost = 1;
		return 1;
	}
	switch (http2_step(way, walk->left, &passed)) {
	case HTTP2_DRY:
		return 1;
	case HTTP2_LOST:
		way->is_lost = 1;
		return 1;
	case HTTP2_BEGINS:
		frame_begins(walk);
		break;
	case HTTP2_FIRST:
		payload_comes(walk, passed, true);
		break;
	case HTTP2_PASSED:
		if (way->is_open)
			payload_comes(walk, passed, false);
		break;
	case HTTP2_ENDS:
		frame_ends(walk);
		break;
	}
	walk->address += passed;
	walk->left -= passed;
	return 0;
}

static __always_inline void walk_message(struct frame_walk *walk, const struct message *message)
{
	bool was_lost = walk->way->is_lost;

	walk->address = message->address;
	walk->left = message->first;
	walk->rest = message->bytes - message->first;
	walk->pieces = message->pieces;
	http2_message_begins(walk->way);
	bpf_loop(HTTP2_STEPS, frame_step, walk, 0);
	if (walk->left || walk->rest)
		walk->way->is_lost = 1;
	if (walk->way->is_lost && !was_lost)
		streams_are_lost(walk->connection);
}

/* What the message means that the call has read or sent, which is of a connection of HTTP/2. */
static __always_inline void frames_pass(void)
{
	__u32 zero = 0, place;
	struct message *message = bpf_map_lookup_elem(&windows_messages, &zero);
	struct http2_event *event = bpf_map_lookup_elem(&windows_http2, &zero);
	struct frame_walk walk = { .event = event };
	struct talk *talk;

	if (!message || !event)
		return;
	place = message->place;
	talk = bpf_map_lookup_elem(&talks, &place);
	walk.connection = socket_window_at(place);
	if (!talk || !walk.connection)
		return;
	event->inode = walk.connection->inode;
	event->now = message->now;
	event->begin_ns = message->begin_ns;
	event->ready_ns = message->is_sent ? 0 : take_ready(talk);
	event->place = place;
	event->asks = message->asks;
	walk.is_answer = message->asks != message->is_sent;
	walk.way =
		walk.is_answer ? &walk.connection->http2.answer : &walk.connection->http2.request;
	walk_message(&walk, message);
	if (message->is_sent)
		walk.connection->flags &= ~SOCKET_CHOKED;
}
