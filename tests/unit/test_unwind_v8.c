/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of bpf/v8_walk.h on memory made by hand: a stack of frames of builtins, the interpreter
 * and compiled code, with the objects that they point to.
 */
#include "../harness.h"

#include <stdio.h>

#include "../walk.h"

#define MODULE       7
#define BUILTINS     0x555500000000ULL /* in a file, without rows */
#define INTERPRETER  (BUILTINS + 0x110)
#define EXIT         (BUILTINS + 0x210)
#define ENTRY        (BUILTINS + 0x310)
#define NATIVE       0x555600000000ULL /* in a file, with rows */
#define JIT          0x7f2000000000ULL /* in no file */
#define JIT_BYTES    0x10000
#define STACK        0x7ffc00001000ULL
#define STACK_BYTES  65536
#define HEAP         0x7f1000000000ULL
#define HEAP_BYTES   65536
#define MAP_BYTECODE (HEAP + 0x100)
#define MAP_OTHER    (HEAP + 0x200)
#define FUNCTION(i)  (HEAP + 0x1000 + 0x100 * (uint64_t)(i))
#define SHARED(i)    (HEAP + 0x4000 + 0x100 * (uint64_t)(i))
#define CODE_OF(i)   (HEAP + 0x8000 + 0x100 * (uint64_t)(i))
#define TAG          1
#define NUMBER(n)    ((uint64_t)(n) << 32)
#define TYPE         191

static const struct runtime_v8 of_20 = { .function_shared = 24,
					 .flags_word = 5,
					 .bytecode_type = TYPE };

struct fixture {
	struct unwind_page blocks, row_page, no_blocks;
	struct rows rows, no_rows;
	struct unwind_process process;
	uint8_t stack[STACK_BYTES], heap[HEAP_BYTES], jit[JIT_BYTES];
	struct world world;
	struct unwind walk;
	uint64_t pc, sp, bp;
	uint64_t end;        /* where the next outer frame begins */
	uint64_t pointed_by; /* where its frame pointer is to be stored; 0: it is the current one */
};

static uint8_t *memory_at(struct fixture *f, uint64_t address, uint64_t bytes)
{
	if (address >= STACK && address + bytes <= STACK + STACK_BYTES)
		return f->stack + (address - STACK);
	if (address >= HEAP && address + bytes <= HEAP + HEAP_BYTES)
		return f->heap + (address - HEAP);
	if (address >= JIT && address + bytes <= JIT + JIT_BYTES)
		return f->jit + (address - JIT);
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

static void put(struct fixture *f, uint64_t address, const void *bytes, size_t size)
{
	memcpy(memory_at(f, address, size), bytes, size);
}

static void put64(struct fixture *f, uint64_t address, uint64_t value)
{
	put(f, address, &value, sizeof(value));
}

/* A function with its SharedFunctionInfo. `data`: what that has as its code. */
static void make_function(struct fixture *f, unsigned i, uint64_t data)
{
	put64(f, FUNCTION(i) + of_20.function_shared, SHARED(i) + TAG);
	put64(f, SHARED(i) + 8, data);
	put64(f, SHARED(i) + 8 + 8 * of_20.flags_word, NUMBER(i));
}

static void make_bytecode(struct fixture *f, unsigned i)
{
	put64(f, CODE_OF(i), MAP_BYTECODE + TAG);
}

static struct fixture *make(void)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	f->row_page.rows[0] = (struct unwind_row) { .kind = UNWIND_END };
	f->blocks.blocks[0] = (struct unwind_block) { .count = 1 };
	f->rows = (struct rows) { .block_pages = &f->blocks,
				  .block_page_count = 1,
				  .row_pages = &f->row_page,
				  .row_page_count = 1 };
	f->no_rows = (struct rows) { .block_pages = &f->no_blocks, .block_page_count = 1 };
	f->world = (struct world) { .modules = { [MODULE] = &f->no_rows, [MODULE + 1] = &f->rows },
				    .read = read_fixture,
				    .from = f };
	f->process.count = 2;
	f->process.mappings[0] = (struct unwind_mapping) {
		.page_and_module = BUILTINS >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | MODULE,
		.pages = 1,
	};
	f->process.mappings[1] = (struct unwind_mapping) {
		.page_and_module = NATIVE >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | (MODULE + 1),
		.pages = 1,
	};
	f->process.runtime.kind = RUNTIME_V8;
	f->process.runtime.areas[0].begin = JIT;
	f->process.runtime.areas[0].end = JIT + JIT_BYTES;
	f->process.runtime.v8 = of_20;
	put(f, MAP_BYTECODE + 12, &(uint16_t) { TYPE }, 2);
	put(f, MAP_OTHER + 12, &(uint16_t) { TYPE + 1 }, 2);
	for (unsigned i = 0; i < 16; i++) {
		make_bytecode(f, i);
		make_function(f, i, CODE_OF(i) + TAG);
	}
	f->sp = f->end = STACK;
	return f;
}

