/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF of few bytes that would cost much, written by hand. */
#include "symbols.h"

#include <sys/resource.h>
#include <unistd.h>

#include "symbol/unit.h"

static char folder[] = "/tmp/test_symbol_XXXXXX";
static char program[64];

/* A unit around main(), with `abbreviation` as number 2 and `dies` as children. */
static const char assembly[] =
	".text; .globl _start; .type _start, @function; _start: nop; nop; .size _start, 2; _end:\n"
	".section .debug_abbrev,\"\",@progbits\n"
	".uleb128 1, 0x11; .byte 1; .uleb128 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0\n"
	"%s\n.byte 0\n"
	".section .debug_info,\"\",@progbits\n"
	".4byte 2f - 1f; 1: .2byte 5; .byte 1, 8; .4byte .debug_abbrev\n"
	".uleb128 1; .8byte _start, 2; .4byte 0\n%s\n.byte 0; 2:\n"
	".section .debug_line,\"\",@progbits\n%s\n";

static void build(const char *abbreviation, const char *dies, const char *lines)
{
	char source[80];
	FILE *file;

	snprintf(source, sizeof(source), "%s/program.s", folder);
	file = fopen(source, "we");
	assert_non_null(file);
	/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral) */
	fprintf(file, assembly, abbreviation, dies, lines);
	assert_int_equal(fclose(file), 0);
	shell("cd %s && as -o program.o program.s && ld -o program program.o", folder);
}

static int set_up(void **state)
{
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/program", folder);
	return 0;
}

static int tear_down(void **state)
{
	shell("rm -r %s", folder);
	return 0;
}

/* How many functions of the unit were read, with a budget. */
static size_t functions_of(uint32_t budget)
{
	cleanup(close_p) int fd = open(program, O_RDONLY | O_CLOEXEC);
	Dwarf *dw = dwarf_begin(fd, DWARF_C_READ);
	struct unit unit = {};
	uint32_t left = budget;
	Dwarf_Off next;
	size_t header;

	assert_non_null(dw);
	assert_int_equal(dwarf_nextcu(dw, 0, &next, &header, NULL, NULL, NULL), 0);
	/* The DWARF of version 5 says itself how long its header is. */
	assert_non_null(dwarf_offdie(dw, header, &unit.die));
	unit.end = (unsigned char *)unit.die.addr + next - header;
	assert_int_equal(
		unit__read_functions(&unit, &(struct addresses) {}, &(struct image) {}, &left), 0);
	unit__reset(&unit);
	dwarf_end(dw);
	return budget - left;
}

/* A function whose address is written in its abbreviation, in a form that gives no range. */
#define NO_RANGE ".uleb128 2, 0x2e; .byte 0; .uleb128 0x11, 0x21; .sleb128 5; .uleb128 0, 0\n"

static void functions_without_ranges_count_too(void **state)
{
	build(NO_RANGE, ".fill 1000, 1, 2", "");
	assert_int_equal(functions_of(UINT32_MAX), 1000);
	assert_int_equal(functions_of(10), 10);
	assert_int_equal(functions_of(0), 0);
}

static void attributes_that_take_no_space_do_not_take_hours(void **state)
{
	static const char *const many[] = {
		".uleb128 2, 0x2e; .byte 0\n.rept 200000\n.uleb128 0x34, 0x19\n.endr\n.uleb128 0, 0",
		".uleb128 2, 0x2e; .byte 0\n.rept 200\n.uleb128 0x34, 0x19\n.endr\n.uleb128 0, 0",
	};

	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		build(many[i], i ? ".fill 20000000, 1, 2" : ".fill 200000, 1, 2", "");
		alarm(10);
		assert_int_equal(functions_of(UINT32_MAX), 0);
		alarm(0);
	}
}

static void what_is_very_deep_is_passed_by(void **state)
{
	/* Number 2 has children and no end, number 3 is a function. */
	build(".uleb128 2, 0x0b; .byte 1; .uleb128 0, 0\n"
	      ".uleb128 3, 0x2e; .byte 0; .uleb128 0x11, 0x21; .sleb128 5; .uleb128 0, 0",
	      ".byte 3; .fill 1000, 1, 2; .byte 3; .fill 1000, 1, 0; .byte 3", "");
	assert_int_equal(functions_of(UINT32_MAX), 2);
}

