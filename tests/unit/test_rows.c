/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "../walk.h"

#include "../frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"

#define CODE     0x1000
#define CODE_END 0x5000
#define FRAMES   0x6000 /* address of a section */

static int compile(const struct frame_section *eh, const struct frame_section *debug,
		   struct rows *ret)
{
	static struct bytes image;

	make_image(&image, CODE, CODE_END, eh, debug);
	return rows__compile_image(image.at, image.size, ret);
}

static void assert_compiles(const struct frame_section *eh, const struct frame_section *debug,
			    struct rows *ret)
{
	assert_int_equal(compile(eh, debug, ret), 0);
	assert_true(is_sane_table(ret));
}

/* One function of 4 KiB at CODE. */
static void compile_program(const struct program *program, struct rows *ret)
{
	static struct frame_section section;

	section = (struct frame_section) { .address = FRAMES };
	put_usual_cie(&section);
	put_fde(&section, CODE, 0x1000, program);
	assert_compiles(&section, NULL, ret);
}

static struct unwind_row row_at(const struct rows *rows, uint64_t address)
{
	struct world world = { .modules = { [1] = rows } };
	static struct unwind searching;
	const struct unwind_row *row;
	int known;

	row = unwind_find_row(&world, &searching, 1, address, &known);
	return row ? *row : (struct unwind_row) { .kind = UNWIND_NONE };
}

static void row_is(const struct rows *rows, uint64_t address, unsigned kind, int offset,
		   unsigned bp)
{
	struct unwind_row row = row_at(rows, address);

	if (row.kind != kind || row.offset != offset || row.bp != bp)
		fail_msg("at 0x%lx: kind %u, offset %d, bp %u; expected %u, %d, %u", address,
			 row.kind, row.offset, row.bp, kind, offset, bp);
}

/* --- rules ---------------------------------------------------------------------------------- */

static void pushes_and_pops_move_the_cfa(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
				DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset,
				0x80, 1, DW_CFA_advance_loc1, 200, DW_CFA_restore | 6,
				DW_CFA_def_cfa_offset, 8),
			&rows);
	row_is(&rows, CODE, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 1, UNWIND_SP, 16, 2);
	row_is(&rows, CODE + 4, UNWIND_SP, 16, 2);
	row_is(&rows, CODE + 5, UNWIND_SP, 128, 2);
	row_is(&rows, CODE + 204, UNWIND_SP, 128, 2);
	row_is(&rows, CODE + 205, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 0xfff, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 0x1000, UNWIND_NONE, 0, 0);
	assert_int_equal(rows.row_count, 4 + 3);
	assert_int_equal(rows.unsupported_count, 0);
	assert_int_equal(rows.broken_count, 0);
}

static void a_frame_pointer_is_followed(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
				DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 3,
				DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc2, 0, 1,
				DW_CFA_def_cfa, 7, 8),
			&rows);
	row_is(&rows, CODE + 4, UNWIND_BP, 16, 2);
	row_is(&rows, CODE + 0x103, UNWIND_BP, 16, 2);
	row_is(&rows, CODE + 0x104, UNWIND_SP, 8, 2);
}

static void what_is_remembered_is_recalled_with_its_cfa(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_def_cfa_offset, 48, DW_CFA_offset | 6, 3,
				DW_CFA_advance_loc | 8, DW_CFA_remember_state, DW_CFA_restore | 6,
				DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc | 8,
				DW_CFA_remember_state, DW_CFA_same_value, 6, DW_CFA_restore_state,
				DW_CFA_restore_state),
			&rows);
	row_is(&rows, CODE, UNWIND_SP, 48, 3);
	row_is(&rows, CODE + 8, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 16, UNWIND_SP, 48, 3);
}

