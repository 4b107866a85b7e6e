/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of bpf/unwind.h with tables and memory made by hand. Function i of the module is block
 * i of it and has one row; it is at CODE + 1024 i in the process and at 0x1000 + 1024 i in the
 * file.
 */
#include "../harness.h"

#include "../walk.h"

/* Where a search keeps its place. */
static struct unwind searching;

#define MODULE       7
#define CODE         0x555500000000ULL
#define FILE_PAGE    1
#define FUNCTIONS    16
#define FN(i, at)    (CODE + (i) * UNWIND_BLOCK_BYTES + (at))
#define FRAME(i, at) FRAME_MAKE(MODULE, 0x1000 + (i) * UNWIND_BLOCK_BYTES + (at))

#define STACK      0x7ffc00001000ULL
#define STACK_SIZE 4096
#define OUTSIDE    0x7f0000001000ULL /* code in no known file */

struct fixture {
	struct unwind_page blocks, row_page;
	struct rows rows;
	struct unwind_process process;
	uint64_t stack[STACK_SIZE / 8];
	uint64_t code; /* what is at OUTSIDE and where functions have no rows */
	struct world world;
	struct unwind walk;
};

static int read_fixture(void *from, void *to, uint32_t bytes, uint64_t address)
{
	const struct fixture *fixture = from;
	const uint64_t size = sizeof(fixture->stack);

	if (address >= STACK && address < STACK + size && bytes <= STACK + size - address) {
		memcpy(to, (const char *)fixture->stack + (address - STACK), bytes);
		return 0;
	}
	if (bytes == 8 && (address == OUTSIDE || (address >= CODE && address < CODE + 0x10000))) {
		memcpy(to, &fixture->code, bytes);
		return 0;
	}
	return -1;
}

static struct fixture *make(void)
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
		.pages = FUNCTIONS / 4,
		.file_page = FILE_PAGE,
	};
	return &fixture;
}

static void set_function(struct fixture *fixture, unsigned i, unsigned kind, int offset,
			 unsigned bp)
{
	fixture->row_page.rows[i] =
		(struct unwind_row) { .kind = (uint8_t)kind, .bp = (uint8_t)bp, .offset = offset };
	fixture->blocks.blocks[4 * FILE_PAGE + i] =
		(struct unwind_block) { .first = (uint16_t)i, .count = 1 };
}

static void set_stack(struct fixture *fixture, uint64_t offset, uint64_t value)
{
	fixture->stack[offset / 8] = value;
}

static void walk(struct fixture *fixture, uint64_t pc, uint64_t sp, uint64_t bp)
{
	unwind_begin(&fixture->walk, 1, pc, sp, bp);
	walk_all(&fixture->world, &fixture->walk, &fixture->process);
	assert_true(fixture->world.reads <= 3ULL * STACK_MOST_FRAMES);
	assert_true(fixture->world.pages <= 2ULL * STACK_MOST_FRAMES);
}

static void assert_walk(const struct fixture *fixture, unsigned count, enum stack_end end,
			unsigned how)
{
	assert_int_equal(fixture->walk.end, end);
	assert_int_equal(fixture->walk.count, count);
	assert_int_equal(fixture->walk.how, how);
}

/* --- kinds of rows -------------------------------------------------------------------------- */

static void rows_lead_from_frame_to_frame(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 32, 2);
	set_function(f, 1, UNWIND_SP, 16, 0);
	set_function(f, 2, UNWIND_BP, 16, 2);
	set_function(f, 3, UNWIND_SP, 40, 5);
	set_function(f, 4, UNWIND_END, 0, 0);
	set_stack(f, 16, STACK + 64); /* bp, saved by 0 */
	set_stack(f, 24, FN(1, 10));
	set_stack(f, 40, FN(2, 20)); /* CFA of 1: 48 */
	set_stack(f, 64, 42);        /* bp, saved by 2 */
	set_stack(f, 72, FN(3, 30)); /* CFA of 2: 80 */
	set_stack(f, 80, 43);        /* bp, saved by 3 at CFA - 40 */
	set_stack(f, 112, FN(4, 40));
	walk(f, FN(0, 5), STACK, 1);
	assert_walk(f, 5, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.frames[0], FRAME(0, 5));
	assert_int_equal(f->walk.frames[1], FRAME(1, 9));
	assert_int_equal(f->walk.frames[2], FRAME(2, 19));
	assert_int_equal(f->walk.frames[3], FRAME(3, 29));
	assert_int_equal(f->walk.frames[4], FRAME(4, 39));
	assert_int_equal(f->walk.bp, 43);
	assert_int_equal(f->walk.need, 0);
}

