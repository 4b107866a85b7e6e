/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of HTTP/2 (HPACK, RFC 7541), as far as they tell what a request is and how it was
 * answered: the method, the path, the status, and whether it is gRPC. What a header of the dynamic
 * table is, is known only of connections of which every block was seen since the begin; and only
 * headers that mean something here are remembered.
 */
#pragma once

#include "ledger/windows/head.h"

#define HPACK_BYTES   512 /* of a block that are looked at */
#define HPACK_SPARE   512 /* behind them: what a masked place and length can reach */
#define HPACK_STATIC  61  /* headers of the static table */
#define HPACK_INDEXES 64  /* of the dynamic table, of which `means` knows */
#define HPACK_TEXT    60

enum hpack_meaning {
	HPACK_OTHER,
	HPACK_METHOD,
	HPACK_PATH,
	HPACK_STATUS,
	HPACK_CONTENT, /* its type */
	HPACK_GRPC_STATUS,
};

/* A header that means something. */
struct hpack_entry {
	__u8 meaning; /* enum hpack_meaning */
	__u8 number;  /* status: its first digit; gRPC: 0 is success; content: 1 is gRPC */
	__u8 size;    /* of the text */
	__u8 is_coded;
	__u8 text[HPACK_TEXT]; /* the method or the path */
};

/* What is known of the dynamic table of one direction. */
struct hpack_table {
	__u64 means;    /* the header inserted as number n means something: bit n % 64 */
	__u32 inserted; /* headers so far */
	__u32 is_whole; /* no block was missed */
};

/* A string: where it is in the block. */
struct hpack_string {
	__u32 at, size, is_coded;
};

/* A header as it is in a block. */
struct hpack_field {
	__u32 index;      /* of the header, or of its name; 0: `name` is the name */
	__u32 is_indexed; /* all of it is in the table */
	__u32 inserts;    /* it is put into the dynamic table */
	__u32 is_resize;  /* no header: the table has another size */
	struct hpack_string name, value;
};

PROTOCOLS_INLINE __u8 hpack_byte(const __u8 *bytes, __u32 at)
{
	/* The compiler may know the range of `at` where the verifier of Linux 6.1 does not. */
	asm volatile("" : "+r"(at));
	return bytes[at & (HPACK_BYTES - 1)];
}

/* A number whose first byte has `bits` bits of it. Moves *at. ~0: it is too long. */
PROTOCOLS_INLINE __u32 hpack_number(const __u8 *bytes, __u32 *at, __u32 bits)
{
	__u32 most = (1u << bits) - 1, value = hpack_byte(bytes, *at) & most, more;

	(*at)++;
	if (value < most)
		return value;
	more = hpack_byte(bytes, *at);
	(*at)++;
	value += more & 0x7f;
	if (!(more & 0x80))
		return value;
	more = hpack_byte(bytes, *at);
	(*at)++;
	value += (more & 0x7f) << 7;
	return more & 0x80 ? ~0u : value;
}

PROTOCOLS_INLINE int hpack_string(const __u8 *bytes, __u32 size, __u32 *at,
				  struct hpack_string *ret)
{
	if (*at >= size)
		return 0;
	ret->is_coded = hpack_byte(bytes, *at) >> 7;
	ret->size = hpack_number(bytes, at, 7);
	ret->at = *at;
	if (ret->size > HPACK_BYTES || ret->at + ret->size > size)
		return 0;
	*at += ret->size;
	return 1;
}

/* Parses the header at *at of a block of `size` bytes, and moves *at. 0: it is cut, or is none. */
PROTOCOLS_INLINE int hpack_parse(const __u8 *bytes, __u32 size, __u32 *at, struct hpack_field *ret)
{
	__u8 first = hpack_byte(bytes, *at);

	*ret = (struct hpack_field) {};
	if (*at >= size || size > HPACK_BYTES)
		return 0;
	if (first & 0x80) {
		ret->is_indexed = 1;
		ret->index = hpack_number(bytes, at, 7);
		return *at <= size && ret->index && ret->index != ~0u;
	}
	if ((first & 0xe0) == 0x20) {
		ret->is_resize = 1;
		hpack_number(bytes, at, 5);
		return *at <= size;
	}
	ret->inserts = first >> 6;
	ret->index = ret->inserts ? hpack_number(bytes, at, 6) : hpack_number(bytes, at, 4);
	if (ret->index == ~0u)
		return 0;
	if (!ret->index && !hpack_string(bytes, size, at, &ret->name))
		return 0;
	return hpack_string(bytes, size, at, &ret->value);
}

