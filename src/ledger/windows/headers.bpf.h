/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the headers of a stream say: class, text and status of its window. See hpack.h. */
#pragma once

#include "ledger/windows/http2.bpf.h"

#define METHOD_MOST 8 /* bytes of a method and a space */

struct hpack_walk {
	struct http2_event *event;
	struct socket_window *connection, *stream;
	struct hpack_table *table;
	__u32 at, is_answer;
};

static __always_inline struct hpack_key key_of_header(const struct hpack_walk *walk, __u32 number)
{
	return (struct hpack_key) { .inode = walk->connection->inode,
				    .number = number,
				    .is_answer = walk->is_answer };
}

/* A header of the dynamic table that means something. NULL: it does not, or it is not known. */
static __always_inline struct hpack_entry *remembered(const struct hpack_walk *walk, __u32 index)
{
	__u32 back = index - HPACK_STATIC - 1;
	struct hpack_key key;

	if (!walk->table->is_whole || back >= walk->table->inserted)
		return NULL;
	key = key_of_header(walk, walk->table->inserted - back);
	if (back < HPACK_INDEXES && !(walk->table->means >> (key.number % HPACK_INDEXES) & 1))
		return NULL;
	return bpf_map_lookup_elem(&windows_headers, &key);
}

static __always_inline void remember(struct hpack_walk *walk, const struct hpack_entry *entry)
{
	__u32 number = ++walk->table->inserted;
	__u64 bit = 1ULL << (number % HPACK_INDEXES);
	struct hpack_key key;

	walk->table->means &= ~bit;
	if (!entry->meaning || !walk->table->is_whole)
		return;
	key = key_of_header(walk, number);
	if (!bpf_map_update_elem(&windows_headers, &key, entry, BPF_ANY))
		walk->table->means |= bit;
}

/* --- one header ------------------------------------------------------------------------------ */

static __always_inline void take_status(struct socket_window *stream, __u8 digit)
{
	if (digit >= 2)
		stream->status = digit >= 5   ? WINDOW_STATUS_FAILED
				 : digit == 4 ? WINDOW_STATUS_REFUSED
					      : WINDOW_STATUS_OK;
}

static __always_inline void take_header(struct hpack_walk *walk, const struct hpack_entry *entry)
{
	switch (entry->meaning) {
	case HPACK_METHOD:
		walk->event->method = *entry;
		break;
	case HPACK_PATH:
		walk->event->path = *entry;
		break;
	case HPACK_STATUS:
		if (walk->is_answer && walk->stream)
			take_status(walk->stream, entry->number);
		break;
	case HPACK_CONTENT:
		if (!entry->number)
			break;
		walk->connection->protocol = WINDOW_PROTOCOL_GRPC;
		if (walk->stream)
			walk->stream->protocol = WINDOW_PROTOCOL_GRPC;
		break;
	case HPACK_GRPC_STATUS:
		if (walk->is_answer && walk->stream && entry->number)
			walk->stream->status = WINDOW_STATUS_FAILED;
		break;
	}
}

static __always_inline void put_text(struct hpack_entry *entry, const char *text, __u32 size)
{
	entry->size = size;
	__builtin_memcpy(entry->text, text, size);
}

static __always_inline void header_of_static(struct hpack_walk *walk, __u32 index)
{
	struct hpack_entry *entry = &walk->event->entry;

	entry->meaning = hpack_meaning_of(index);
	if (index == 2)
		put_text(entry, "GET", 3);
	else if (index == 3)
		put_text(entry, "POST", 4);
	else if (index == 4)
		put_text(entry, "/", 1);
	else if (index == 5)
		put_text(entry, "/index.html", 11);
	else if (entry->meaning == HPACK_STATUS)
		entry->number = hpack_static_status(index);
	else
		return;
	take_header(walk, entry);
}

