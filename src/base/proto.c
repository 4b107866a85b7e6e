/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define MOST_VARINT 10

void proto__release(struct proto *proto)
{
	free(proto->bytes);
	*proto = (struct proto) {};
}

void proto__clear(struct proto *proto)
{
	proto->size = 0;
}

bool proto__failed(const struct proto *proto)
{
	return proto->failed;
}

/* Makes room for `size` more bytes. Returns NULL when out of memory. */
static unsigned char *reserve(struct proto *proto, size_t size)
{
	size_t room = proto->room ? proto->room : 256;
	unsigned char *grown;

	while (room - proto->size < size && room <= SIZE_MAX / 4)
		room *= 2;
	if (room != proto->room) {
		grown = room - proto->size < size ? NULL : realloc(proto->bytes, room);
		proto->failed |= !grown;
		if (!grown)
			return NULL;
		proto->bytes = grown;
		proto->room = room;
	}
	return proto->bytes + proto->size;
}

static void put(struct proto *proto, const void *bytes, size_t size)
{
	unsigned char *to = reserve(proto, size);

	if (!to || !size)
		return;
	memcpy(to, bytes, size);
	proto->size += size;
}

static size_t encode(uint64_t value, unsigned char to[MOST_VARINT])
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		to[size++] = (unsigned char)(value | 0x80);
	to[size++] = (unsigned char)value;
	return size;
}

static void put_varint(struct proto *proto, uint64_t value)
{
	unsigned char bytes[MOST_VARINT] = {};

	put(proto, bytes, encode(value, bytes));
}

static void put_tag(struct proto *proto, unsigned int field, unsigned int wire)
{
	put_varint(proto, (uint64_t)field << 3 | wire);
}

void proto__number_always(struct proto *proto, unsigned int field, uint64_t value)
{
	put_tag(proto, field, WIRE_VARINT);
	put_varint(proto, value);
}

void proto__number(struct proto *proto, unsigned int field, uint64_t value)
{
	if (value)
		proto__number_always(proto, field, value);
}

void proto__fixed64(struct proto *proto, unsigned int field, uint64_t value)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	put_tag(proto, field, WIRE_FIXED64);
	put(proto, bytes, sizeof(bytes));
}

void proto__double(struct proto *proto, unsigned int field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto__fixed64(proto, field, bits);
}

void proto__bytes(struct proto *proto, unsigned int field, const void *bytes, size_t size)
{
	put_tag(proto, field, WIRE_BYTES);
	put_varint(proto, size);
	put(proto, bytes, size);
}

void proto__text(struct proto *proto, unsigned int field, const char *text)
{
	proto__bytes(proto, field, text, strlen(text));
}

void proto__clean_text(struct proto *proto, unsigned int field, const char *text)
{
	cleanup(free_p) char *copy = strdup(text);

	if (!copy) {
		proto->failed = true;
		return;
	}
	utf8__sanitize(copy);
	proto__text(proto, field, copy);
}

void proto__numbers(struct proto *proto, unsigned int field, const uint64_t *values, size_t count)
{
	unsigned char bytes[MOST_VARINT];
	size_t size = 0;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		size += encode(values[i], bytes);
	put_tag(proto, field, WIRE_BYTES);
	put_varint(proto, size);
	for (size_t i = 0; i < count; i++)
		put_varint(proto, values[i]);
}

void proto__message(struct proto *proto, unsigned int field, struct proto *message)
{
	proto->failed |= message->failed;
	proto__bytes(proto, field, message->bytes, message->size);
	proto__clear(message);
}

void proto__delimited(struct proto *proto, struct proto *message)
{
	proto->failed |= message->failed;
	put_varint(proto, message->size);
	put(proto, message->bytes, message->size);
	proto__clear(message);
}
