/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of all protocols of windows: every walk ends, and stays in the message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../http2_walk.h"
#include "ledger/windows/protocols.h"
#include "record/request_ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct head head_of(const uint8_t *data, size_t size)
{
	struct head head = { .size = (__u32)size };

	memcpy(head.bytes, data, size < HEAD_BYTES ? size : HEAD_BYTES);
	return head;
}

/* The same bytes cut into two messages say the same, unless they are lost. */
static void walk_frames(const uint8_t *data, size_t size, size_t cut)
{
	struct http2_way whole = {}, halves = {};
	struct met met = {}, cut_met = {};

	http2_walk(&whole, data, size, &met);
	http2_walk(&halves, data, cut, &cut_met);
	http2_walk(&halves, data + cut, size - cut, &cut_met);
	if (met.lost || cut_met.lost)
		return;
	if (memcmp(&met, &cut_met, sizeof(met)) || whole.skip != halves.skip ||
	    whole.carried != halves.carried)
		abort();
}

static void parse_headers(const uint8_t *data, size_t size)
{
	static __u8 block[HPACK_BYTES + HPACK_SPARE];
	struct hpack_entry entry = {};
	struct hpack_field field;
	__u32 at = 0, was = 0, length = size < HPACK_BYTES ? (__u32)size : HPACK_BYTES;

	memcpy(block, data, length);
	while (at < length && hpack_parse(block, length, &at, &field)) {
		if (at <= was || at > length || field.value.at + field.value.size > length ||
		    field.name.at + field.name.size > length)
			abort();
		was = at;
		if (field.is_indexed)
			continue;
		hpack_of_literal(block, &field, hpack_meaning_of_name(block, &field.name), &entry);
		hpack_of_literal(block, &field, hpack_meaning_of(field.index), &entry);
		if (entry.size > HPACK_TEXT)
			abort();
	}
}

static void step_mysql(const uint8_t *data, size_t size, size_t cut)
{
	struct mysql mysql = {};
	struct head head;
	__u32 at = 0;

	for (size_t begin = 0; begin < size; begin += cut + 1) {
		size_t bytes = size - begin < cut + 1 ? size - begin : cut + 1;

		head = head_of(data + begin, bytes);
		if (mysql_step(&mysql, &head, bytes, &at) == MYSQL_COMMAND &&
		    (at > MYSQL_HEADER ||
		     (mysql_has_text(&head, at) && mysql_text_at(&head, at) > 7)))
			abort();
		mysql_fails(&mysql, &head, !begin);
		if (mysql.carried >= MYSQL_HEADER || mysql.left >= 1 << 24)
			abort();
	}
}

static void step_redis(const uint8_t *data, size_t size)
{
	struct redis redis = { .elements = size & 3 };
	struct head head = head_of(data, size);
	__u32 commands = 0;
	__u64 passed = 0;

	if (redis_step(&redis, &head, &passed, &commands) == REDIS_PASSED &&
	    (passed > size || passed > HEAD_BYTES))
		abort();
}

static void find_ids(const uint8_t *data, size_t size)
{
	struct request_ids ids;

	request_ids__find((const char *)data, size, &ids);
	if (strlen(ids.trace) % (REQUEST_TRACE_SIZE - 1) ||
	    strlen(ids.span) % (REQUEST_SPAN_SIZE - 1))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mysql mysql = {};
	struct head head;
	size_t cut;

	if (!size)
		return 0;
	cut = data[0] % size;
	data++;
	size--;
	cut = cut < size ? cut : size;
	head = head_of(data, size);
	protocol_of_request(&head);
	is_http2_request(&head);
	is_mysql_greeting(&head);
	is_mysql_in_two(&mysql, &head);
	is_mysql_in_two(&mysql, &head);
	http_status(&head);
	walk_frames(data, size, cut);
	parse_headers(data, size);
	step_mysql(data, size, cut);
	step_redis(data, size);
	find_ids(data, size);
	return 0;
}
