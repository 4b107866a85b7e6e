/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of HTTP requests, for the ids in them by which other tools know a request. They are
 * copied when the request is read or sent, because by its end the program's buffer has something
 * else. Only those of windows that are kept leave the kernel.
 */
#pragma once

#include "ledger/kernel/thread.bpf.h"
#include "ledger/windows/windows.h"

/* A socket has a place, which another one may take: then the ids of its window are not known. */
#define HEADER_BITS 11

struct request_header {
	__u64 serial; /* of the window */
	char bytes[WINDOW_HEADER_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << HEADER_BITS);
	__type(key, __u32);
	__type(value, struct request_header);
} windows_request_headers SEC(".maps");

/* A header of `size` bytes is at `address`. The first ones are in the text of the window anyway. */
VERIFIED_ONCE int note_header(struct window *window, __u32 place, __u64 address, __u64 size)
{
	struct request_header *header;

	if (!window || !with_windows)
		return 0;
	place &= (1 << HEADER_BITS) - 1;
	header = bpf_map_lookup_elem(&windows_request_headers, &place);
	if (!header)
		return 0;
	if (size < WINDOW_HEADER_BYTES)
		header->bytes[size] = '\0';
	else
		size = WINDOW_HEADER_BYTES;
	header->serial = 0;
	if (bpf_probe_read_user(header->bytes, size, (void *)address))
		return 0;
	header->serial = window->serial;
	window->header = place + 1;
	return 0;
}

/* NULL: there is none. */
static __always_inline const struct request_header *header_of(const struct window *window)
{
	const struct request_header *header;
	__u32 place = window->header;

	if (!place--)
		return NULL;
	header = bpf_map_lookup_elem(&windows_request_headers, &place);
	return header && header->serial == window->serial ? header : NULL;
}