/* --- frames, from the innermost on ------------------------------------------------------------ */

/* Room for `below` bytes below the frame pointer. Its return address is put by the next one. */
static uint64_t push(struct fixture *f, uint64_t pc, unsigned below)
{
	uint64_t bp = f->end + below;

	if (f->pointed_by) {
		put64(f, f->pointed_by, bp);
		put64(f, f->pointed_by + 8, pc);
	} else {
		f->pc = pc;
		f->bp = bp;
	}
	f->pointed_by = bp;
	f->end = bp + 16;
	return bp;
}

static uint64_t push_function(struct fixture *f, uint64_t pc, unsigned function, unsigned below)
{
	uint64_t bp = push(f, pc, below);

	put64(f, bp - 8, FUNCTION(function) + TAG); /* a context is an object, whichever it is */
	put64(f, bp - 16, FUNCTION(function) + TAG);
	put64(f, bp - 24, 3);
	return bp;
}

static uint64_t push_interpreted(struct fixture *f, unsigned function, unsigned position)
{
	uint64_t bp = push_function(f, INTERPRETER, function, 64);

	put64(f, bp - 32, CODE_OF(function) + TAG);
	put64(f, bp - 40, NUMBER(position));
	return bp;
}

/* A frame of another kind, with a number for it. */
static void push_other(struct fixture *f, uint64_t pc, unsigned kind)
{
	put64(f, push(f, pc, 48) - 8, 2 * kind);
}

static void push_outermost(struct fixture *f)
{
	push_other(f, ENTRY, 1);
	put64(f, f->pointed_by, 0);
	put64(f, f->pointed_by + 8, NATIVE + 16);
}

static void walk(struct fixture *f, bool is_exact)
{
	unwind_begin(&f->walk, 1, f->pc, f->sp, f->bp);
	f->walk.exact = is_exact;
	walk_all(&f->world, &f->walk, &f->process);
	assert_true(f->walk.count <= STACK_MOST_WORDS);
}

/*
 * A native frame is 'X', 'I', 'E', 'N' for exit, interpreter, entry and native code, 'B' for other
 * builtins; a function is its number with 'i' or 'c' and the position; code is '?'.
 */
static void assert_walk(struct fixture *f, const char *expected)
{
	char found[512] = "", *at = found;

	for (uint32_t i = 0; i < f->walk.count; i++) {
		uint64_t word = f->walk.frames[i], second = f->walk.frames[i + 1];
		uint32_t cookie = FRAME_COOKIE(second);

		assert_true(at - found < (long)sizeof(found) - 32);
		if (!FRAME_IS_RUNTIME(word)) {
			uint64_t address = FRAME_ADDRESS(word);

			*at++ = FRAME_MODULE(word) == MODULE + 1 ? 'N'
								 : "BIXE"[address / 0x100 % 4];
			*at = '\0';
			continue;
		}
		assert_int_equal(FRAME_RUNTIME(word), RUNTIME_V8);
		i++;
		if (V8_COOKIE_KIND(cookie) == V8_IS_CODE) {
			at += sprintf(at, "?%lx", (unsigned long)(FRAME_OBJECT(word) - JIT));
			continue;
		}
		assert_int_equal((FRAME_OBJECT(word) - SHARED(0)) / 0x100, V8_COOKIE_ID(cookie));
		at += sprintf(at, "%u", V8_COOKIE_ID(cookie));
		if (V8_COOKIE_KIND(cookie) == V8_IS_INTERPRETED)
			at += sprintf(at, "i%u", FRAME_POSITION(second));
		else if (FRAME_POSITION(second) == UINT32_MAX)
			at += sprintf(at, "c-");
		else
			at += sprintf(at, "c%lx",
				      (unsigned long)((uint64_t)V8_COOKIE_UPPER(cookie) << 32 |
						      FRAME_POSITION(second)) -
					      (unsigned long)JIT);
	}
	assert_string_equal(found, expected);
}