static void in_a_plt_entry_the_push_counts_from_its_instruction_on(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_PLT, 11, 0);
	set_function(f, 1, UNWIND_END, 0, 0);
	set_stack(f, 16, FN(1, 1));
	set_stack(f, 24, FN(1, 2));
	for (unsigned at = 0; at < 48; at++) {
		walk(f, FN(0, at), STACK + 16, 0);
		assert_walk(f, 2, STACK_END_ROOT, STACK_BY_ROWS);
		assert_int_equal(f->walk.frames[1], FRAME(1, at % 16 < 11 ? 0 : 1));
	}
}

static void a_saved_stack_pointer_is_read(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP_DEREF, 64, 3);
	set_function(f, 1, UNWIND_END, 0, 0);
	set_stack(f, 64, STACK + 200); /* CFA: 208 */
	set_stack(f, 184, 42);
	set_stack(f, 200, FN(1, 1));
	walk(f, FN(0, 0), STACK, 1);
	assert_walk(f, 2, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.bp, 42);
}

static void a_stack_that_was_aligned_anew_is_followed(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_BP_DEREF, -8, UNWIND_BP_AT_BP);
	set_function(f, 1, UNWIND_END, 0, 0);
	set_stack(f, 56, STACK + 304); /* CFA */
	set_stack(f, 64, 42);
	set_stack(f, 296, FN(1, 1));
	walk(f, FN(0, 0), STACK, STACK + 64);
	assert_walk(f, 2, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.bp, 42);
}

static void other_registers_are_known_in_the_innermost_frame_only(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_REGISTER + 10, 8, 0);
	set_function(f, 1, UNWIND_REGISTER + 15, 0, 0);
	f->walk.registers[10] = STACK + 24;
	f->walk.registers[15] = STACK + 64;
	set_stack(f, 24, FN(1, 1));
	set_stack(f, 56, FN(2, 1));
	walk(f, FN(0, 0), STACK, 1);
	assert_walk(f, 2, STACK_END_NO_RULE, STACK_BY_ROWS);
	walk(f, FN(1, 0), STACK, 0);
	assert_int_equal(f->walk.frames[1], FRAME(2, 0));
}

static void hard_rows_end_the_walk(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_UNSUPPORTED, 0, 0);
	walk(f, FN(0, 0), STACK, STACK + 64);
	assert_walk(f, 1, STACK_END_NO_RULE, 0);
	/* a kind that this program does not know, from the hands of another */
	set_function(f, 0, UNWIND_UNSUPPORTED + 1, 8, 0);
	walk(f, FN(0, 0), STACK, STACK + 64);
	assert_walk(f, 1, STACK_END_NO_RULE, 0);
}

static void after_a_switch_of_stacks_bp_leads_on_whatever_sp_is(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0);
	set_function(f, 1, UNWIND_SWITCH, 0, 0);
	set_function(f, 2, UNWIND_SP, 48, 2);
	set_function(f, 3, UNWIND_END, 0, 0);
	set_stack(f, 3008, FN(1, 30)); /* called on the upper stack … */
	set_stack(f, 64, STACK + 112); /* … by what was called on the lower one */
	set_stack(f, 72, FN(2, 9));
	set_stack(f, 112, 42); /* CFA of 2: 80 + 48 */
	set_stack(f, 120, FN(3, 1));
	walk(f, FN(0, 3), STACK + 3000, STACK + 64);
	assert_walk(f, 4, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.frames[1], FRAME(1, 29));
	assert_int_equal(f->walk.frames[2], FRAME(2, 8));
	assert_int_equal(f->walk.frames[3], FRAME(3, 0));
	assert_int_equal(f->walk.bp, 42);
	/* and the other way round */
	set_stack(f, 8, FN(1, 30));
	set_stack(f, 3064, 0);
	set_stack(f, 3072, FN(3, 1));
	walk(f, FN(0, 3), STACK, STACK + 3064);
	assert_walk(f, 3, STACK_END_ROOT, STACK_BY_ROWS);
}

