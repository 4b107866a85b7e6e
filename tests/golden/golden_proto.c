/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Protocol buffers as text, so that a difference can be read. */
#include "golden.h"

#include "../harness.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define MOST_DEPTH 8

struct bytes {
	const unsigned char *at, *end;
};

static bool take_varint(struct bytes *bytes, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
		*ret |= (uint64_t)(*bytes->at & 0x7f) << shift;
		if (!(*bytes->at++ & 0x80))
			return true;
	}
	return false;
}

/* Takes one field; *ret_part is empty unless it has a length. */
static bool take_field(struct bytes *bytes, uint64_t *ret_tag, uint64_t *ret_value,
		       struct bytes *ret_part)
{
	if (!take_varint(bytes, ret_tag) || !(*ret_tag >> 3))
		return false;
	switch (*ret_tag & 7) {
	case 0:
		return take_varint(bytes, ret_value);
	case 1:
		if (bytes->end - bytes->at < 8)
			return false;
		memcpy(ret_value, bytes->at, 8);
		bytes->at += 8;
		return true;
	case 2:
		if (!take_varint(bytes, ret_value) ||
		    *ret_value > (uint64_t)(bytes->end - bytes->at))
			return false;
		*ret_part = (struct bytes) { bytes->at, bytes->at + *ret_value };
		bytes->at += *ret_value;
		return true;
	default:
		return false;
	}
}

static bool is_text(struct bytes bytes)
{
	for (; bytes.at < bytes.end; bytes.at++)
		if (*bytes.at < 0x20 || *bytes.at == 0x7f)
			return false;
	return true;
}

static bool is_message(struct bytes bytes)
{
	struct bytes part;
	uint64_t tag, value;

	if (bytes.at == bytes.end)
		return false;
	while (bytes.at < bytes.end)
		if (!take_field(&bytes, &tag, &value, &part))
			return false;
	return true;
}

static void print_fields(struct bytes bytes, int depth, FILE *out);

static void print_part(struct bytes part, int depth, FILE *out)
{
	uint64_t value;

	if (is_text(part)) {
		fprintf(out, " \"%.*s\"\n", (int)(part.end - part.at), (const char *)part.at);
	} else if (is_message(part) && depth < MOST_DEPTH) {
		fputc('\n', out);
		print_fields(part, depth + 1, out);
	} else {
		while (part.at < part.end && take_varint(&part, &value))
			fprintf(out, " %" PRIu64, value);
		fputc('\n', out);
	}
}

static void print_fields(struct bytes bytes, int depth, FILE *out)
{
	while (bytes.at < bytes.end) {
		struct bytes part = {};
		uint64_t tag = 0, value = 0;

		assert_true(take_field(&bytes, &tag, &value, &part));
		fprintf(out, "%*s%" PRIu64 ":", depth * 2, "", tag >> 3);
		if ((tag & 7) == 2)
			print_part(part, depth, out);
		else
			fprintf(out, " %" PRIu64 "\n", value);
	}
}

char *golden__proto_text(const unsigned char *bytes, size_t size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	print_fields((struct bytes) { bytes, bytes + size }, 0, out);
	fclose(out);
	return text;
}