static void signed_and_negated_operands_are_scaled(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_def_cfa_sf, 7, 0x7d, DW_CFA_offset_extended_sf, 6, 4,
				DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset_sf, 0x7b,
				DW_CFA_GNU_args_size, 16, DW_CFA_advance_loc | 1,
				DW_CFA_offset_extended, 6, 254, 1, DW_CFA_advance_loc | 1,
				DW_CFA_restore_extended, 6),
			&rows);
	row_is(&rows, CODE, UNWIND_SP, 24, 4);
	row_is(&rows, CODE + 1, UNWIND_SP, 40, 4);
	row_is(&rows, CODE + 2, UNWIND_SP, 40, 254);
	row_is(&rows, CODE + 3, UNWIND_SP, 40, 0);
}

static void a_stack_that_was_aligned_anew_is_followed(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_advance_loc | 5, DW_CFA_def_cfa, 10, 0,
				DW_CFA_advance_loc | 9, DW_CFA_expression, 6, 2, DW_OP_breg6, 0,
				DW_CFA_advance_loc | 6, DW_CFA_def_cfa_expression, 3, DW_OP_breg6,
				0x78, DW_OP_deref, DW_CFA_advance_loc | 9, DW_CFA_def_cfa, 10, 0),
			&rows);
	row_is(&rows, CODE + 5, UNWIND_REGISTER + 10, 0, 0);
	row_is(&rows, CODE + 14, UNWIND_REGISTER + 10, 0, UNWIND_BP_AT_BP);
	row_is(&rows, CODE + 20, UNWIND_BP_DEREF, -8, UNWIND_BP_AT_BP);
	row_is(&rows, CODE + 29, UNWIND_REGISTER + 10, 0, UNWIND_BP_AT_BP);
}

static void a_saved_stack_pointer_is_followed(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_def_cfa, 0, 8, DW_CFA_offset | 6, 3, DW_CFA_advance_loc | 7,
				DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 0xc0, 0, DW_OP_deref,
				DW_OP_plus_uconst, 8),
			&rows);
	row_is(&rows, CODE, UNWIND_REGISTER + 0, 8, 3);
	row_is(&rows, CODE + 7, UNWIND_SP_DEREF, 64, 3);
	assert_int_equal(rows.unsupported_count, 0);
}

static void the_linkers_expression_for_a_plt_is_recognised(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 6,
				DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 10,
				DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
				DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
				DW_OP_shl, DW_OP_plus),
			&rows);
	row_is(&rows, CODE, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 6, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 16, UNWIND_PLT, 11, 0);
	row_is(&rows, CODE + 0xfff, UNWIND_PLT, 11, 0);
}

static void a_function_without_a_caller_ends_the_stack(void **state)
{
	cleanup(rows__release) struct rows rows = {};

	compile_program(PROGRAM(DW_CFA_undefined, 16), &rows);
	row_is(&rows, CODE, UNWIND_END, 0, 0);
}

static void a_signal_handlers_caller_is_marked(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_cie(&section, "zRS", DW_EH_PE_pcrel | DW_EH_PE_sdata4, USUAL_CIE);
	put_fde(&section, CODE, 16, PROGRAM(DW_CFA_def_cfa_expression, 1, DW_OP_nop));
	assert_compiles(&section, NULL, &rows);
	row_is(&rows, CODE, UNWIND_SIGNAL, 0, 0);
	row_is(&rows, CODE + 15, UNWIND_SIGNAL, 0, 0);
	row_is(&rows, CODE + 16, UNWIND_NONE, 0, 0);
}

