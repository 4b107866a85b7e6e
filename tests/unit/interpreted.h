/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory made by hand for walks through an interpreter: a native stack of a few kinds of functions,
 * and a heap for the interpreter's own frames. Functions of the program have numbers.
 */
#pragma once

#include "../harness.h"

#include <stdio.h>

#include "../walk.h"

#define MODULE       7
#define CODE         0x555500000000ULL
#define FILE_PAGE    1
#define FN(i, at)    (CODE + (i) * UNWIND_BLOCK_BYTES + (at))
#define FRAME(i, at) FRAME_MAKE(MODULE, 0x1000 + (i) * UNWIND_BLOCK_BYTES + (at))

/*
 * Functions of the module, and what their frames take of the stack. CALLER calls the loop in Ruby.
 * The walk cannot leave BAD.
 */
enum { LOOP, NATIVE, START, BAD, CALLER, FUNCTIONS };
static const unsigned sizes[FUNCTIONS] = {
	[LOOP] = 64, [NATIVE] = 32, [START] = 16, [BAD] = 16, [CALLER] = 48
};

#define STACK       0x7ffc00001000ULL
#define STACK_SIZE  (256 * 1024)
#define HEAP        0x7f1000000000ULL
#define HEAP_SIZE   (256 * 1024)
#define THREAD      (HEAP + 256) /* what the thread pointer points to */
#define STATE       (HEAP + 1024)
#define OBJECT(i)   (HEAP + 0x30000 + 256 * (uint64_t)((i) % 256))
#define NAME_OF(i)  (0x1000 * ((uint64_t)(i) % 256 + 1))
#define POSITION(i) (40 + 2 * ((i) % 64))

struct fixture {
	struct unwind_page blocks, row_page;
	struct rows rows;
	struct unwind_process process;
	uint8_t stack[STACK_SIZE], heap[HEAP_SIZE];
	struct world world;
	struct unwind walk;
	uint64_t sp; /* of the next native frame */
	uint64_t return_at;
	uint64_t pc;
	uint64_t list; /* Ruby: the innermost frame so far */
	int frames;    /* Ruby: how many there are */
};

static uint8_t *memory_at(struct fixture *fixture, uint64_t address, uint64_t bytes)
{
	if (address >= STACK && address + bytes <= STACK + STACK_SIZE)
		return fixture->stack + (address - STACK);
	if (address >= HEAP && address + bytes <= HEAP + HEAP_SIZE)
		return fixture->heap + (address - HEAP);
	return NULL;
}

static int read_fixture(void *from, void *to, uint32_t bytes, uint64_t address)
{
	const uint8_t *at = address < UINT64_MAX - bytes ? memory_at(from, address, bytes) : NULL;

	if (!at)
		return -1;
	memcpy(to, at, bytes);
	return 0;
}

static void put64(struct fixture *fixture, uint64_t address, uint64_t value)
{
	memcpy(memory_at(fixture, address, 8), &value, 8);
}

static void set_function(struct fixture *fixture, unsigned i, unsigned kind, int offset)
{
	fixture->row_page.rows[i] = (struct unwind_row) { .kind = (uint8_t)kind, .offset = offset };
	fixture->blocks.blocks[4 * FILE_PAGE + i] =
		(struct unwind_block) { .first = (uint16_t)i, .count = 1 };
}

static struct fixture *make_fixture(enum runtime_kind kind)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	fixture.rows = (struct rows) { .block_pages = &fixture.blocks,
				       .block_page_count = 1,
				       .row_pages = &fixture.row_page,
				       .row_page_count = 1 };
	fixture.world = (struct world) { .modules = { [MODULE] = &fixture.rows },
					 .read = read_fixture,
					 .from = &fixture };
	fixture.process.count = 1;
	fixture.process.mappings[0] = (struct unwind_mapping) {
		.page_and_module = CODE >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | MODULE,
		.pages = 2,
		.file_page = FILE_PAGE,
	};
	for (unsigned i = 0; i < FUNCTIONS; i++)
		set_function(&fixture, i,
			     i == START ? UNWIND_END
			     : i == BAD ? UNWIND_UNSUPPORTED
					: UNWIND_SP,
			     (int)sizes[i]);
	fixture.process.runtime.kind = kind;
	fixture.process.runtime.areas[0].begin = FN(LOOP, 0);
	fixture.process.runtime.areas[0].end = FN(LOOP + 1, 0);
	fixture.sp = STACK;
	return &fixture;
}

/* Adds the next outer native frame. Its stack pointer. */
static uint64_t push(struct fixture *fixture, unsigned function)
{
	uint64_t sp = fixture->sp;

	if (fixture->return_at)
		put64(fixture, fixture->return_at, FN(function, 101));
	else
		fixture->pc = FN(function, 100);
	fixture->sp += sizes[function];
	fixture->return_at = fixture->sp - 8;
	return sp;
}

static void walk(struct fixture *fixture)
{
	unwind_begin(&fixture->walk, 1, fixture->pc, STACK, 0);
	fixture->walk.beside.thread_pointer = THREAD;
	walk_all(&fixture->world, &fixture->walk, &fixture->process);
	assert_true(fixture->walk.count <= STACK_MOST_WORDS);
}

/*
 * `expected`: a native function is its first letter, a function of the program its number, with an
 * "i" before it if it has no position. The cookie is NAME_OF() shifted by `shift`.
 */
static void assert_frames_of(const struct fixture *fixture, const char *expected, unsigned shift)
{
	static const char native[] = "LNSBC";
	char found[256] = "";

	for (uint32_t i = 0; i < fixture->walk.count; i++) {
		uint64_t word = fixture->walk.frames[i], next;
		size_t used = strlen(found);

		assert_true(used < sizeof(found) - 8);
		if (!FRAME_IS_RUNTIME(word)) {
			found[used] = native[(FRAME_ADDRESS(word) - 0x1000) / UNWIND_BLOCK_BYTES];
			continue;
		}
		next = fixture->walk.frames[++i];
		assert_int_equal(FRAME_RUNTIME(word), fixture->process.runtime.kind);
		for (int k = 0; k < 256; k++)
			if (FRAME_OBJECT(word) == OBJECT(k)) {
				snprintf(found + used, sizeof(found) - used, "%s%d",
					 FRAME_POSITION(next) ? "" : "i", k);
				if (FRAME_POSITION(next))
					assert_int_equal(FRAME_POSITION(next), POSITION(k));
				assert_int_equal(FRAME_COOKIE(next), NAME_OF(k) >> shift);
			}
	}
	assert_string_equal(found, expected);
}
