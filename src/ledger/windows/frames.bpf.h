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
	__u32 stream; /* that the thread works for since this message */
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

/* The first `bytes` bytes of the payload are there. */
static __always_inline void payload_begins(struct frame_walk *walk, __u32 bytes)
{
	struct http2_way *way = walk->way;
	struct http2_event *event = walk->event;
	__u32 skip = way->flags & HTTP2_HAS_PRIORITY ? 5 : 0;

	passes(walk);
	if (way->type == HTTP2_CONTINUATION || way->type == HTTP2_PUSH_PROMISE) {
		walk->connection->http2.asked.is_whole = 0;
		walk->connection->http2.answered.is_whole = 0;
	}
	if (way->type != HTTP2_HEADERS)
		return;
	event->stream = way->stream;
	event->is_answer = walk->is_answer;
	/* What is padded is rare, and not worth the bytes of its parser. */
	event->is_cut = way->skip || !(way->flags & HTTP2_END_HEADERS) ||
			way->flags & HTTP2_PADDED || bytes < skip;
	event->address = walk->address + skip;
	event->size = way->flags & HTTP2_PADDED || bytes < skip ? 0 : bytes - skip;
	stream_has_headers(event);
}

static __always_inline void frame_ends(struct frame_walk *walk)
{
	struct http2_way *way = walk->way;
	struct http2_event *event = walk->event;

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

	if (!walk->pieces ||
	    bpf_probe_read_user(&piece, sizeof(piece), (void *)walk->pieces)) {
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
	if (wants && (!walk->address ||
		      bpf_probe_read_user(http2_room(way), wants & (HEAD_BYTES - 1),
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
		payload_begins(walk, passed);
		break;
	case HTTP2_PASSED:
		if (way->is_open)
			passes(walk);
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
	walk.way = walk.is_answer ? &walk.connection->http2.answer : &walk.connection->http2.request;
	walk_message(&walk, message);
	if (message->is_sent)
		walk.connection->flags &= ~SOCKET_CHOKED;
}