static __always_inline void header_of_literal(struct hpack_walk *walk,
					      const struct hpack_field *field)
{
	struct http2_event *event = walk->event;
	struct hpack_entry *entry = &event->entry, *known;
	enum hpack_meaning meaning = HPACK_OTHER;
	__u32 size;

	if (field->index > HPACK_STATIC) {
		known = remembered(walk, field->index);
		meaning = known ? known->meaning : HPACK_OTHER;
	} else if (field->index) {
		meaning = hpack_meaning_of(field->index);
	} else {
		meaning = hpack_meaning_of_name(event->block, &field->name);
	}
	hpack_of_literal(event->block, field, meaning, entry);
	size = entry->size;
	if (size && size <= HPACK_TEXT)
		bpf_probe_read_kernel(entry->text, size,
				      event->block + (field->value.at & (HPACK_BYTES - 1)));
	if (field->inserts)
		remember(walk, entry);
	/* Later requests would name it by its index only: their class is not to differ. */
	if (meaning == HPACK_PATH && field->inserts && !walk->table->is_whole)
		return;
	take_header(walk, entry);
}

static long hpack_walk_step(__u32 i, struct hpack_walk *walk)
{
	struct http2_event *event = walk->event;
	struct hpack_field field;
	struct hpack_entry *known;
	__u32 at = walk->at;

	if (at >= event->size)
		return 1;
	if (!hpack_parse(event->block, event->size, &at, &field)) {
		event->is_cut = 1;
		return 1;
	}
	walk->at = at;
	event->entry.meaning = event->entry.number = 0;
	event->entry.size = event->entry.is_coded = 0;
	if (field.is_resize)
		return 0;
	if (!field.is_indexed) {
		header_of_literal(walk, &field);
	} else if (field.index <= HPACK_STATIC) {
		header_of_static(walk, field.index);
	} else {
		known = remembered(walk, field.index);
		if (known)
			take_header(walk, known);
	}
	return 0;
}

/* --- a block --------------------------------------------------------------------------------- */

/* "GET /path": the text of the window. Nothing if the method is not known. */
VERIFIED_ONCE int put_request_text(struct socket_window *stream, const struct http2_event *event)
{
	__u32 method, path;
	char *text;

	if (!stream || !event || !with_windows)
		return 0;
	text = stream->window.text;
	method = event->method.size;
	path = event->path.size;
	if (!method || method >= METHOD_MOST || event->method.is_coded)
		return 0;
	bpf_probe_read_kernel(text, method, event->method.text);
	if (path && !event->path.is_coded) {
		text[method] = ' ';
		if (path > WINDOW_TEXT_BYTES - METHOD_MOST)
			path = WINDOW_TEXT_BYTES - METHOD_MOST;
		bpf_probe_read_kernel(text + method + 1, path, event->path.text);
	}
	stream->text_hash = hash_of_text(stream);
	return 0;
}

/*
 * A block of headers, of which the event's `block` has the begin, has come or was sent. The event
 * is looked up once more: Linux 6.1 does not take what an argument points to as the value of a map.
 */
VERIFIED_ONCE int stream_has_headers(void)
{
	__u32 zero = 0, place;
	struct http2_event *event = bpf_map_lookup_elem(&windows_http2, &zero);
	struct hpack_walk walk = { .event = event };

	if (!event || !with_windows)
		return 0;
	walk.connection = socket_window_at(event->place);
	if (!walk.connection)
		return 0;
	walk.is_answer = event->is_answer;
	walk.table =
		event->is_answer ? &walk.connection->http2.answered : &walk.connection->http2.asked;
	walk.stream = find_stream(event->inode, event->stream, &place);
	walk.at = event->skip;
	event->method.size = event->path.size = 0;
	bpf_loop(HPACK_FIELDS, hpack_walk_step, &walk, 0);
	if (event->is_cut || walk.at < event->size)
		walk.table->is_whole = 0;
	if (!event->is_answer && walk.stream && !walk.stream->window.text[0])
		put_request_text(walk.stream, event);
	return 0;
}