/* Whether the string is this one, which has `size` bytes. */
PROTOCOLS_INLINE int hpack_begins(const __u8 *bytes, const struct hpack_string *string,
				  const char *text, __u32 size)
{
	if (string->size < size)
		return 0;
	for (__u32 i = 0; i < size; i++)
		if (hpack_byte(bytes, string->at + i) != (__u8)text[i])
			return 0;
	return 1;
}

/* "application/grpc", also as Huffman's code has it. */
PROTOCOLS_INLINE int hpack_is_grpc(const __u8 *bytes, const struct hpack_string *value)
{
	return value->is_coded ? hpack_begins(bytes, value,
					      "\x1d\x75\xd0\x62\x0d\x26\x3d\x4c\x4d\x65\x64", 11)
			       : hpack_begins(bytes, value, "application/grpc", 16);
}

/* What the header of the static table is about. */
PROTOCOLS_INLINE enum hpack_meaning hpack_meaning_of(__u32 index)
{
	switch (index) {
	case 2:
	case 3:
		return HPACK_METHOD;
	case 4:
	case 5:
		return HPACK_PATH;
	case 8:
	case 9:
	case 10:
	case 11:
	case 12:
	case 13:
	case 14:
		return HPACK_STATUS;
	case 31:
		return HPACK_CONTENT;
	default:
		return HPACK_OTHER;
	}
}

/* The same of a name that is in the block. */
PROTOCOLS_INLINE enum hpack_meaning hpack_meaning_of_name(const __u8 *bytes,
							  const struct hpack_string *name)
{
	if (name->is_coded)
		return name->size == 8 && hpack_begins(bytes, name,
						       "\x9a\xca\xc8\xb2\x12\x34\xda\x8f", 8)
			       ? HPACK_GRPC_STATUS
			       : HPACK_OTHER;
	switch (name->size) {
	case 5:
		return hpack_begins(bytes, name, ":path", 5) ? HPACK_PATH : HPACK_OTHER;
	case 7:
		if (hpack_begins(bytes, name, ":method", 7))
			return HPACK_METHOD;
		return hpack_begins(bytes, name, ":status", 7) ? HPACK_STATUS : HPACK_OTHER;
	case 11:
		return hpack_begins(bytes, name, "grpc-status", 11) ? HPACK_GRPC_STATUS
								    : HPACK_OTHER;
	case 12:
		return hpack_begins(bytes, name, "content-type", 12) ? HPACK_CONTENT : HPACK_OTHER;
	default:
		return HPACK_OTHER;
	}
}

/* The first digit of the statuses 200, 204, 206, 304, 400, 404 and 500. */
PROTOCOLS_INLINE __u8 hpack_static_status(__u32 index)
{
	return index < 11 ? 2 : index == 11 ? 3 : index < 14 ? 4 : 5;
}

/* The first digit of a status. Huffman's code has 5 bits for 1 and 2, and 6 for 3, 4 and 5. */
PROTOCOLS_INLINE __u8 hpack_digit(__u8 first, __u32 is_coded)
{
	if (!is_coded)
		return is_digit(first) ? first - '0' : 0;
	if (first >> 2 >= 0x19 && first >> 2 <= 0x1b)
		return (first >> 2) - 0x16;
	return first >> 3 <= 2 ? first >> 3 : 0;
}

/*
 * What the header means that has its value in the block; its text is not copied. `meaning` is of
 * its name.
 */
PROTOCOLS_INLINE void hpack_of_literal(const __u8 *bytes, const struct hpack_field *field,
				       enum hpack_meaning meaning, struct hpack_entry *ret)
{
	const struct hpack_string *value = &field->value;
	__u8 first = hpack_byte(bytes, value->at);

	ret->meaning = meaning;
	switch (meaning) {
	case HPACK_METHOD:
	case HPACK_PATH:
		ret->is_coded = value->is_coded;
		ret->size = value->size < HPACK_TEXT ? value->size : HPACK_TEXT;
		break;
	case HPACK_STATUS:
		ret->number = hpack_digit(first, value->is_coded);
		break;
	case HPACK_CONTENT:
		ret->number = hpack_is_grpc(bytes, value);
		break;
	case HPACK_GRPC_STATUS:
		/* 0 is "0", and 5 bits 00000 before 1s in Huffman's code. */
		ret->number = value->size != 1 || first != (value->is_coded ? 0x07 : '0');
		break;
	default:
		break;
	}
}