static void a_switch_without_a_sound_bp_ends_the_walk(void **state)
{
	const struct {
		uint64_t bp;
		enum stack_end end;
	} cases[] = { { 0, STACK_END_NO_FRAME },
		      { STACK + 4, STACK_END_NO_FRAME },
		      { STACK - 8, STACK_END_NO_MEMORY },
		      { UINT64_MAX - 7, STACK_END_NO_MEMORY } };
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SWITCH, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		walk(f, FN(0, 3), STACK, cases[i].bp);
		assert_walk(f, 1, cases[i].end, 0);
	}
	/* a circle */
	f = make();
	set_function(f, 0, UNWIND_SWITCH, 0, 0);
	set_stack(f, 64, STACK + 64);
	set_stack(f, 72, FN(0, 3));
	walk(f, FN(0, 3), STACK, STACK + 64);
	assert_walk(f, STACK_MOST_FRAMES, STACK_END_TOO_DEEP, STACK_BY_ROWS);
}

static void a_bottom_has_a_caller_only_while_it_is_innermost(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0);
	set_function(f, 1, UNWIND_BOTTOM, 16, 0);
	set_stack(f, 8, FN(1, 7));
	set_stack(f, 24, FN(2, 1));
	walk(f, FN(0, 3), STACK, 0);
	assert_walk(f, 2, STACK_END_ROOT, STACK_BY_ROWS);
	walk(f, FN(1, 7), STACK + 16, 0);
	assert_int_equal(f->walk.frames[1], FRAME(2, 0));
}

/* --- signals -------------------------------------------------------------------------------- */

static void set_signal_frame(struct fixture *f, uint64_t at, uint64_t pc, uint64_t sp, uint64_t bp)
{
	set_stack(f, at + ARCH_SIGNAL_FP, bp);
	set_stack(f, at + ARCH_SIGNAL_SP, sp);
	set_stack(f, at + ARCH_SIGNAL_SP + 8, pc);
}

static void a_signal_frame_restores_all_registers(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0); /* the handler */
	set_function(f, 1, UNWIND_SIGNAL, 0, 0);
	set_function(f, 2, UNWIND_BP, 16, 2); /* interrupted at its first byte */
	set_function(f, 3, UNWIND_END, 0, 0);
	set_stack(f, 1000 + 8, FN(1, 1));
	/* the interrupted stack is below: the handler has a stack of its own */
	set_signal_frame(f, 1016, FN(2, 0), STACK, STACK + 32);
	set_stack(f, 40, FN(3, 4));
	walk(f, FN(0, 3), STACK + 1000, 0);
	assert_walk(f, 4, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.frames[1], FRAME(1, 0));
	assert_int_equal(f->walk.frames[2], FRAME(2, 0));
	assert_int_equal(f->walk.frames[3], FRAME(3, 3));
}

static void sigreturn_is_recognised_by_its_instructions(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0);
	set_function(f, 1, UNWIND_NONE, 0, 0);
	set_function(f, 2, UNWIND_END, 0, 0);
	f->code = ARCH_SIGRETURN_CODE;
	set_stack(f, 8, FN(1, 0)); /* the byte before it is function 0's */
	set_signal_frame(f, 16, FN(2, 0), STACK, 0);
	walk(f, FN(0, 3), STACK, 0);
	/* function 0's row holds there: nothing that can be recognised */
	assert_int_equal(f->walk.frames[1], FRAME(0, UNWIND_BLOCK_BYTES - 1));
	set_stack(f, 8, FN(1, 1));
	walk(f, FN(0, 3), STACK, 0);
	assert_walk(f, 3, STACK_END_ROOT, STACK_BY_ROWS);
	assert_int_equal(f->walk.frames[2], FRAME(2, 0));
}

/* --- frame pointers ------------------------------------------------------------------------- */