/* --- whole stacks ----------------------------------------------------------------------------- */

static void each_kind_of_frame_is_walked(void **state)
{
	struct fixture *f = make();

	push_other(f, EXIT, 3);
	push_interpreted(f, 1, 60);
	push_function(f, JIT + 0x500, 2, 48);
	make_function(f, 3, NUMBER(500)); /* a builtin */
	push_function(f, BUILTINS + 8, 3, 48);
	push_interpreted(f, 4, 90);
	push_outermost(f);
	walk(f, false);
	assert_int_equal(f->walk.end, STACK_END_ROOT);
	assert_true(f->walk.how & STACK_BY_RUNTIME);
	assert_walk(f, "X1i602c4ffB4i90EN");
}

/* Who waits has left V8; who runs in the interpreter has its native frame too. */
static void the_interpreter_itself_is_shown_where_it_runs(void **state)
{
	struct fixture *f = make();

	push_interpreted(f, 1, 60);
	push_outermost(f);
	f->sp = f->bp - 56;
	walk(f, true);
	assert_walk(f, "I1i60EN");
	walk(f, false);
	assert_walk(f, "1i60EN");
}

/* The function has compiled code by now, but this frame is still the interpreter's. */
static void bytecode_tells_the_interpreter(void **state)
{
	struct fixture *f = make();

	push_interpreted(f, 1, 60);
	make_function(f, 1, CODE_OF(9) + TAG);
	push_interpreted(f, 2, 70);
	push_outermost(f);
	walk(f, false);
	assert_walk(f, "1i602i70EN");
	/* What is there is no bytecode, or its map is not. */
	put64(f, CODE_OF(1), MAP_OTHER + TAG);
	walk(f, false);
	assert_walk(f, "I1c-2i70EN");
	put64(f, CODE_OF(1), 0x1235);
	walk(f, false);
	assert_walk(f, "I1c-2i70EN");
	put64(f, CODE_OF(1), 0);
	walk(f, false);
	assert_walk(f, "I1c-2i70EN");
}

/* --- edges ------------------------------------------------------------------------------------ */

static void put_code(struct fixture *f, uint64_t at, const char *bytes, size_t size)
{
	memset(memory_at(f, JIT + 0x400, 0x200), 0x90, 0x200);
	put(f, at, bytes, size);
}

/* The frame pointer is the caller's; the return address is `words` words up. */
static struct fixture *make_edge(unsigned words)
{
	struct fixture *f = make();

	f->end = STACK + 8 * words + 8;
	push_function(f, JIT + 0x700, 2, 48);
	push_outermost(f);
	f->sp = STACK;
	put64(f, STACK + 8 * words, JIT + 0x700);
	f->pc = JIT + 0x500;
	f->walk.registers[V8_DWARF_FUNCTION] = FUNCTION(1) + TAG;
	return f;
}

static void a_function_that_begins_has_its_caller(void **state)
{
	struct fixture *f = make_edge(0);

	put_code(f, JIT + 0x500, "\x55\x48\x89\xe5", 4);
	walk(f, true);
	assert_walk(f, "1c5002c6ffEN");
	/* The check of the code comes first. */
	f = make_edge(0);
	put_code(f, JIT + 0x500 + V8_MOST_PROLOGUE, "\x55\x48\x89\xe5", 4);
	walk(f, true);
	assert_walk(f, "1c5002c6ffEN");
	f = make_edge(1);
	put_code(f, JIT + 0x4ff, "\x55\x48\x89\xe5", 4);
	walk(f, true);
	assert_walk(f, "1c5002c6ffEN");
}

