/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames and headers of HTTP/2, also cut at each byte. */
#include "../harness.h"

#include <stdbool.h>

#include "../http2_walk.h"

/* What a client sends: preface, SETTINGS, WINDOW_UPDATE, two requests, the second one with a body.
 */
static const __u8 asked[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
			    "\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64"
			    "\0\0\4\x08\0\0\0\0\0\0\0\xff\xff"
			    "\0\0\3\1\5\0\0\0\1\x82\x84\x86"
			    "\0\0\2\1\0\0\0\0\3\x83\x84"
			    "\0\0\1\x09\4\0\0\0\3\x86"
			    "\0\0\5\0\1\0\0\0\3hello";
#define ASKED (sizeof(asked) - 1)

static void frames_are_found_wherever_they_are_cut(void **state)
{
	struct head head = { .size = ASKED };

	memcpy(head.bytes, asked, HEAD_BYTES);
	assert_true(is_http2_request(&head));
	for (size_t cut = 8; cut <= ASKED; cut++) {
		struct http2 http2;
		struct met met = {};

		http2_begins(&http2, &head);
		http2_walk(&http2.request, asked, cut, &met);
		http2_walk(&http2.request, asked + cut, ASKED - cut, &met);
		assert_int_equal(met.lost, 0);
		assert_int_equal(met.begun, 6);
		assert_int_equal(met.ended, 7); /* with the preface */
		assert_int_equal(met.blocks, 2);
		assert_int_equal(met.streams_ended, 2);
		assert_int_equal(met.streams, 1 + 3);
		assert_int_equal(met.payload, 24 + 6 + 4 + 3 + 2 + 1 + 5);
	}
}

static void headers_end_a_stream_with_their_last_frame(void **state)
{
	static const __u8 bytes[] = "\0\0\1\1\1\0\0\0\5\x88" /* END_STREAM, but not END_HEADERS */
				    "\0\0\1\x09\0\0\0\0\5\x88\0\0\1\x09\4\0\0\0\5\x88";
	struct http2_way way = {};
	struct met met = {};

	http2_walk(&way, bytes, 20, &met);
	assert_int_equal(met.streams_ended, 0);
	http2_walk(&way, bytes + 20, 10, &met);
	assert_int_equal(met.streams_ended, 1);
	assert_int_equal(met.streams, 5);
}

static void an_empty_frame_ends_with_the_message_that_has_it(void **state)
{
	struct http2_way way = {};
	struct met met = {};

	http2_walk(&way, (const __u8 *)"\0\0\0\0\1\0\0\0\7", 9, &met);
	assert_int_equal(met.streams_ended, 1);
	assert_false(way.is_open);
}

static void what_is_no_frame_is_lost_until_a_message_begins_with_one(void **state)
{
	static const char *const bytes[] = {
		"\0\0\1\0\0\0\0\0\0a",       /* data of no stream */
		"\0\0\5\4\0\0\0\0\0abcde",   /* settings of 5 bytes */
		"\0\0\6\4\0\0\0\0\1abcdef",  /* of a stream */
		"\0\0\7\6\0\0\0\0\0abcdefg", /* a ping of 7 bytes */
		"\0\0\5\3\0\0\0\0\1abcde",   /* a reset of 5 bytes */
		"\0\0\1\1\4\x80\0\0\1a",     /* a reserved bit */
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct http2_way way = {};
		struct met met = {};

		http2_walk(&way, (const __u8 *)bytes[i], 9, &met);
		assert_int_equal(met.lost, 1);
		http2_walk(&way, (const __u8 *)"garbage, garbage", 16, &met);
		assert_int_equal(met.lost, 2);
		http2_walk(&way, (const __u8 *)"\0\0\0\0\1\0\0\0\7", 9, &met);
		assert_int_equal(met.lost, 2);
		assert_int_equal(met.streams_ended, 1);
		assert_false(way.is_lost);
	}
}

static void the_longest_frame_is_passed(void **state)
{
	static __u8 bytes[65536] = "\xff\xff\xff\0\1\0\0\0\1";
	struct http2_way way = {};
	struct met met = {};

	http2_walk(&way, bytes, 9, &met);
	for (size_t i = 0; i < 255; i++)
		http2_walk(&way, bytes, sizeof(bytes), &met);
	assert_int_equal(met.streams_ended, 0);
	http2_walk(&way, bytes, sizeof(bytes) - 1, &met);
	assert_int_equal(met.streams_ended, 1);
	assert_int_equal(met.payload, (1 << 24) - 1);
}

static bool is_request(const char *bytes, size_t size)
{
	struct head head = { .size = (__u32)size };

	memcpy(head.bytes, bytes, size < HEAD_BYTES ? size : HEAD_BYTES);
	return is_http2_request(&head);
}

#define IS_REQUEST(bytes) is_request(bytes, sizeof(bytes) - 1)

static void old_connections_show_it_by_a_frame(void **state)
{
	assert_true(IS_REQUEST("\0\0\3\1\5\0\0\0\x0d\x82\x84\x86"));
	assert_true(IS_REQUEST("\0\0\4\x08\0\0\0\0\0\0\0\xff\xff"));
	assert_false(IS_REQUEST("\0\0\3\1\5\0\0\0\x0c\x82\x84\x86")); /* a server's stream */
	assert_false(IS_REQUEST("\0\0\3\1\1\0\0\0\x0d\x82\x84\x86"));
	assert_false(IS_REQUEST("\0\0\3\1\5\0\0\0\x0d\x82\x84")); /* longer than the message */
	assert_false(IS_REQUEST("\0\0\5\x08\0\0\0\0\0\0\0\xff\xff\0"));
	assert_false(IS_REQUEST("PRI * H"));
}

/* --- headers --------------------------------------------------------------------------------- */

struct block {
	__u8 bytes[HPACK_BYTES + HPACK_SPARE];
	__u32 size, at;
};

static struct block block_of(const void *bytes, size_t size)
{
	struct block block = { .size = (__u32)size };

	memcpy(block.bytes, bytes, size);
	return block;
}

#define BLOCK(bytes) block_of(bytes, sizeof(bytes) - 1)

/* What the next header means; meaning HPACK_OTHER too if it is in a table. */
static struct hpack_entry next(struct block *block, struct hpack_field *field)
{
	struct hpack_entry entry = {};
	enum hpack_meaning meaning;

	assert_true(hpack_parse(block->bytes, block->size, &block->at, field));
	if (field->is_indexed || field->is_resize)
		return entry;
	meaning = field->index ? hpack_meaning_of(field->index)
			       : hpack_meaning_of_name(block->bytes, &field->name);
	hpack_of_literal(block->bytes, field, meaning, &entry);
	return entry;
}

/* RFC 7541, C.3.1 and C.4.1: plain, and in Huffman's code. */
static void headers_of_the_standard_are_parsed(void **state)
{
	struct block block = BLOCK("\x82\x86\x84\x41\x0fwww.example.com");
	struct hpack_field field;

	for (size_t i = 0; i < 3; i++) {
		next(&block, &field);
		assert_true(field.is_indexed);
		assert_int_equal(field.index, ((const __u32[]) { 2, 6, 4 })[i]);
	}
	next(&block, &field);
	assert_true(field.inserts);
	assert_int_equal(field.index, 1);
	assert_int_equal(field.value.size, 15);
	assert_int_equal(block.at, block.size);
	block = BLOCK("\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff");
	next(&block, &field);
	assert_true(field.value.is_coded);
	assert_int_equal(field.value.size, 12);
	assert_int_equal(block.at, block.size);
}

static void grpc_is_known_by_its_headers(void **state)
{
	struct block block = BLOCK("\x40\x05:path\x09/shop/Get"
				   "\x40\x0c"
				   "content-type\x10"
				   "application/grpc"
				   "\x5f\x8b\x1d\x75\xd0\x62\x0d\x26\x3d\x4c\x4d\x65\x64"
				   "\x5f\x10"
				   "application/json"
				   "\x40\x0bgrpc-status\x01"
				   "0"
				   "\x40\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f\x02"
				   "13");
	static const struct hpack_entry expected[] = {
		{ .meaning = HPACK_PATH, .size = 9 },
		{ .meaning = HPACK_CONTENT, .number = 1 },
		{ .meaning = HPACK_CONTENT, .number = 1 },
		{ .meaning = HPACK_CONTENT },
		{ .meaning = HPACK_GRPC_STATUS },
		{ .meaning = HPACK_GRPC_STATUS, .number = 1 },
	};
	struct hpack_field field;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct hpack_entry entry = next(&block, &field);

		assert_int_equal(entry.meaning, expected[i].meaning);
		assert_int_equal(entry.number, expected[i].number);
		assert_int_equal(entry.size, expected[i].size);
		assert_true(field.inserts);
	}
	assert_int_equal(block.at, block.size);
}