static void without_rows_frame_pointers_are_followed(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_NONE, 0, 0);
	set_stack(f, 32, STACK + 64);
	set_stack(f, 40, OUTSIDE + 7);
	set_stack(f, 64, 0); /* the first frame */
	set_stack(f, 72, FN(1, 4));
	walk(f, FN(0, 3), STACK, STACK + 32);
	assert_walk(f, 3, STACK_END_ROOT, STACK_BY_FRAMES);
	assert_int_equal(f->walk.frames[0], FRAME(0, 3));
	assert_int_equal(f->walk.frames[1], OUTSIDE + 6);
	assert_int_equal(f->walk.frames[2], FRAME(1, 3));
}

static void an_unknown_process_is_walked_by_frame_pointers(void **state)
{
	struct fixture *f = make();

	set_stack(f, 40, FN(1, 4));
	unwind_begin(&f->walk, 1, FN(0, 3), STACK, STACK + 32);
	walk_all(&f->world, &f->walk, NULL);
	assert_walk(f, 2, STACK_END_ROOT, STACK_BY_FRAMES);
	assert_int_equal(f->walk.frames[0], FN(0, 3));
	assert_int_equal(f->walk.frames[1], FN(1, 3));
	assert_int_equal(f->world.pages, 0);
}

static void a_module_without_tables_is_asked_for(void **state)
{
	struct fixture *f = make();

	f->world.modules[MODULE] = NULL;
	walk(f, FN(0, 3), STACK, 0);
	assert_walk(f, 1, STACK_END_NO_FRAME, 0);
	assert_int_equal(f->walk.need, UNWIND_NEED_MODULE);
	assert_int_equal(f->walk.need_id, MODULE);
	assert_int_equal(f->walk.frames[0], FRAME(0, 3));
}

static void frame_pointers_that_make_no_sense_end_the_walk(void **state)
{
	const uint64_t bad[] = { 1, STACK - 8, STACK + 4, STACK + UNWIND_MOST_FRAME_BYTES + 8,
				 UINT64_MAX - 7 };
	struct fixture *f = make();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		walk(f, OUTSIDE, STACK, bad[i]);
		assert_walk(f, 1, STACK_END_NO_FRAME, 0);
	}
	walk(f, OUTSIDE, STACK, STACK + STACK_SIZE - 8);
	assert_walk(f, 1, STACK_END_NO_MEMORY, 0);
}

/* --- ends ----------------------------------------------------------------------------------- */

static void return_addresses_that_lead_nowhere_end_the_walk(void **state)
{
	const struct {
		uint64_t pc;
		enum stack_end end;
	} cases[] = { { 0, STACK_END_ROOT },
		      { 1, STACK_END_NOWHERE },
		      { 4095, STACK_END_NOWHERE },
		      { 1ULL << 47, STACK_END_NOWHERE },
		      { UINT64_MAX, STACK_END_NOWHERE } };
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_stack(f, 8, cases[i].pc);
		walk(f, FN(0, 0), STACK, 0);
		assert_walk(f, 1, cases[i].end, STACK_BY_ROWS);
	}
}

static void a_frame_must_be_above_the_one_before(void **state)
{
	struct fixture *f = make();

	set_function(f, 0, UNWIND_BP, 16, 0);
	walk(f, FN(0, 0), STACK + 64, STACK + 48); /* CFA = sp */
	assert_walk(f, 1, STACK_END_NO_PROGRESS, 0);
	walk(f, FN(0, 0), STACK + 64, STACK);
	assert_walk(f, 1, STACK_END_NO_PROGRESS, 0);
	walk(f, FN(0, 0), STACK, STACK + UNWIND_MOST_FRAME_BYTES);
	assert_walk(f, 1, STACK_END_NO_PROGRESS, 0);
}