static void a_function_that_returns_has_its_caller(void **state)
{
	static const char end[] = "\x48\x8b\xe5\x5d\x48\x83\xf9\x01";
	struct fixture *f;

	for (unsigned i = 0; i <= V8_MOST_EPILOGUE; i++) {
		f = make_edge(0);
		put_code(f, JIT + 0x500 - 4 - i, end, sizeof(end) - 1);
		walk(f, true);
		/* The register may have another function by now. */
		assert_walk(f, "?5002c6ffEN");
	}
	/* Not a return: the two instructions are not followed by the comparison. */
	f = make_edge(0);
	put_code(f, JIT + 0x500 - 4, end, 4);
	f->bp = STACK + 8 + 48;
	walk(f, true);
	assert_walk(f, "2c500EN");
}

static void a_builtin_without_a_frame_has_the_caller_of_the_program(void **state)
{
	struct fixture *f = make();

	/* The builtin was called by compiled code; its frame pointer is that code's. */
	push_function(f, BUILTINS + 8, 2, 80);
	push_outermost(f);
	f->sp = STACK;
	put64(f, STACK + 16, JIT + 0x600);
	put64(f, STACK + 24, JIT + 0x900);
	walk(f, true);
	assert_walk(f, "B2c5ffEN");
	/* Nothing there is an address of code: the function is known all the same. */
	put64(f, STACK + 16, 0);
	put64(f, STACK + 24, 0);
	walk(f, true);
	assert_walk(f, "B2c-EN");
}

/* --- what is broken --------------------------------------------------------------------------- */

static void a_frame_without_a_function_is_code(void **state)
{
	static const uint64_t wrong[] = { 0, 2, 12345, UINT64_MAX, HEAP + HEAP_BYTES - 7 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct fixture *f = make();

		put64(f, push_function(f, JIT + 0x500, 1, 48) - 16, wrong[i]);
		push_outermost(f);
		walk(f, false);
		assert_walk(f, "?4ffEN");
		/* Its SharedFunctionInfo is not one. */
		f = make();
		push_function(f, JIT + 0x500, 1, 48);
		put64(f, FUNCTION(1) + of_20.function_shared, wrong[i]);
		push_outermost(f);
		walk(f, false);
		assert_walk(f, "?4ffEN");
	}
}

static void a_frame_pointer_that_leads_nowhere_ends_the_walk(void **state)
{
	static const uint64_t wrong[] = { 0,
					  12345,
					  STACK - 8,
					  STACK + STACK_BYTES,
					  UINT64_MAX - 7,
					  STACK + (UINT64_C(1) << 40) };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct fixture *f = make();

		put64(f, push_function(f, JIT + 0x500, 1, 48), wrong[i]);
		put64(f, f->bp + 8, JIT + 0x700);
		walk(f, false);
		assert_walk(f, "1c4ff?6ff");
		assert_int_not_equal(f->walk.end, STACK_END_ROOT);
	}
}

static void a_stack_that_is_a_circle_ends(void **state)
{
	struct fixture *f = make();
	uint64_t bp = push_function(f, JIT + 0x500, 1, 48);

	put64(f, bp, bp);
	put64(f, bp + 8, JIT + 0x500);
	walk(f, false);
	assert_int_not_equal(f->walk.end, STACK_END_ROOT);
	assert_true(f->world.reads <= 4ULL * STACK_MOST_FRAMES);
}

static void a_deep_stack_is_cut_at_the_outermost(void **state)
{
	struct fixture *f = make();

	for (int i = 0; i < 700; i++)
		push_interpreted(f, 1 + i % 8, 60);
	push_outermost(f);
	walk(f, false);
	assert_int_equal(f->walk.end, STACK_END_ROOT);
	assert_int_equal(f->walk.count, 2 * 700 + 2);
	assert_true(f->world.reads <= 3ULL * 700 + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_frame_is_walked),
		cmocka_unit_test(the_interpreter_itself_is_shown_where_it_runs),
		cmocka_unit_test(bytecode_tells_the_interpreter),
		cmocka_unit_test(a_function_that_begins_has_its_caller),
		cmocka_unit_test(a_function_that_returns_has_its_caller),
		cmocka_unit_test(a_builtin_without_a_frame_has_the_caller_of_the_program),
		cmocka_unit_test(a_frame_without_a_function_is_code),
		cmocka_unit_test(a_frame_pointer_that_leads_nowhere_ends_the_walk),
		cmocka_unit_test(a_stack_that_is_a_circle_ends),
		cmocka_unit_test(a_deep_stack_is_cut_at_the_outermost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