static void rules_that_are_not_followed_are_hard_and_counted(void **state)
{
	struct program *const programs[] = {
		PROGRAM(DW_CFA_offset | 16, 2),      /* the return address elsewhere */
		PROGRAM(DW_CFA_same_value, 16),      /* … nowhere */
		PROGRAM(DW_CFA_register, 16, 2),     /* … in a register */
		PROGRAM(DW_CFA_register, 6, 9),      /* the frame pointer in another one */
		PROGRAM(DW_CFA_val_offset, 6, 2),    /* … computed */
		PROGRAM(DW_CFA_val_offset_sf, 6, 2), /* … computed */
		PROGRAM(DW_CFA_offset_extended, 6, 255, 1),
		PROGRAM(DW_CFA_offset_extended_sf, 6, 0x7e),
		PROGRAM(DW_CFA_offset | 6, 0),
		PROGRAM(DW_CFA_GNU_negative_offset_extended, 6, 2),
		PROGRAM(DW_CFA_val_expression, 6, 2, DW_OP_breg6, 0),
		PROGRAM(DW_CFA_expression, 6, 2, DW_OP_breg6, 8),
		PROGRAM(DW_CFA_expression, 6, 2, DW_OP_breg7, 0),
		PROGRAM(DW_CFA_expression, 6, 3, DW_OP_breg6, 0, DW_OP_deref),
		PROGRAM(DW_CFA_expression, 16, 2, DW_OP_breg7, 0),
		PROGRAM(DW_CFA_def_cfa, 17, 8),                            /* no such register */
		PROGRAM(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 8), /* 2 GiB */
		PROGRAM(DW_CFA_def_cfa_expression, 0),
		PROGRAM(DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8),
		PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 8, DW_OP_deref),
		PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg3, 8, DW_OP_deref),
		PROGRAM(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8, DW_OP_deref,
			DW_OP_plus_uconst, 16),
		PROGRAM(DW_CFA_def_cfa_expression, 10, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15,
			DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl),
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		cleanup(rows__release) struct rows rows = {};

		compile_program(programs[i], &rows);
		if (row_at(&rows, CODE).kind != UNWIND_UNSUPPORTED)
			fail_msg("program %zu is not hard", i);
		assert_int_equal(rows.unsupported_count, 4); /* one in each block */
		assert_int_equal(rows.broken_count, 0);
	}
}

/* --- descriptions --------------------------------------------------------------------------- */

static void every_encoding_of_pointers_is_read(void **state)
{
	static const uint8_t formats[] = { DW_EH_PE_absptr, DW_EH_PE_udata2, DW_EH_PE_udata4,
					   DW_EH_PE_udata8, DW_EH_PE_sdata2, DW_EH_PE_sdata4,
					   DW_EH_PE_sdata8 };
	static const uint8_t bases[] = { DW_EH_PE_absptr, DW_EH_PE_pcrel, DW_EH_PE_datarel };
	static struct frame_section section;

	for (size_t i = 0; i < sizeof(formats) * sizeof(bases); i++) {
		uint8_t format = formats[i / sizeof(bases)], base = bases[i % sizeof(bases)];
		cleanup(rows__release) struct rows rows = {};

		/* A short and unsigned distance leads upwards only. */
		section = (struct frame_section) { .address =
							   format <= DW_EH_PE_udata8 ? 0 : FRAMES };
		if (base == DW_EH_PE_datarel && format && format <= DW_EH_PE_udata4)
			continue;
		put_cie(&section, "zR", base | format, USUAL_CIE);
		put_fde_based(&section, CODE + 8, 8, base == DW_EH_PE_datarel ? IMAGE_GOT : 0,
			      PROGRAM(DW_CFA_def_cfa_offset, 24));
		assert_compiles(&section, NULL, &rows);
		row_is(&rows, CODE + 7, UNWIND_NONE, 0, 0);
		row_is(&rows, CODE + 8, UNWIND_SP, 24, 0);
		row_is(&rows, CODE + 15, UNWIND_SP, 24, 0);
		row_is(&rows, CODE + 16, UNWIND_NONE, 0, 0);
	}
}

static void encodings_that_make_no_sense_are_left_out(void **state)
{
	static const uint8_t encodings[] = { DW_EH_PE_omit, DW_EH_PE_indirect | DW_EH_PE_udata4,
					     DW_EH_PE_textrel | DW_EH_PE_udata4,
					     DW_EH_PE_aligned | DW_EH_PE_udata4, 0x07 };
	static struct frame_section section;
	struct rows rows;

	for (size_t i = 0; i < sizeof(encodings); i++) {
		section = (struct frame_section) { .address = FRAMES };
		put_cie(&section, "zR", encodings[i], USUAL_CIE);
		put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
		assert_int_equal(compile(&section, NULL, &rows), -ENODATA);
	}
}

