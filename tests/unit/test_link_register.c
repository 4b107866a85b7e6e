/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows and walks on a machine where a call leaves the return address in a register. Functions are
 * at CODE + 1024 i, in a file and in the process alike.
 */
#include "../harness.h"

#include "../walk.h"

#include "../frames.h"

#include <stdio.h>

#include "base/cleanup.h"

#define MODULE    7
#define CODE      0x1000
#define CODE_END  0x5000
#define FN(i, at) (CODE + (i) * UNWIND_BLOCK_BYTES + (at))
#define FRAMES    0x6000
#define STACK     0xffff00001000ULL
#define FP        ARCH_DWARF_FP
#define LINK      ARCH_DWARF_LINK

static uint64_t stack[512];
static struct unwind walked;

static int read_stack(void *from, void *to, uint32_t bytes, uint64_t address)
{
	if (address < STACK || address + bytes > STACK + sizeof(stack))
		return -1;
	memcpy(to, (const char *)stack + (address - STACK), bytes);
	return 0;
}

/* One function for each program; the last is where the thread began. */
static void compile(const struct program *const *programs, struct rows *ret)
{
	static struct frame_section section;
	static struct bytes image;
	unsigned i = 0;

	section = (struct frame_section) { .address = FRAMES };
	put_usual_cie(&section);
	for (; programs[i]; i++)
		put_fde(&section, FN(i, 0), UNWIND_BLOCK_BYTES, programs[i]);
	put_fde(&section, FN(i, 0), UNWIND_BLOCK_BYTES, PROGRAM(DW_CFA_undefined, LINK));
	make_image(&image, CODE, CODE_END, &section, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, ret), 0);
	assert_true(is_sane_table(ret));
}

#define COMPILE(rows, ...) compile((const struct program *[]) { __VA_ARGS__, NULL }, rows)

static void row_is(const struct rows *rows, uint64_t address, struct unwind_row wanted)
{
	struct world world = { .modules = { [MODULE] = rows } };
	const struct unwind_row *row;
	int known;

	row = unwind_find_row(&world, &walked, MODULE, address, &known);
	assert_non_null(row);
	if (row->kind != wanted.kind || row->offset != wanted.offset || row->bp != wanted.bp ||
	    row->link != wanted.link)
		fail_msg("at 0x%lx: kind %u, offset %d, bp %u, link %u", (unsigned long)address,
			 row->kind, row->offset, row->bp, row->link);
}

static void walk(const struct rows *rows, uint64_t pc, uint64_t bp, uint64_t link)
{
	struct world world = { .modules = { [MODULE] = rows }, .read = read_stack };
	static struct unwind_process process = { .count = 1 };

	process.mappings[0] = (struct unwind_mapping) {
		.page_and_module = CODE >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | MODULE,
		.pages = (CODE_END - CODE) >> UNWIND_PAGE_SHIFT,
		.file_page = CODE >> UNWIND_PAGE_SHIFT,
	};
	unwind_begin(&walked, 1, pc, STACK, bp);
	walked.registers[LINK] = link;
	walk_all(&world, &walked, &process);
}

static void frame_is(unsigned i, uint64_t address)
{
	assert_true(i < walked.count);
	assert_int_equal(walked.frames[i], FRAME_MAKE(MODULE, address));
}

static const struct program *const pair_saved =
	PROGRAM(DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | FP, 4,
		DW_CFA_offset | LINK, 3, DW_CFA_advance_loc | 16, DW_CFA_restore | LINK,
		DW_CFA_restore | FP, DW_CFA_def_cfa_offset, 0);
static const struct program *const leaf = PROGRAM(DW_CFA_nop);

static void rows_say_where_the_return_address_is(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, leaf, pair_saved,
		PROGRAM(DW_CFA_def_cfa_offset, 16, DW_CFA_offset | LINK, 2));
	row_is(&rows, FN(0, 8), (struct unwind_row) { .kind = UNWIND_SP });
	row_is(&rows, FN(1, 0), (struct unwind_row) { .kind = UNWIND_SP });
	row_is(&rows, FN(1, 4),
	       (struct unwind_row) { .kind = UNWIND_SP, .offset = 32, .bp = 4, .link = 3 });
	row_is(&rows, FN(1, 20), (struct unwind_row) { .kind = UNWIND_SP });
	row_is(&rows, FN(2, 0), (struct unwind_row) { .kind = UNWIND_SP, .offset = 16, .link = 2 });
	row_is(&rows, FN(3, 0), (struct unwind_row) { .kind = UNWIND_END });
}

