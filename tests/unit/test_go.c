/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of Go programs: tables of functions as Go's linker writes them, made by hand. */
#include "../harness.h"

#include "../walk.h"

#include "../frames.h"

#include <errno.h>

#include "base/cleanup.h"

#define CODE     0x1000
#define CODE_END 0x5000
#define GO_1_16  0xfffffffaU
#define GO_1_18  0xfffffff0U
#define GO_1_20  0xfffffff1U

/* Up to `end` sp is `size` bytes below the return address. */
struct step {
	unsigned end;
	int size;
};

struct function {
	unsigned begin; /* from CODE on */
	const char *name;
	struct step steps[8];
};

struct go_table {
	struct bytes names, steps, entries, details;
};

static void put_signed(struct bytes *bytes, int value)
{
	put_unsigned(bytes, value < 0 ? (uint64_t)(-value) * 2 - 1 : (uint64_t)value * 2);
}

static void put_steps(struct bytes *bytes, const struct step *steps)
{
	unsigned at = 0;
	int size = -1;

	for (; steps->end; steps++) {
		put_signed(bytes, steps->size - size);
		put_unsigned(bytes, steps->end - at);
		at = steps->end;
		size = steps->size;
	}
	put_fixed(bytes, 0, 1);
}

static void put_function(struct go_table *table, size_t width, uint64_t base, size_t where,
			 const struct function *function)
{
	put_fixed(&table->entries, base + function->begin, width);
	put_fixed(&table->entries, where + table->details.size, width);
	put_fixed(&table->details, base + function->begin, width);
	put_fixed(&table->details, table->names.size, 4);
	put_fixed(&table->details, 0, 8);
	put_fixed(&table->details, function->steps[0].end ? table->steps.size : 0, 4);
	put(&table->names, function->name, strlen(function->name) + 1);
	put_steps(&table->steps, function->steps);
}

/* The last function has no name: its begin is the end of the others. */
static void make_table(struct frame_section *section, uint32_t magic, uint64_t text,
		       const struct function *functions)
{
	static struct go_table table;
	const bool is_old = magic == GO_1_16;
	const size_t width = is_old ? 8 : 4, head = 8 + 8 * (is_old ? 7 : 8);
	const uint64_t base = is_old ? CODE : 0;
	uint64_t count = 0;

	table.names.size = table.steps.size = table.entries.size = table.details.size = 0;
	put_fixed(&table.steps, 0, 1); /* 0 is for functions without steps */
	while (functions[count].name)
		count++;
	for (uint64_t i = 0; i < count; i++)
		put_function(&table, width, base, (2 * count + 1) * width, &functions[i]);
	put_fixed(&table.entries, base + functions[count].begin, width);
	section->bytes.size = 0;
	put_fixed(&section->bytes, magic, 4);
	put_fixed(&section->bytes, 0x08010000, 4);
	put_fixed(&section->bytes, count, 8);
	put_fixed(&section->bytes, 0, 8);
	if (!is_old)
		put_fixed(&section->bytes, text, 8);
	put_fixed(&section->bytes, head, 8);
	put_fixed(&section->bytes, 0, 8);
	put_fixed(&section->bytes, 0, 8);
	put_fixed(&section->bytes, head + table.names.size, 8);
	put_fixed(&section->bytes, head + table.names.size + table.steps.size, 8);
	put(&section->bytes, table.names.at, table.names.size);
	put(&section->bytes, table.steps.at, table.steps.size);
	put(&section->bytes, table.entries.at, table.entries.size);
	put(&section->bytes, table.details.at, table.details.size);
}

static int compile(const struct frame_section *eh, const struct frame_section *debug,
		   const struct frame_section *go, uint64_t entry, struct rows *ret)
{
	static struct bytes image;

	make_go_image(&image, CODE, CODE_END, entry, eh, debug, go);
	return rows__compile_image(image.at, image.size, ret);
}

static void compile_functions(const struct function *functions, struct rows *ret)
{
	static struct frame_section go;

	make_table(&go, GO_1_18, CODE, functions);
	assert_int_equal(compile(NULL, NULL, &go, 0, ret), 0);
	assert_true(is_sane_table(ret));
	assert_int_equal(ret->broken_count, 0);
}

static void row_is(const struct rows *rows, uint64_t offset, unsigned kind, int cfa, unsigned bp)
{
	struct world world = { .modules = { [1] = rows } };
	static struct unwind searching;
	const struct unwind_row *row;
	int known;

	row = unwind_find_row(&world, &searching, 1, CODE + offset, &known);
	if (!row || row->kind != kind || row->offset != cfa || row->bp != bp)
		fail_msg("at 0x%lx: kind %u, offset %d, bp %u; expected %u, %d, %u", offset,
			 row ? row->kind : 0, row ? row->offset : 0, row ? row->bp : 0, kind, cfa,
			 bp);
}

/* --- functions ------------------------------------------------------------------------------ */