static void memory_that_cannot_be_read_ends_the_walk(void **state)
{
	const uint64_t beyond = STACK + STACK_SIZE;
	struct fixture *f = make();

	set_function(f, 0, UNWIND_SP, 16, 0);
	set_function(f, 1, UNWIND_SP_DEREF, 8, 0);
	set_function(f, 2, UNWIND_SIGNAL, 0, 0);
	set_function(f, 3, UNWIND_SP, 16, UNWIND_BP_AT_BP);
	walk(f, FN(0, 0), beyond - 8, 0);
	assert_walk(f, 1, STACK_END_NO_MEMORY, 0);
	walk(f, FN(1, 0), beyond - 8, 0);
	assert_walk(f, 1, STACK_END_NO_MEMORY, 0);
	walk(f, FN(2, 0), beyond - 168, 0);
	assert_walk(f, 1, STACK_END_NO_MEMORY, 0);
	walk(f, FN(3, 0), STACK, 8);
	assert_walk(f, 1, STACK_END_NO_MEMORY, 0);
}

/* Memory in which every word is the same. */
static int read_same(void *from, void *to, uint32_t bytes, uint64_t address)
{
	for (uint32_t i = 0; i < bytes / 8; i++)
		memcpy((char *)to + 8ULL * i, from, 8);
	return 0;
}

static void endless_stacks_are_cut_off(void **state)
{
	const unsigned kinds[] = { UNWIND_SP, UNWIND_PLT, UNWIND_SIGNAL };
	uint64_t word = FN(0, 100);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct fixture *f = make();

		f->world.read = read_same;
		f->world.from = &word;
		set_function(f, 0, kinds[i], 16, 0);
		walk(f, FN(0, 0), STACK, 0);
		assert_int_equal(f->walk.end, STACK_END_TOO_DEEP);
		assert_int_equal(f->walk.count, STACK_MOST_FRAMES);
	}
}

static void equal_stacks_have_equal_hashes_and_others_have_not(void **state)
{
	struct fixture *f = make();
	uint64_t hash;

	set_function(f, 0, UNWIND_SP, 16, 0);
	set_function(f, 1, UNWIND_END, 0, 0);
	set_stack(f, 8, FN(1, 5));
	walk(f, FN(0, 0), STACK, 0);
	hash = f->walk.hash;
	walk(f, FN(0, 0), STACK, 1);
	assert_int_equal(f->walk.hash, hash);
	walk(f, FN(0, 1), STACK, 0);
	assert_int_not_equal(f->walk.hash, hash);
	set_stack(f, 8, FN(1, 6));
	walk(f, FN(0, 0), STACK, 0);
	assert_int_not_equal(f->walk.hash, hash);
}

/* --- searches ------------------------------------------------------------------------------- */

static void mappings_are_found_up_to_their_borders(void **state)
{
	static struct unwind_process process;
	const unsigned counts[] = { 0, 1, 2, 3, 127, 128, 129, 235, 236 };

	/* mapping i: 3 pages from page 1000 + 10 i on */
	for (uint64_t i = 0; i < UNWIND_MAPPINGS; i++)
		process.mappings[i] = (struct unwind_mapping) {
			.page_and_module =
				(1000 + 10 * i) << UNWIND_MODULE_BITS | UNWIND_MODULE_MASK,
			.pages = 3,
		};
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		process.count = counts[c];
		assert_null(unwind_find_mapping(&searching, &process, 0));
		assert_null(unwind_find_mapping(&searching, &process, UINT64_MAX));
		for (uint64_t i = 0; i < UNWIND_MAPPINGS; i++) {
			uint64_t begin = (1000 + 10 * i) << UNWIND_PAGE_SHIFT;
			const void *wanted = i < counts[c] ? &process.mappings[i] : NULL;

			assert_null(unwind_find_mapping(&searching, &process, begin - 1));
			assert_ptr_equal(unwind_find_mapping(&searching, &process, begin), wanted);
			assert_ptr_equal(
				unwind_find_mapping(&searching, &process, begin + 3 * 4096 - 1),
				wanted);
			assert_null(unwind_find_mapping(&searching, &process, begin + 3 * 4096));
		}
	}
	process.count = UINT32_MAX; /* never so, but it must not lead outside */
	assert_ptr_equal(
		unwind_find_mapping(&searching, &process,
				    (1000ULL + 10 * (UNWIND_MAPPINGS - 1)) << UNWIND_PAGE_SHIFT),
		&process.mappings[UNWIND_MAPPINGS - 1]);
}

