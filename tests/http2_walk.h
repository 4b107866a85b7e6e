/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks a message of HTTP/2 as the kernel half does, and notes what it meets. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "ledger/windows/http2.h"

struct met {
	size_t begun, ended, blocks; /* frames; blocks of headers that began */
	size_t streams_ended, lost;
	size_t payload; /* bytes */
	__u32 streams;  /* sum of the numbers of those that ended */
};

static inline void http2_walk(struct http2_way *way, const __u8 *bytes, size_t size,
			      struct met *met)
{
	enum http2_found found;
	__u32 passed;

	http2_message_begins(way);
	for (size_t at = 0, steps = 0;; at += passed, steps++) {
		__u32 wants = http2_wants(way, size - at);

		/* Two steps for each byte are enough, and none goes beyond the message. */
		if (at > size || steps > 2 * size + 2 || wants > size - at ||
		    http2_room(way) + wants > way->header + sizeof(way->header))
			abort();
		memcpy(http2_room(way), bytes + at, wants);
		found = http2_step(way, size - at, &passed);
		met->begun += found == HTTP2_BEGINS;
		met->ended += found == HTTP2_ENDS;
		met->blocks += found == HTTP2_FIRST && way->type == HTTP2_HEADERS;
		if (found == HTTP2_FIRST || (found == HTTP2_PASSED && way->is_open))
			met->payload += passed;
		if (found == HTTP2_ENDS && http2_ends_stream(way)) {
			met->streams_ended++;
			met->streams += way->stream;
		}
		if (found == HTTP2_LOST) {
			way->is_lost = 1;
			met->lost++;
		}
		if (found == HTTP2_DRY || found == HTTP2_LOST)
			return;
	}
}
