/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of HTTP/2, as far as they tell which streams begin and end. A frame is 3 bytes of length
 * (big endian), a type, flags, 4 bytes with the number of its stream, and the payload. Both
 * directions of a connection are walked from message to message; a message may begin and end
 * anywhere.
 */
#pragma once

#include "ledger/windows/hpack.h"
#include "ledger/windows/windows.h"

#define HTTP2_HEADER  9
#define HTTP2_ROOM    31 /* for a header: its place may be any that the mask lets pass */
#define HTTP2_PREFACE 24 /* bytes that a client sends first */

enum http2_type {
	HTTP2_DATA,
	HTTP2_HEADERS,
	HTTP2_PRIORITY,
	HTTP2_RST_STREAM,
	HTTP2_SETTINGS,
	HTTP2_PUSH_PROMISE,
	HTTP2_PING,
	HTTP2_GOAWAY,
	HTTP2_WINDOW_UPDATE,
	HTTP2_CONTINUATION,
	HTTP2_EXTENSION_LAST = 0x10,
	HTTP2_NO_TYPE = 0xff, /* the preface */
};

enum http2_flags {
	HTTP2_END_STREAM = 1,
	HTTP2_ACK = 1,
	HTTP2_END_HEADERS = 4,
	HTTP2_PADDED = 8,
	HTTP2_HAS_PRIORITY = 0x20,
};

/* Where one direction of a connection is. */
struct http2_way {
	__u32 skip; /* bytes of the payload that are still to come */
	__u32 stream;
	__u8 type, flags;        /* of the frame that is open */
	__u8 is_open;            /* the header was passed, and the end was not */
	__u8 is_fresh;           /* nothing of the payload was passed */
	__u8 is_lost;            /* its place: a message that begins with a frame finds it */
	__u8 ends_later;         /* the last frame of the headers ends the stream */
	__u8 carried;            /* bytes of `header` */
	__u8 header[HTTP2_ROOM]; /* as far as it has come */
};

/* gRPC is spoken over HTTP/2. */
PROTOCOLS_INLINE int speaks_http2(__u8 protocol)
{
	return protocol >= WINDOW_PROTOCOL_HTTP2;
}

/* A connection: what its side that asks sends, and the other one. */
struct http2 {
	struct http2_way request, answer;
	struct hpack_table asked, answered; /* headers of requests, of answers */
	__u32 last_stream;                  /* that has begun */
	__u8 has_streams;                   /* one of them may be open */
	__u8 pad[3];
};

enum http2_found {
	HTTP2_DRY,    /* there is no more */
	HTTP2_PASSED, /* bytes of a header or a payload */
	HTTP2_BEGINS, /* a frame: its header was passed */
	HTTP2_FIRST,  /* the first bytes of a payload */
	HTTP2_ENDS,   /* the frame that is open has ended */
	HTTP2_LOST,   /* this is no frame */
};

PROTOCOLS_INLINE __u32 http2_length(const __u8 *header)
{
	return (__u32)header[0] << 16 | (__u32)header[1] << 8 | header[2];
}

/* Whether these 9 bytes are the header of a frame, by the lengths and streams that types must have.
 */
PROTOCOLS_INLINE int http2_is_sound(const __u8 *header)
{
	__u32 length = http2_length(header), stream = big_endian(header + 5);

	if (stream >> 31)
		return 0;
	switch (header[3]) {
	case HTTP2_DATA:
	case HTTP2_HEADERS:
	case HTTP2_PUSH_PROMISE:
	case HTTP2_CONTINUATION:
		return stream != 0;
	case HTTP2_PRIORITY:
		return stream && length == 5;
	case HTTP2_RST_STREAM:
		return stream && length == 4;
	case HTTP2_SETTINGS:
		return !stream && length % 6 == 0 && length < 6 * 64;
	case HTTP2_PING:
		return !stream && length == 8;
	case HTTP2_GOAWAY:
		return !stream && length >= 8;
	case HTTP2_WINDOW_UPDATE:
		return length == 4;
	default:
		return header[3] <= HTTP2_EXTENSION_LAST && length < 1 << 14;
	}
}

PROTOCOLS_INLINE int is_http2_preface(const struct head *head)
{
	return head->size >= 8 && head->words[0] == FOUR('P', 'R', 'I', ' ') &&
	       head->words[1] == FOUR('*', ' ', 'H', 'T');
}

/*
 * Whether a message of the side that asks shows that the connection speaks HTTP/2: its preface; on
 * an older one, a frame that has a form which is not likely elsewhere.
 */