/* 8192 bytes: too far below the CFA for a byte to say. */
static void what_is_saved_at_the_end_of_a_large_frame_is_found(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, PROGRAM(DW_CFA_def_cfa_offset, 0x80, 0x40, DW_CFA_offset | FP, 0x80, 0x08,
			       DW_CFA_offset | LINK, 0xff, 0x07));
	row_is(&rows, FN(0, 0),
	       (struct unwind_row) { .kind = UNWIND_SP,
				     .offset = 8192,
				     .bp = UNWIND_AT_BASE,
				     .link = UNWIND_ABOVE_BASE });
}

static void signed_return_addresses_are_followed(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, PROGRAM(DW_CFA_GNU_window_save, DW_CFA_def_cfa_offset, 16,
			       DW_CFA_offset | LINK, 2));
	stack[0] = FN(1, 8) | 0x2aULL << 48;
	walk(&rows, FN(0, 8), 0, 0);
	assert_int_equal(walked.end, STACK_END_ROOT);
	assert_int_equal(walked.count, 2);
	frame_is(1, FN(1, 7));
}

static void a_leaf_returns_to_the_register_and_others_to_their_stack(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, leaf, pair_saved);
	stack[0] = 42; /* bp */
	stack[1] = FN(2, 8);
	walk(&rows, FN(0, 8), 1, FN(1, 12));
	assert_int_equal(walked.end, STACK_END_ROOT);
	assert_int_equal(walked.how, STACK_BY_ROWS);
	assert_int_equal(walked.count, 3);
	frame_is(1, FN(1, 11));
	frame_is(2, FN(2, 7));
	assert_int_equal(walked.bp, 42);
	assert_int_equal(walked.sp, STACK + 32);
}

/* It has called somebody, so the register is not its own any more. */
static void a_caller_that_saved_nothing_is_the_end(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, leaf);
	walk(&rows, FN(0, 8), 0, FN(0, 16));
	assert_int_equal(walked.end, STACK_END_NO_RULE);
	assert_int_equal(walked.count, 2);
}

static void a_signal_restores_the_register_of_an_interrupted_leaf(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	static struct frame_section section;
	static struct bytes image;

	section = (struct frame_section) { .address = FRAMES };
	put_cie(&section, "zRS", DW_EH_PE_absptr, USUAL_CIE);
	put_fde(&section, FN(0, 0), UNWIND_BLOCK_BYTES, leaf);
	put_usual_cie(&section);
	put_fde(&section, FN(1, 0), UNWIND_BLOCK_BYTES, leaf);
	put_fde(&section, FN(2, 0), UNWIND_BLOCK_BYTES, PROGRAM(DW_CFA_undefined, LINK));
	make_image(&image, CODE, CODE_END, &section, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), 0);
	stack[ARCH_SIGNAL_FP / 8] = 0;
	stack[ARCH_SIGNAL_LINK / 8] = FN(2, 4);
	stack[ARCH_SIGNAL_SP / 8] = STACK + 2048;
	stack[ARCH_SIGNAL_SP / 8 + 1] = FN(1, 0);
	walk(&rows, FN(0, 4), 0, 0);
	assert_int_equal(walked.end, STACK_END_ROOT);
	assert_int_equal(walked.count, 3);
	frame_is(1, FN(1, 0));
	frame_is(2, FN(2, 3));
}

/* A frame pointer leads to a pair somewhere in a frame: rows that count from sp are of no use. */
static void after_a_frame_pointer_rows_by_sp_are_not_followed(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	COMPILE(&rows, leaf, pair_saved);
	stack[8] = STACK + 160; /* where bp points to: bp and the return address */
	stack[9] = FN(1, 8);
	stack[20] = 0;
	stack[21] = FN(2, 8);
	walk(&rows, FN(8, 0), STACK + 64, 0); /* code without rows */
	assert_int_equal(walked.end, STACK_END_ROOT);
	assert_int_equal(walked.how, STACK_BY_FRAMES);
	assert_int_equal(walked.count, 3);
	frame_is(1, FN(1, 7));
	frame_is(2, FN(2, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_where_the_return_address_is),
		cmocka_unit_test(what_is_saved_at_the_end_of_a_large_frame_is_found),
		cmocka_unit_test(signed_return_addresses_are_followed),
		cmocka_unit_test(a_leaf_returns_to_the_register_and_others_to_their_stack),
		cmocka_unit_test(a_caller_that_saved_nothing_is_the_end),
		cmocka_unit_test(a_signal_restores_the_register_of_an_interrupted_leaf),
		cmocka_unit_test(after_a_frame_pointer_rows_by_sp_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