static void a_status_is_known_by_its_first_digit(void **state)
{
	struct block block = BLOCK("\x48\x03"
				   "503\x08\x03"
				   "429\x48\x82\x6c\x02\x48\x82\x68\x01"
				   "\x48\x82\x64\x02\x48\x03x12");
	static const __u8 digits[] = { 5, 4, 5, 4, 3, 0 };
	struct hpack_field field;

	for (size_t i = 0; i < sizeof(digits); i++) {
		struct hpack_entry entry = next(&block, &field);

		assert_int_equal(entry.meaning, HPACK_STATUS);
		assert_int_equal(entry.number, digits[i]);
		assert_int_equal(field.inserts, i != 1);
	}
	for (__u32 i = 8; i <= 14; i++)
		assert_int_equal(hpack_meaning_of(i), HPACK_STATUS);
	assert_int_equal(hpack_static_status(10), 2);
	assert_int_equal(hpack_static_status(11), 3);
	assert_int_equal(hpack_static_status(13), 4);
	assert_int_equal(hpack_static_status(14), 5);
}

static void a_block_that_is_cut_is_noticed_at_each_byte(void **state)
{
	const struct block whole = BLOCK("\x40\x05:path\x0d/shop.Cart/Add");
	struct hpack_field field;

	for (__u32 size = 0; size < 21; size++) {
		__u32 at = 0;

		assert_false(hpack_parse(whole.bytes, size, &at, &field));
	}
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	static const char *const bytes[] = { "\xff\xff\xff\xff\xff\xff", "\x80",
					     "\x40\x7f\xff\xff\xff\xff\x0f",
					     "\x44\x7f\xff\xff\x7f" };

	for (size_t i = 0; i < 4; i++) {
		struct block block = block_of(bytes[i], strlen(bytes[i]));
		struct hpack_field field;

		assert_false(hpack_parse(block.bytes, block.size, &block.at, &field));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_found_wherever_they_are_cut),
		cmocka_unit_test(headers_end_a_stream_with_their_last_frame),
		cmocka_unit_test(an_empty_frame_ends_with_the_message_that_has_it),
		cmocka_unit_test(what_is_no_frame_is_lost_until_a_message_begins_with_one),
		cmocka_unit_test(the_longest_frame_is_passed),
		cmocka_unit_test(old_connections_show_it_by_a_frame),
		cmocka_unit_test(headers_of_the_standard_are_parsed),
		cmocka_unit_test(grpc_is_known_by_its_headers),
		cmocka_unit_test(a_status_is_known_by_its_first_digit),
		cmocka_unit_test(a_block_that_is_cut_is_noticed_at_each_byte),
		cmocka_unit_test(numbers_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