static void locations_can_be_set(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_cie(&section, "zR", DW_EH_PE_absptr | DW_EH_PE_udata4, USUAL_CIE);
	put_fde(&section, CODE, 0x100,
		PROGRAM(DW_CFA_set_loc, 0x20, CODE >> 8, 0, 0, DW_CFA_def_cfa_offset, 32,
			DW_CFA_advance_loc4, 16, 0, 0, 0, DW_CFA_def_cfa_offset, 8));
	assert_compiles(&section, NULL, &rows);
	row_is(&rows, CODE + 0x1f, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 0x20, UNWIND_SP, 32, 0);
	row_is(&rows, CODE + 0x30, UNWIND_SP, 8, 0);
}

static void debug_frame_has_what_eh_frame_leaves(void **state)
{
	static struct frame_section eh = { .address = FRAMES }, debug = { .is_debug = true };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&eh);
	put_fde(&eh, CODE + 0x20, 0x20, PROGRAM(DW_CFA_def_cfa_offset, 16));
	put_fde(&eh, CODE + 0x80, 0x20, PROGRAM(DW_CFA_def_cfa_offset, 24));
	put_cie(&debug, "", 0, USUAL_CIE);
	put_fde(&debug, CODE, 0x100, PROGRAM(DW_CFA_def_cfa_offset, 32));
	put_fde(&debug, CODE + 0x30, 0x20, PROGRAM(DW_CFA_def_cfa_offset, 40));
	put_fde(&debug, CODE + 0x80, 0x40, PROGRAM(DW_CFA_def_cfa_offset, 48));
	put_fde(&debug, 0, CODE_END, PROGRAM(DW_CFA_def_cfa_offset, 56)); /* dropped code */
	assert_compiles(&eh, &debug, &rows);
	row_is(&rows, CODE, UNWIND_SP, 32, 0);
	row_is(&rows, CODE + 0x1f, UNWIND_SP, 32, 0);
	row_is(&rows, CODE + 0x20, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x3f, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x40, UNWIND_SP, 40, 0);
	row_is(&rows, CODE + 0x50, UNWIND_NONE, 0, 0);
	row_is(&rows, CODE + 0x80, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0xa0, UNWIND_NONE, 0, 0);
	assert_int_equal(rows.broken_count, 0);
}

static void of_overlapping_descriptions_the_last_begin_holds(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&section);
	put_fde(&section, CODE + 0x10, 0x10, PROGRAM(DW_CFA_def_cfa_offset, 16));
	put_fde(&section, CODE, 0x18, PROGRAM(DW_CFA_def_cfa_offset, 24));
	put_fde(&section, CODE + 0x10, 0x40, PROGRAM(DW_CFA_def_cfa_offset, 32));
	assert_compiles(&section, NULL, &rows);
	row_is(&rows, CODE + 0x0f, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0x10, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x1f, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x20, UNWIND_NONE, 0, 0);
}