static void sp_is_followed_through_a_function(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	const struct function functions[] = {
		/* up to 1.20: cmp, jbe; sub, mov, lea; …; mov, add; ret; call of morestack */
		{ 0x00, "main.old", { { 10, 0 }, { 80, 64 }, { 88, 0 } } },
		/* later: push, mov; sub; …; add; pop; ret */
		{ 0x80, "main.new", { { 7, 0 }, { 14, 8 }, { 80, 72 }, { 81, 8 }, { 82, 0 } } },
		{ 0x100, "main.leaf", { { 16, 0 } } },
		{ 0x200 },
	};

	compile_functions(functions, &rows);
	row_is(&rows, 0, UNWIND_SP, 8, 0);
	row_is(&rows, 9, UNWIND_SP, 8, 0);
	row_is(&rows, 10, UNWIND_SP, 72, 0); /* bp is not saved yet */
	row_is(&rows, 17, UNWIND_SP, 72, 0);
	row_is(&rows, 18, UNWIND_SP, 72, 2);
	row_is(&rows, 79, UNWIND_SP, 72, 2);
	row_is(&rows, 80, UNWIND_SP, 8, 0);
	row_is(&rows, 88, UNWIND_NONE, 0, 0);
	row_is(&rows, 0x80 + 6, UNWIND_SP, 8, 0);
	row_is(&rows, 0x80 + 7, UNWIND_SP, 16, 2);
	row_is(&rows, 0x80 + 14, UNWIND_SP, 80, 2);
	row_is(&rows, 0x80 + 80, UNWIND_SP, 16, 2);
	row_is(&rows, 0x80 + 81, UNWIND_SP, 8, 0);
	row_is(&rows, 0x100 + 15, UNWIND_SP, 8, 0);
	row_is(&rows, 0x100 + 16, UNWIND_NONE, 0, 0);
}

static void begins_and_bottoms_are_known_by_name(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	const struct function functions[] = {
		{ 0x000, "runtime.goexit", { { 8, 0 } } },
		{ 0x040, "runtime.goexit1", { { 8, 0 } } },
		{ 0x080, "runtime.mcall", { { 60, 0 }, { 90, 8 } } },
		{ 0x100, "runtime.mstar", { { 8, 0 } } },
		{ 0x140, "runtime.mstart", { { 8, 0 } } },
		{ 0x180 },
	};

	compile_functions(functions, &rows);
	row_is(&rows, 0, UNWIND_END, 0, 0);
	row_is(&rows, 0x3f, UNWIND_END, 0, 0);
	row_is(&rows, 0x40, UNWIND_SP, 8, 0);
	row_is(&rows, 0x80, UNWIND_BOTTOM, 8, 0);
	row_is(&rows, 0x80 + 60, UNWIND_BOTTOM, 16, 2);
	row_is(&rows, 0x100, UNWIND_SP, 8, 0);
	row_is(&rows, 0x140, UNWIND_END, 0, 0);
}

static void switches_are_such_while_bp_is_set_up(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	const struct function functions[] = {
		{ 0x000, "runtime.systemstack", { { 120, 0 } } },
		{ 0x080, "runtime.nanotime1", { { 4, 0 }, { 100, 24 }, { 101, 0 }, { 120, 24 } } },
		{ 0x100, "time.now", { { 1, 0 }, { 8, 8 }, { 100, 24 }, { 101, 8 }, { 102, 0 } } },
		{ 0x180 },
	};

	compile_functions(functions, &rows);
	row_is(&rows, 0, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 119, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 0x80, UNWIND_SP, 8, 0);
	row_is(&rows, 0x80 + 4, UNWIND_SP, 32, 0);
	row_is(&rows, 0x80 + 23, UNWIND_SP, 32, 2);
	row_is(&rows, 0x80 + 24, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 0x80 + 90, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 0x80 + 91, UNWIND_SP, 32, 2);
	row_is(&rows, 0x80 + 100, UNWIND_SP, 8, 0);
	row_is(&rows, 0x80 + 105, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 0x100, UNWIND_SP, 8, 0);
	row_is(&rows, 0x100 + 1, UNWIND_SP, 16, 2);
	row_is(&rows, 0x100 + 23, UNWIND_SP, 32, 2);
	row_is(&rows, 0x100 + 24, UNWIND_SWITCH, 0, 0);
	row_is(&rows, 0x100 + 100, UNWIND_SP, 16, 2);
	row_is(&rows, 0x100 + 101, UNWIND_SP, 8, 0);
}

static void a_handler_returns_to_a_first_byte(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	const struct function functions[] = {
		{ 0x000, "main.before", { { 64, 0 } } },
		{ 0x040, "runtime.sigreturn", { { 10, 0 } } },
		{ 0x080 },
	};

	compile_functions(functions, &rows);
	row_is(&rows, 0x3e, UNWIND_SP, 8, 0);
	row_is(&rows, 0x3f, UNWIND_SIGNAL, 0, 0);
	row_is(&rows, 0x40, UNWIND_SIGNAL, 0, 0);
}