static void rows_are_found_up_to_their_borders(void **state)
{
	const unsigned counts[] = { 1, 2, 3, 255, 256, 257, 503, 504 };
	struct fixture *f = make();
	int known;

	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		unsigned first = (unsigned)UNWIND_PAGE_ROWS - counts[c];

		f->blocks.blocks[0] = (struct unwind_block) { .first = (uint16_t)first,
							      .count = (uint16_t)counts[c] };
		for (unsigned i = 0; i < counts[c]; i++)
			f->row_page.rows[first + i].pc = (uint16_t)(2 * i);
		for (unsigned at = 0; at < UNWIND_BLOCK_BYTES; at++) {
			unsigned i = at / 2 < counts[c] ? at / 2 : counts[c] - 1;

			assert_ptr_equal(unwind_find_row(&f->world, &searching, MODULE, at, &known),
					 &f->row_page.rows[first + i]);
			assert_true(known);
		}
	}
	assert_null(unwind_find_row(&f->world, &searching, MODULE, UNWIND_BLOCK_BYTES, &known));
	assert_true(known);
	assert_null(unwind_find_row(&f->world, &searching, MODULE,
				    UNWIND_BLOCK_BYTES * UNWIND_PAGE_BLOCKS, &known));
	assert_false(known);
}

static void blocks_that_point_outside_give_no_row_from_there(void **state)
{
	struct fixture *f = make();
	const struct unwind_row *row;
	int known;

	f->blocks.blocks[0] = (struct unwind_block) { .first = 504, .count = 1 };
	assert_null(unwind_find_row(&f->world, &searching, MODULE, 5, &known));
	f->blocks.blocks[0] = (struct unwind_block) { .first = 65535, .count = 65535 };
	assert_null(unwind_find_row(&f->world, &searching, MODULE, 5, &known));
	f->blocks.blocks[0] = (struct unwind_block) { .page = 1, .count = 1 };
	assert_null(unwind_find_row(&f->world, &searching, MODULE, 5, &known));
	f->blocks.blocks[0] = (struct unwind_block) { .first = 500, .count = 65535 };
	row = unwind_find_row(&f->world, &searching, MODULE, 5, &known);
	assert_true(row >= f->row_page.rows && row < f->row_page.rows + UNWIND_PAGE_ROWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_lead_from_frame_to_frame),
		cmocka_unit_test(in_a_plt_entry_the_push_counts_from_its_instruction_on),
		cmocka_unit_test(a_saved_stack_pointer_is_read),
		cmocka_unit_test(a_stack_that_was_aligned_anew_is_followed),
		cmocka_unit_test(other_registers_are_known_in_the_innermost_frame_only),
		cmocka_unit_test(hard_rows_end_the_walk),
		cmocka_unit_test(after_a_switch_of_stacks_bp_leads_on_whatever_sp_is),
		cmocka_unit_test(a_switch_without_a_sound_bp_ends_the_walk),
		cmocka_unit_test(a_bottom_has_a_caller_only_while_it_is_innermost),
		cmocka_unit_test(a_signal_frame_restores_all_registers),
		cmocka_unit_test(sigreturn_is_recognised_by_its_instructions),
		cmocka_unit_test(without_rows_frame_pointers_are_followed),
		cmocka_unit_test(an_unknown_process_is_walked_by_frame_pointers),
		cmocka_unit_test(a_module_without_tables_is_asked_for),
		cmocka_unit_test(frame_pointers_that_make_no_sense_end_the_walk),
		cmocka_unit_test(return_addresses_that_lead_nowhere_end_the_walk),
		cmocka_unit_test(a_frame_must_be_above_the_one_before),
		cmocka_unit_test(memory_that_cannot_be_read_ends_the_walk),
		cmocka_unit_test(endless_stacks_are_cut_off),
		cmocka_unit_test(equal_stacks_have_equal_hashes_and_others_have_not),
		cmocka_unit_test(mappings_are_found_up_to_their_borders),
		cmocka_unit_test(rows_are_found_up_to_their_borders),
		cmocka_unit_test(blocks_that_point_outside_give_no_row_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