static void nonsense_is_left_out_and_counted(void **state)
{
	struct program *const programs[] = {
		PROGRAM(0x3f), /* no instruction */
		PROGRAM(DW_CFA_restore_state),
		PROGRAM(DW_CFA_remember_state, DW_CFA_restore_state, DW_CFA_restore_state),
		PROGRAM(DW_CFA_expression, 6, 100, DW_OP_breg6),
		PROGRAM(DW_CFA_def_cfa_expression, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			0x80, 1),
		PROGRAM(DW_CFA_def_cfa_expression, 1, DW_OP_nop, DW_CFA_def_cfa_offset, 8),
		PROGRAM(DW_CFA_def_cfa_expression, 1, DW_OP_nop, DW_CFA_def_cfa_register, 6),
		PROGRAM(DW_CFA_MIPS_advance_loc8, 255, 255, 255, 255, 255, 255, 255, 255),
		PROGRAM(DW_CFA_set_loc, 0, 0xa8, 0xff, 0xff),    /* backwards */
		PROGRAM(DW_CFA_nop, DW_CFA_nop, DW_CFA_def_cfa), /* ends in the middle */
	};
	static struct frame_section section;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		cleanup(rows__release) struct rows rows = {};

		section = (struct frame_section) { .address = FRAMES };
		put_usual_cie(&section);
		put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
		put_fde(&section, CODE + 8, 8, programs[i]);
		put_fde(&section, CODE + 16, 8, PROGRAM(DW_CFA_nop));
		put_fde(&section, CODE_END, 8, PROGRAM(DW_CFA_nop)); /* not in code */
		assert_compiles(&section, NULL, &rows);
		row_is(&rows, CODE + 7, UNWIND_SP, 8, 0);
		row_is(&rows, CODE + 8, UNWIND_NONE, 0, 0);
		row_is(&rows, CODE + 16, UNWIND_SP, 8, 0);
		if (rows.broken_count != 2)
			fail_msg("program %zu: %lu broken", i, rows.broken_count);
	}
}

static void remembering_without_end_is_nonsense(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	static struct program program = { .size = sizeof(program.code) };
	struct rows rows;

	memset(program.code, DW_CFA_remember_state, sizeof(program.code));
	put_usual_cie(&section);
	put_fde(&section, CODE, 8, &program);
	assert_int_equal(compile(&section, NULL, &rows), -ENODATA);
}

/* --- blocks --------------------------------------------------------------------------------- */

static void every_block_begins_with_the_row_in_force(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&section);
	/* from the last byte of the first block to the first of the fourth */
	put_fde(&section, CODE + 0x3ff, 0x802,
		PROGRAM(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc2,
			0xff, 3, DW_CFA_def_cfa_offset, 24));
	assert_compiles(&section, NULL, &rows);
	row_is(&rows, CODE + 0x3fe, UNWIND_NONE, 0, 0);
	row_is(&rows, CODE + 0x3ff, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 0x400, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x7fe, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x7ff, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0x800, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0xbff, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0xc00, UNWIND_SP, 24, 0);
	row_is(&rows, CODE + 0xc01, UNWIND_NONE, 0, 0);
	assert_int_equal(rows.row_count, 2 + 2 + 1 + 2);
	assert_int_equal(rows.block_page_count, 1);
	assert_int_equal(rows.row_page_count, 1);
}

static void functions_with_the_same_rule_share_a_row(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&section);
	for (uint64_t at = CODE_END; at > CODE; at -= 0x40)
		put_fde(&section, at - 0x40, 0x40, PROGRAM(DW_CFA_nop));
	assert_compiles(&section, NULL, &rows);
	assert_int_equal(rows.row_count, (CODE_END - CODE) / UNWIND_BLOCK_BYTES);
}

/* A program with `count` rows, one for each byte. */
static struct program *long_program(unsigned count)
{
	static struct program program;

	program.size = 0;
	for (unsigned i = 1; i < count; i++) {
		program.code[program.size++] = DW_CFA_advance_loc | 1;
		program.code[program.size++] = DW_CFA_def_cfa_offset;
		program.code[program.size++] = (uint8_t)(i % 2 ? 16 : 8);
	}
	return &program;
}

static void a_block_of_504_rows_fills_a_page(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&section);
	put_fde(&section, CODE, 0x400, long_program(504));
	put_fde(&section, CODE + 0x400, 0x400, PROGRAM(DW_CFA_nop));
	assert_compiles(&section, NULL, &rows);
	assert_int_equal(rows.row_count, 505);
	assert_int_equal(rows.row_page_count, 2);
	assert_int_equal(rows.broken_count, 0);
	for (unsigned i = 0; i < 504; i++)
		row_is(&rows, CODE + i, UNWIND_SP, i % 2 ? 16 : 8, 0);
	row_is(&rows, CODE + 0x3ff, UNWIND_SP, 16, 0);
	row_is(&rows, CODE + 0x400, UNWIND_SP, 8, 0);
}