/* So many times "one more line here". */
#define LINES(count)                                                                               \
	".4byte 2f - 1f; 1: .2byte 4; .4byte 4f - 3f\n"                                            \
	"3: .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0\n"                    \
	".asciz \"a.c\"; .byte 0, 0, 0, 0\n"                                                       \
	"4: .byte 0, 9, 2; .8byte _start; .fill " #count ", 1, 1\n"                                \
	".byte 2, 2, 0, 1, 1; 2:"

static uint32_t line_of_start(void)
{
	static struct symbol_chain chain;
	struct symbols *symbols = new_symbols();

	ask(symbols, "", program, look_up(program, "_start").st_value, &chain);
	symbols__free(symbols);
	assert_int_equal(chain.count, 1);
	return chain.frames[0].line;
}

static void a_line_program_that_is_too_long_costs_the_lines_only(void **state)
{
	struct rusage before, after;

	build(NO_RANGE, "", LINES(1000));
	assert_int_equal(line_of_start(), 1);
	build(NO_RANGE, "", LINES(40000000));
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(line_of_start(), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 300000);
}

#define WITH_RANGE(number, tag)                                                                    \
	".uleb128 " number ", " tag "; .byte 1; .uleb128 0x11, 1, 0x12, 7, 3, 8, 0, 0\n"

/* `child` is inlined into `parent`, but has none of its addresses. */
static void a_chain_does_not_depend_on_which_other_addresses_are_wanted(void **state)
{
	static struct symbol_chain chain;
	uint64_t wanted[2];

	build(WITH_RANGE("2", "0x2e") WITH_RANGE("3", "0x1d"),
	      ".byte 2; .8byte _start, 2; .asciz \"outer\"\n"
	      ".byte 3; .8byte _start, 0; .asciz \"empty\"; .byte 0\n"
	      ".byte 3; .8byte _start, 1; .asciz \"parent\"\n"
	      ".byte 3; .8byte _start + 1, 1; .asciz \"child\"; .byte 0\n"
	      ".byte 3; .8byte _start, 0; .asciz \"empty\"; .byte 0, 0, 0\n",
	      "");
	wanted[0] = look_up(program, "_start").st_value + 1;
	wanted[1] = wanted[0] - 1;
	for (size_t count = 1; count <= 2; count++) {
		struct symbols *symbols = new_symbols();

		assert_int_equal(symbols__want(symbols, wanted, count), 0);
		ask(symbols, "", program, wanted[0], &chain);
		assert_int_equal(chain.count, 3);
		assert_string_equal(chain.frames[0].name, "child");
		assert_string_equal(chain.frames[1].name, "parent");
		assert_string_equal(chain.frames[2].name, "_start");
		if (count == 2) {
			ask(symbols, "", program, wanted[1], &chain);
			assert_int_equal(chain.count, 2);
			assert_string_equal(chain.frames[0].name, "parent");
		}
		symbols__free(symbols);
	}
}

static void a_file_that_was_not_linked_has_no_names(void **state)
{
	static struct symbol_chain chain;
	struct symbols *symbols = new_symbols();
	char path[80];

	build(NO_RANGE, "", "");
	snprintf(path, sizeof(path), "%s/program.o", folder);
	/* It has _start at 0, and the linked program has it elsewhere. */
	for (int i = 0; i < 2; i++) {
		ask(symbols, "", path, 0, &chain);
		assert_int_equal(chain.count, 0);
	}
	assert_int_equal(symbols__quality(symbols).modules_failed, 1);
	symbols__free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_without_ranges_count_too),
		cmocka_unit_test(attributes_that_take_no_space_do_not_take_hours),
		cmocka_unit_test(what_is_very_deep_is_passed_by),
		cmocka_unit_test(a_line_program_that_is_too_long_costs_the_lines_only),
		cmocka_unit_test(a_chain_does_not_depend_on_which_other_addresses_are_wanted),
		cmocka_unit_test(a_file_that_was_not_linked_has_no_names),
	};

	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
