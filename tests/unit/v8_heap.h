/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of V8 in a file, made by hand, as version 11.3 has it. */
#pragma once

#include "../harness.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtimes/v8.h"

#define HEAP       UINT64_C(0x100000)
#define HEAP_BYTES (UINT64_C(1) << 20)
#define MAPS       UINT64_C(0x1000) /* one per type, MAP_BYTES apart */
#define MAP_BYTES  16
#define NUMBER(n)  ((uint64_t)(n) << 32)
#define ONE_BYTE   8
#define MOST_READS 10000

enum { SEQUENCE, PAIR, EXTERNAL, PART, REPLACED = 5, UNCACHED = 16 };
enum { SCRIPT = 167, BYTECODE = 191, CODE = 245, SCOPE = 261, SHARED = 262 };

struct fixture {
	int memory;
	uint64_t used;
	struct v8 v8;
};

static inline void put(const struct fixture *fixture, uint64_t address, const void *bytes,
		       size_t size)
{
	assert_int_equal(pwrite(fixture->memory, bytes, size, (off_t)address), size);
}

static inline void put64(const struct fixture *fixture, uint64_t address, uint64_t value)
{
	put(fixture, address, &value, sizeof(value));
}

static inline struct fixture *make(void)
{
	static struct fixture fixture;

	fixture = (struct fixture) { .memory = memfd_create("v8", MFD_CLOEXEC), .used = HEAP };
	assert_true(fixture.memory >= 0);
	assert_int_equal(ftruncate(fixture.memory, (off_t)(HEAP + HEAP_BYTES)), 0);
	for (uint16_t type = 0; type < 300; type++)
		put(&fixture, MAPS + (uint64_t)type * MAP_BYTES + 12, &type, sizeof(type));
	fixture.v8.layout = v8_layout__find(11, 3);
	assert_non_null(fixture.v8.layout);
	fixture.v8.types[V8_TYPE_SHARED] = SHARED;
	fixture.v8.types[V8_TYPE_SCOPE] = SCOPE;
	fixture.v8.types[V8_TYPE_SCRIPT] = SCRIPT;
	fixture.v8.types[V8_TYPE_BYTECODE] = BYTECODE;
	fixture.v8.types[V8_TYPE_CODE] = CODE;
	fixture.v8.types[V8_TYPE_NONSTRING] = 128;
	assert_int_equal(remote__new(fixture.memory, &fixture.v8.memory), 0);
	assert_int_equal(v8_lines__new(&fixture.v8.lines), 0);
	return &fixture;
}

static inline void release(struct fixture *fixture)
{
	assert_true(remote__reads(fixture->v8.memory) < MOST_READS);
	v8_lines__free(fixture->v8.lines);
	remote__free(fixture->v8.memory);
}

static inline uint64_t room(struct fixture *fixture, size_t size)
{
	uint64_t address = fixture->used;

	fixture->used += (size + 31) & ~UINT64_C(15);
	assert_true(fixture->used <= HEAP + HEAP_BYTES);
	return address;
}

/* A tagged pointer to an object with this type; the rest follows the pointer to its map. */
static inline uint64_t object(struct fixture *fixture, unsigned type, const void *rest, size_t size)
{
	uint64_t address = room(fixture, 8 + size);

	put64(fixture, address, MAPS + (uint64_t)type * MAP_BYTES + 1);
	put(fixture, address + 8, rest, size);
	return address + 1;
}

static inline uint64_t characters(struct fixture *fixture, const void *text, uint32_t count,
				  uint32_t width)
{
	static uint8_t rest[200000];
	const uint32_t length[2] = { 0, count };

	assert_true(sizeof(length) + (size_t)count * width <= sizeof(rest));
	memcpy(rest, length, sizeof(length));
	memcpy(rest + sizeof(length), text, (size_t)count * width);
	return object(fixture, SEQUENCE | (width == 1 ? ONE_BYTE : 0), rest,
		      sizeof(length) + (size_t)count * width);
}

static inline uint64_t text(struct fixture *fixture, const char *text)
{
	return characters(fixture, text, (uint32_t)strlen(text), 1);
}

static inline uint64_t string_of(struct fixture *fixture, unsigned type, uint32_t length,
				 uint64_t first, uint64_t second)
{
	const uint64_t rest[] = { NUMBER(length), first, second };

	return object(fixture, type, rest, sizeof(rest));
}

static inline void assert_text(const struct fixture *fixture, uint64_t string, const char *expected)
{
	char found[RUNTIME_MOST_NAME];

	assert_int_equal(v8_text__read(&fixture->v8, string, found, sizeof(found)), 0);
	assert_string_equal(found, expected);
}

static inline void assert_no_text(const struct fixture *fixture, uint64_t string)
{
	char found[RUNTIME_MOST_NAME];

	assert_int_equal(v8_text__read(&fixture->v8, string, found, sizeof(found)), -EBADMSG);
	assert_string_equal(found, "");
}

static inline uint64_t script_of(struct fixture *fixture, uint64_t source, uint64_t id,
				 uint64_t line)
{
	const uint64_t rest[8] = {
		source, text(fixture, "/srv/app.js"), NUMBER(line), 0, 0, 0, 0, NUMBER(id)
	};

	return object(fixture, SCRIPT, rest, sizeof(rest));
}