static void a_block_with_too_many_rows_is_hard_at_its_end(void **state)
{
	static struct frame_section section = { .address = FRAMES };
	cleanup(rows__release) struct rows rows = {};

	put_usual_cie(&section);
	put_fde(&section, CODE, 0x400, long_program(1024));
	assert_compiles(&section, NULL, &rows);
	assert_int_equal(rows.row_count, 504);
	assert_int_equal(rows.unsupported_count, 1);
	assert_int_equal(rows.broken_count, 1);
	row_is(&rows, CODE + 502, UNWIND_SP, 8, 0);
	row_is(&rows, CODE + 503, UNWIND_UNSUPPORTED, 0, 0);
	row_is(&rows, CODE + 1023, UNWIND_UNSUPPORTED, 0, 0);
}

/* --- files ---------------------------------------------------------------------------------- */

static void files_that_are_no_programs_are_refused(void **state)
{
	struct rows rows = { .row_count = 42 };
	static struct bytes image;
	static struct frame_section section = { .address = FRAMES };
	Elf64_Ehdr *ehdr = (void *)image.at;
	cleanup(close_p) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	put_usual_cie(&section);
	put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
	assert_int_equal(rows__compile(fd, &rows), -ENOEXEC);
	assert_int_equal(rows__compile(-1, &rows), -ENOEXEC);
	assert_int_equal(rows__compile_image("", 0, &rows), -ENOEXEC);
	assert_int_equal(rows__compile_image("hello, world", 12, &rows), -ENOEXEC);
	assert_int_equal(rows__compile_image("\177ELF", 4, &rows), -ENOEXEC);
	make_image(&image, CODE, CODE_END, &section, NULL);
	ehdr->e_machine = EM_AARCH64;
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENOEXEC);
	make_image(&image, CODE, CODE_END, &section, NULL);
	ehdr->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENOEXEC);
	assert_int_equal(rows.row_count, 42);
}

static void files_without_descriptions_or_code_have_no_data(void **state)
{
	struct rows rows = { .row_count = 42 };
	static struct bytes image;
	static struct frame_section section = { .address = FRAMES };

	make_image(&image, CODE, CODE_END, NULL, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENODATA);
	put_usual_cie(&section);
	make_image(&image, CODE, CODE_END, &section, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENODATA);
	put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
	make_image(&image, CODE, CODE_END, &section, NULL);
	((struct image_head *)image.at)->phdr.p_flags = PF_R;
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENODATA);
	assert_int_equal(rows.row_count, 42);
}

static void files_beyond_the_limits_are_refused(void **state)
{
	struct rows rows;
	static struct bytes image;
	static struct frame_section section = { .address = FRAMES };

	put_usual_cie(&section);
	put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
	make_image(&image, CODE, UINT64_C(3) << 30, &section, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -EFBIG);
	make_image(&image, UINT64_MAX - 4096, UINT64_MAX - 1, &section, NULL);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -EFBIG);
}

static void a_file_that_is_cut_off_costs_an_error(void **state)
{
	cleanup(close_p) int fd = memfd_create("image", MFD_CLOEXEC);
	static struct bytes image;
	static struct frame_section section = { .address = FRAMES };
	struct rows rows = {};

	put_usual_cie(&section);
	put_fde(&section, CODE, 8, PROGRAM(DW_CFA_nop));
	make_image(&image, CODE, CODE_END, &section, NULL);
	assert_int_equal(write(fd, image.at, image.size), image.size);
	assert_int_equal(rows__compile(fd, &rows), 0);
	row_is(&rows, CODE + 7, UNWIND_SP, 8, 0);
	rows__release(&rows);
	while (image.size--) {
		assert_int_equal(ftruncate(fd, (off_t)image.size), 0);
		assert_true(rows__compile(fd, &rows) < 0);
		assert_true(rows__compile_image(image.at, image.size, &rows) < 0);
	}
}