static void functions_of_c_have_no_rows(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	const struct function functions[] = {
		{ 0x000, "main.main", { { 64, 0 } } },
		{ 0x040, "x_cgo_init", {} },
		{ 0x080 },
	};

	compile_functions(functions, &rows);
	row_is(&rows, 0x3f, UNWIND_SP, 8, 0);
	row_is(&rows, 0x40, UNWIND_NONE, 0, 0);
}

/* --- tables --------------------------------------------------------------------------------- */

static const struct function few[] = {
	{ 0x000, "_rt0_amd64_linux", { { 8, 0 } } },
	{ 0x040, "main.main", { { 4, 0 }, { 60, 24 } } },
	{ 0x400 },
};

static void all_formats_are_read(void **state)
{
	const uint32_t formats[] = { GO_1_16, GO_1_18, GO_1_20 };
	static struct frame_section go;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		cleanup(rows__release) struct rows rows = {};

		make_table(&go, formats[i], CODE, few);
		assert_int_equal(compile(NULL, NULL, &go, 0, &rows), 0);
		row_is(&rows, 0, UNWIND_END, 0, 0);
		row_is(&rows, 0x40 + 20, UNWIND_SP, 32, 2);
	}
}

static void a_table_that_does_not_say_where_code_begins_needs_gos_own_linker(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	static struct frame_section go;

	make_table(&go, GO_1_20, 0, few);
	assert_int_equal(compile(NULL, NULL, &go, CODE + 0x40, &rows), -ENODATA);
	assert_int_equal(compile(NULL, NULL, &go, CODE + 0x10, &rows), -ENODATA);
	assert_int_equal(compile(NULL, NULL, &go, CODE, &rows), 0);
	row_is(&rows, 0x40 + 20, UNWIND_SP, 32, 2);
}

static void other_descriptions_serve_where_the_table_is_unknown(void **state)
{
	static struct frame_section go, debug;
	cleanup(rows__release) struct rows known = {}, unknown = {};

	debug = (struct frame_section) { .is_debug = true };
	put_cie(&debug, "", 0, USUAL_CIE);
	put_fde(&debug, CODE + 0x40, 0x400, PROGRAM(DW_CFA_def_cfa_offset, 48));
	make_table(&go, GO_1_20, CODE, few);
	assert_int_equal(compile(NULL, &debug, &go, 0, &known), 0);
	row_is(&known, 0x40 + 20, UNWIND_SP, 32, 2);
	make_table(&go, 0xfffffffbU, CODE, few);
	assert_int_equal(compile(NULL, &debug, &go, 0, &unknown), 0);
	row_is(&unknown, 0x40 + 20, UNWIND_SP, 48, 0);
}

static void descriptions_in_eh_frame_come_first(void **state)
{
	cleanup(rows__release) struct rows rows = {};
	static struct frame_section go, eh;

	eh = (struct frame_section) { .address = 0x6000 };
	put_usual_cie(&eh);
	put_fde(&eh, CODE + 0x50, 0x10, PROGRAM(DW_CFA_def_cfa_offset, 96));
	make_table(&go, GO_1_20, CODE, few);
	assert_int_equal(compile(&eh, NULL, &go, 0, &rows), 0);
	row_is(&rows, 0x4f, UNWIND_SP, 32, 2);
	row_is(&rows, 0x50, UNWIND_SP, 96, 0);
}

static void tables_that_are_cut_off_or_wrong_are_an_error_or_a_count(void **state)
{
	static struct frame_section whole, go;

	make_table(&whole, GO_1_18, CODE, few);
	for (size_t size = 0; size <= whole.bytes.size; size++) {
		cleanup(rows__release) struct rows rows = {};

		go = whole;
		go.bytes.size = size;
		if (!compile(NULL, NULL, &go, 0, &rows))
			assert_true(is_sane_table(&rows));
	}
	for (size_t at = 0; at < whole.bytes.size; at++) {
		cleanup(rows__release) struct rows rows = {};

		go = whole;
		go.bytes.at[at] = 0xff;
		if (!compile(NULL, NULL, &go, 0, &rows))
			assert_true(is_sane_table(&rows));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sp_is_followed_through_a_function),
		cmocka_unit_test(begins_and_bottoms_are_known_by_name),
		cmocka_unit_test(switches_are_such_while_bp_is_set_up),
		cmocka_unit_test(a_handler_returns_to_a_first_byte),
		cmocka_unit_test(functions_of_c_have_no_rows),
		cmocka_unit_test(all_formats_are_read),
		cmocka_unit_test(a_table_that_does_not_say_where_code_begins_needs_gos_own_linker),
		cmocka_unit_test(other_descriptions_serve_where_the_table_is_unknown),
		cmocka_unit_test(descriptions_in_eh_frame_come_first),
		cmocka_unit_test(tables_that_are_cut_off_or_wrong_are_an_error_or_a_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