PROTOCOLS_INLINE int is_http2_request(const struct head *head)
{
	const __u8 *header = head->bytes;
	__u32 length = http2_length(header), stream = big_endian(header + 5);

	if (is_http2_preface(head))
		return 1;
	if (head->size < HTTP2_HEADER || !http2_is_sound(header) || header[0] ||
	    length + HTTP2_HEADER > head->size)
		return 0;
	switch (header[3]) {
	case HTTP2_HEADERS:
		return stream & 1 && header[4] & HTTP2_END_HEADERS && length &&
		       !(header[4] & ~(HTTP2_END_STREAM | HTTP2_END_HEADERS | HTTP2_PADDED |
				       HTTP2_HAS_PRIORITY));
	case HTTP2_WINDOW_UPDATE:
	case HTTP2_PING:
		return !(header[4] & ~HTTP2_ACK);
	default:
		return 0;
	}
}

PROTOCOLS_INLINE void http2_begins(struct http2 *http2, const struct head *head)
{
	*http2 = (struct http2) {};
	if (!is_http2_preface(head))
		return;
	http2->request.skip = HTTP2_PREFACE;
	http2->request.type = HTTP2_NO_TYPE;
	http2->request.is_open = 1;
	http2->asked.is_whole = http2->answered.is_whole = 1;
}

/* A message begins: if the way was lost, its first bytes are tried. */
PROTOCOLS_INLINE void http2_message_begins(struct http2_way *way)
{
	if (!way->is_lost)
		return;
	way->is_open = way->ends_later = way->carried = 0;
	way->skip = 0;
}

/* The header is complete. */
PROTOCOLS_INLINE enum http2_found http2_frame(struct http2_way *way)
{
	way->carried = 0;
	if (!http2_is_sound(way->header))
		return HTTP2_LOST;
	way->skip = http2_length(way->header);
	way->stream = big_endian(way->header + 5);
	way->type = way->header[3];
	way->flags = way->header[4];
	way->is_open = way->is_fresh = 1;
	way->is_lost = 0;
	if (way->type == HTTP2_HEADERS && !(way->flags & HTTP2_END_HEADERS)) {
		way->ends_later = way->flags & HTTP2_END_STREAM;
		way->flags &= ~HTTP2_END_STREAM;
	} else if (way->type == HTTP2_CONTINUATION) {
		way->flags &= ~HTTP2_END_STREAM;
		if (way->flags & HTTP2_END_HEADERS) {
			way->flags |= way->ends_later;
			way->ends_later = 0;
		}
	}
	return HTTP2_BEGINS;
}

/* Whether the frame that is open is the last one of its stream in this direction. */
PROTOCOLS_INLINE int http2_ends_stream(const struct http2_way *way)
{
	return way->type == HTTP2_RST_STREAM ||
	       ((way->type == HTTP2_DATA || way->type == HTTP2_HEADERS ||
		 way->type == HTTP2_CONTINUATION) &&
		way->flags & HTTP2_END_STREAM);
}

/* Whether the frame that is open carries a request or an answer. */
PROTOCOLS_INLINE int http2_carries(const struct http2_way *way)
{
	return way->type == HTTP2_DATA || way->type == HTTP2_HEADERS ||
	       way->type == HTTP2_CONTINUATION || way->type == HTTP2_RST_STREAM;
}

/* How many bytes of a header http2_step() wants; 0: none. */
PROTOCOLS_INLINE __u32 http2_wants(const struct http2_way *way, __u64 left)
{
	__u32 wants = HTTP2_HEADER - way->carried;

	if (way->is_open || way->carried >= HTTP2_HEADER)
		return 0;
	return left < wants ? (__u32)left : wants;
}

/* Where they are to be put. */
PROTOCOLS_INLINE __u8 *http2_room(struct http2_way *way)
{
	return &way->header[way->carried & 15];
}

/*
 * One step along a message of which `left` bytes are left. The next http2_wants() of them are at
 * http2_room(). *ret_passed is how many were passed.
 */
PROTOCOLS_INLINE enum http2_found http2_step(struct http2_way *way, __u64 left, __u32 *ret_passed)
{
	__u32 fresh = way->is_fresh;

	*ret_passed = 0;
	if (way->is_open && !way->skip) {
		way->is_open = 0;
		return HTTP2_ENDS;
	}
	if (!left)
		return HTTP2_DRY;
	if (way->is_open) {
		*ret_passed = left < way->skip ? (__u32)left : way->skip;
		way->skip -= *ret_passed;
		way->is_fresh = 0;
		return fresh ? HTTP2_FIRST : HTTP2_PASSED;
	}
	*ret_passed = http2_wants(way, left);
	way->carried += *ret_passed;
	return way->carried < HTTP2_HEADER ? HTTP2_PASSED : http2_frame(way);
}