/* A file as Go's linker makes it: .debug_frame only, and packed. */
static void make_packed_image(struct bytes *image, uint64_t claimed_size)
{
	static struct frame_section plain, packed;
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1 };
	uLongf size = sizeof(packed.bytes.at) - sizeof(header);

	plain = (struct frame_section) { .is_debug = true };
	put_cie(&plain, "", 0, USUAL_CIE);
	for (int i = 0; i < 16; i++)
		put_fde(&plain, CODE + 16 * i, 16, PROGRAM(DW_CFA_def_cfa_offset, 8 + 4 * i));
	header.ch_size = claimed_size ? claimed_size : plain.bytes.size;
	packed = (struct frame_section) { .is_debug = true };
	put(&packed.bytes, &header, sizeof(header));
	assert_int_equal(
		compress(packed.bytes.at + sizeof(header), &size, plain.bytes.at, plain.bytes.size),
		Z_OK);
	packed.bytes.size += size;
	make_image(image, CODE, CODE_END, NULL, &packed);
	((struct image_head *)image->at)->shdrs[3].sh_flags = SHF_COMPRESSED;
}

static void a_packed_section_is_unpacked_within_limits(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	static struct bytes image;

	make_packed_image(&image, 0);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), 0);
	for (int i = 0; i < 16; i++)
		row_is(&rows, CODE + 16 * i, UNWIND_SP, 8 + 4 * i, 0);
	make_packed_image(&image, UINT64_C(1) << 40);
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -EFBIG);
	make_packed_image(&image, 100); /* less than it is */
	assert_int_equal(rows__compile_image(image.at, image.size, &rows), -ENODATA);
}

static void the_vdso_is_compiled_from_memory(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	cleanup(fclose_p) FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin = 0, end = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &begin, &end);
	if (!begin) {
		printf("# skip: this kernel maps no vDSO\n");
		skip();
	}
	assert_int_equal(rows__compile_image((const void *)begin, end - begin, &rows), 0);
	assert_true(is_sane_table(&rows));
	assert_true(rows.row_count > 10);
	assert_int_equal(rows.broken_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_and_pops_move_the_cfa),
		cmocka_unit_test(a_frame_pointer_is_followed),
		cmocka_unit_test(what_is_remembered_is_recalled_with_its_cfa),
		cmocka_unit_test(signed_and_negated_operands_are_scaled),
		cmocka_unit_test(a_stack_that_was_aligned_anew_is_followed),
		cmocka_unit_test(a_saved_stack_pointer_is_followed),
		cmocka_unit_test(the_linkers_expression_for_a_plt_is_recognised),
		cmocka_unit_test(a_function_without_a_caller_ends_the_stack),
		cmocka_unit_test(a_signal_handlers_caller_is_marked),
		cmocka_unit_test(rules_that_are_not_followed_are_hard_and_counted),
		cmocka_unit_test(every_encoding_of_pointers_is_read),
		cmocka_unit_test(encodings_that_make_no_sense_are_left_out),
		cmocka_unit_test(locations_can_be_set),
		cmocka_unit_test(debug_frame_has_what_eh_frame_leaves),
		cmocka_unit_test(of_overlapping_descriptions_the_last_begin_holds),
		cmocka_unit_test(nonsense_is_left_out_and_counted),
		cmocka_unit_test(remembering_without_end_is_nonsense),
		cmocka_unit_test(every_block_begins_with_the_row_in_force),
		cmocka_unit_test(functions_with_the_same_rule_share_a_row),
		cmocka_unit_test(a_block_of_504_rows_fills_a_page),
		cmocka_unit_test(a_block_with_too_many_rows_is_hard_at_its_end),
		cmocka_unit_test(files_that_are_no_programs_are_refused),
		cmocka_unit_test(files_without_descriptions_or_code_have_no_data),
		cmocka_unit_test(files_beyond_the_limits_are_refused),
		cmocka_unit_test(a_file_that_is_cut_off_costs_an_error),
		cmocka_unit_test(a_packed_section_is_unpacked_within_limits),
		cmocka_unit_test(the_vdso_is_compiled_from_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
