/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of OTLP share: a reader of requests, which knows nothing of the writer. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

/* --- protocol buffers --- */

struct wire {
	const unsigned char *at, *end;
};

struct wire_field {
	unsigned int number, type;
	uint64_t value;    /* of varints and fixed64 */
	struct wire bytes; /* of the others */
};

static inline uint64_t wire_varint(struct wire *wire)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(wire->at < wire->end && shift < 64);
		value |= (uint64_t)(*wire->at & 0x7f) << shift;
		if (!(*wire->at++ & 0x80))
			return value;
	}
}

static inline bool wire_next(struct wire *wire, struct wire_field *ret)
{
	uint64_t tag, size;

	if (wire->at == wire->end)
		return false;
	tag = wire_varint(wire);
	*ret = (struct wire_field) { (unsigned int)(tag >> 3), tag & 7, 0, {} };
	switch (ret->type) {
	case 0:
		ret->value = wire_varint(wire);
		return true;
	case 1:
		assert_true(wire->end - wire->at >= 8);
		memcpy(&ret->value, wire->at, 8);
		wire->at += 8;
		return true;
	default:
		assert_int_equal(ret->type, 2);
		size = wire_varint(wire);
		assert_true(size <= (uint64_t)(wire->end - wire->at));
		ret->bytes = (struct wire) { wire->at, wire->at + size };
		wire->at += size;
		return true;
	}
}

/* The message in this field, the n-th of its number; NULL pointers: there is none. */
static inline struct wire wire_child(struct wire wire, unsigned int number, unsigned int nth)
{
	struct wire_field field;

	while (wire_next(&wire, &field))
		if (field.number == number && field.type == 2 && !nth--)
			return field.bytes;
	return (struct wire) {};
}

/* The number in this field; 0, the default, if it is missing. */
static inline uint64_t wire_number(struct wire wire, unsigned int number)
{
	struct wire_field field;
	uint64_t value = 0;

	while (wire_next(&wire, &field))
		if (field.number == number && field.type != 2)
			value = field.value;
	return value;
}

static inline bool wire_has(struct wire wire, unsigned int number)
{
	struct wire_field field;

	while (wire_next(&wire, &field))
		if (field.number == number)
			return true;
	return false;
}

static inline double wire_double(struct wire wire, unsigned int number)
{
	uint64_t bits = wire_number(wire, number);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline int64_t wire_signed(struct wire wire, unsigned int number)
{
	uint64_t value = wire_number(wire, number);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static inline bool wire_is(struct wire wire, const char *text)
{
	size_t size = strlen(text);

	return wire.at && (size_t)(wire.end - wire.at) == size && !memcmp(wire.at, text, size);
}

/* --- OTLP --- */

/* The resource, or the metrics with their scope. */
static inline struct wire otlp_resource(struct wire request)
{
	return wire_child(wire_child(request, 1, 0), 1, 0);
}

static inline struct wire otlp_scope(struct wire request)
{
	return wire_child(wire_child(request, 1, 0), 2, 0);
}

static inline struct wire otlp_metric(struct wire request, const char *name)
{
	struct wire scope = otlp_scope(request), metric;

	for (unsigned int i = 0; (metric = wire_child(scope, 2, i)).at; i++)
		if (wire_is(wire_child(metric, 1, 0), name))
			return metric;
	return (struct wire) {};
}

/* Whether a list of attributes in field `number` has this one. */
static inline bool otlp_has(struct wire wire, unsigned int number, const char *key,
			    const char *value)
{
	struct wire attribute;

	for (unsigned int i = 0; (attribute = wire_child(wire, number, i)).at; i++)
		if (wire_is(wire_child(attribute, 1, 0), key))
			return wire_is(wire_child(wire_child(attribute, 2, 0), 1, 0), value);
	return false;
}

static inline unsigned int otlp_count(struct wire wire, unsigned int number)
{
	unsigned int count = 0;

	while (wire_child(wire, number, count).at)
		count++;
	return count;
}

/* Unpacks a gzip body into `buffer`. */
static inline struct wire otlp_unpack(const void *body, size_t size, unsigned char *buffer,
				      size_t room)
{
	z_stream stream = { .next_in = (unsigned char *)body,
			    .avail_in = (unsigned int)size,
			    .next_out = buffer,
			    .avail_out = (unsigned int)room };

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	return (struct wire) { buffer, buffer + stream.total_out };
}
