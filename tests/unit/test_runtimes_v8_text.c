/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings, positions and lines of V8 on memory made by hand. */
#include "v8_heap.h"

/* --- strings ---------------------------------------------------------------------------------- */

static void strings_are_utf_8(void **state)
{
	static const uint16_t wide[] = { 'a', 0x444, 0x20ac, 0xd83d, 0xde00, 'z' };
	static const uint16_t halves[] = { 0xde00, 'b', 0xd83d, 'c', 0xd83d };
	struct fixture *f = make();

	assert_text(f, text(f, "outer"), "outer");
	assert_text(f, text(f, ""), "");
	assert_text(f,
		    text(f, "gr\xf6\xdf"
			    "e"),
		    "größe");
	assert_text(f, characters(f, wide, 6, 2), "aф€😀z");
	assert_text(f, characters(f, halves, 5, 2), "\uFFFDb\uFFFDc\uFFFD");
	release(f);
}

static void strings_are_put_together(void **state)
{
	struct fixture *f = make();
	uint64_t left = text(f, "Shop."), right = text(f, "outer"), pair, part;

	pair = string_of(f, PAIR, 10, left, right);
	assert_text(f, pair, "Shop.outer");
	assert_text(f, string_of(f, PAIR, 15, pair, right), "Shop.outerouter");
	assert_text(f, string_of(f, PAIR, 15, right, pair), "outerShop.outer");
	part = string_of(f, PART, 4, pair, NUMBER(3));
	assert_text(f, part, "p.ou");
	assert_text(f, string_of(f, PART, 3, part, NUMBER(1)), ".ou");
	assert_text(f, string_of(f, REPLACED, 10, pair, 0), "Shop.outer");
	/* The characters are elsewhere, unless they are not kept. */
	assert_text(f, string_of(f, EXTERNAL | ONE_BYTE, 4, 0, left - 1 + 16), "Shop");
	assert_no_text(f, string_of(f, EXTERNAL | ONE_BYTE | UNCACHED, 4, 0, left - 1 + 16));
	release(f);
}

static void long_strings_are_cut_between_characters(void **state)
{
	static char expected[RUNTIME_MOST_NAME];
	static uint16_t wide[4000];
	struct fixture *f = make();
	size_t size = 0;

	for (size_t i = 0; i < 4000; i++)
		wide[i] = 0x20ac;
	for (; size + 3 < sizeof(expected); size += 3)
		memcpy(expected + size, "€", 3);
	/* At most as many characters are read as may fit. */
	expected[500 * 3 < size ? 500 * 3 : size] = '\0';
	assert_text(f, characters(f, wide, 4000, 2), expected);
	release(f);
}

static void what_is_not_a_string_has_no_text(void **state)
{
	struct fixture *f = make();
	uint64_t script = object(f, SCRIPT, &(uint64_t) { NUMBER(8) }, 8);

	assert_no_text(f, 0);
	assert_no_text(f, NUMBER(5));
	assert_no_text(f, UINT64_MAX);
	assert_no_text(f, HEAP + HEAP_BYTES + 4097);
	assert_no_text(f, script);
	assert_no_text(f, string_of(f, PAIR, 10, script, NUMBER(1)));
	assert_no_text(f, string_of(f, PART, 10, script, 5));
	assert_no_text(f, string_of(f, 4, 10, script, script));
	release(f);
}

static void strings_that_are_circles_end(void **state)
{
	static const unsigned types[] = { PAIR, PART, REPLACED };
	char found[RUNTIME_MOST_NAME];

	for (size_t i = 0; i < 3; i++) {
		struct fixture *f = make();
		uint64_t at = f->used + 1, string;

		string = string_of(f, types[i], 1000, at, i == 1 ? NUMBER(1) : at);
		(void)v8_text__read(&f->v8, string, found, sizeof(found));
		assert_string_equal(found, "");
		release(f);
	}
}

static void more_pairs_than_are_followed_end(void **state)
{
	char found[RUNTIME_MOST_NAME];
	struct fixture *f = make();
	uint64_t left = text(f, "a"), right = left;

	for (uint32_t i = 0; i < 300; i++) {
		left = string_of(f, PAIR, i + 2, left, text(f, "b"));
		right = string_of(f, PAIR, i + 2, text(f, "c"), right);
	}
	(void)v8_text__read(&f->v8, left, found, sizeof(found));
	assert_true(strlen(found) < sizeof(found));
	(void)v8_text__read(&f->v8, right, found, sizeof(found));
	assert_int_equal(strspn(found, "c"), strlen(found));
	release(f);
}

/* --- positions -------------------------------------------------------------------------------- */

struct table {
	uint8_t bytes[256];
	size_t size;
};

static void add(struct table *table, int64_t number)
{
	uint64_t value = (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0);

	do {
		table->bytes[table->size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
}

static void add_row(struct table *table, int64_t code, int64_t position)
{
	add(table, code);
	add(table, position);
}

static int64_t find(const struct table *table, int64_t offset)
{
	return v8_positions__find(table->bytes, table->size, offset);
}

static void positions_are_those_of_the_row_before(void **state)
{
	struct table table = {};

	add_row(&table, 5, 100);  /* from the entry, −1, on */
	add_row(&table, -7, -30); /* 6 bytes, an expression */
	add_row(&table, 300, 5000);
	assert_int_equal(find(&table, 0), -1);
	assert_int_equal(find(&table, 3), -1);
	assert_int_equal(find(&table, 4), 100);
	assert_int_equal(find(&table, 9), 100);
	assert_int_equal(find(&table, 10), 70);
	assert_int_equal(find(&table, 309), 70);
	assert_int_equal(find(&table, 310), 5070);
	assert_int_equal(find(&table, INT64_MAX), 5070);
	/* A row without an end does not count. */
	for (size_t cut = 1; cut < 3; cut++)
		assert_int_equal(v8_positions__find(table.bytes, table.size - cut, 1000), 70);
	assert_int_equal(v8_positions__find(table.bytes, 0, 0), -1);
}

static void hostile_positions_end(void **state)
{
	struct table table = {};

	memset(table.bytes, 0xff, sizeof(table.bytes));
	assert_int_equal(v8_positions__find(table.bytes, sizeof(table.bytes), 5), -1);
	table.size = 0;
	for (int i = 0; i < 10; i++)
		add_row(&table, i % 2 ? INT64_MIN / 2 : INT64_MAX / 2, INT64_MAX / 2);
	(void)find(&table, 5);
	(void)find(&table, INT64_MAX);
}

static void a_position_has_an_offset_and_a_number(void **state)
{
	assert_int_equal(v8_position__offset(-1), -1);
	assert_int_equal(v8_position__inlined(-1), 0);
	assert_int_equal(v8_position__offset(1), -1); /* not in a script */
	assert_int_equal(v8_position__offset(2 * (7 + 1)), 7);
	assert_int_equal(v8_position__inlined(2 * (7 + 1)), 0);
	assert_int_equal(v8_position__offset((INT64_C(3) << 31) | (2 * (7 + 1))), 7);
	assert_int_equal(v8_position__inlined((INT64_C(3) << 31) | (2 * (7 + 1))), 3);
}

static void code_of_sparkplug_leads_to_bytecodes(void **state)
{
	/* Sizes of the code: before the first one, and of each. */
	static const uint8_t table[] = { 10, 5, 5, 0x80, 1, 7 };
	/* One byte; two; one that is wide, with prefix 5; one that is not known. */
	static const uint8_t bytecode[] = { 4, 5, 9, 0, 5, 1, 1, 1, 6 };
	struct v8 v8 = { .bytecodes = 6,
			 .bytecode_sizes = { { 1, 1, 1, 1, 1, 2 }, { 1, 1, 1, 1, 1, 4 } } };

	for (uint32_t offset = 0; offset < 160; offset++)
		assert_int_equal(v8_positions__bytecode(&v8, table, sizeof(table), bytecode,
							sizeof(bytecode), offset),
				 offset < 10    ? -1
				 : offset < 15  ? 0
				 : offset < 20  ? 1
				 : offset < 148 ? 3
						: -1);
	v8.bytecodes = 0;
	assert_int_equal(
		v8_positions__bytecode(&v8, table, sizeof(table), bytecode, sizeof(bytecode), 12),
		-1);
	assert_int_equal(v8_positions__bytecode(&v8, table, sizeof(table), bytecode, 0, 12), -1);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void lines_end_as_in_the_language(void **state)
{
	static const uint16_t wide[] = { 'a', '\n',   'b', '\r',   '\n', 'c', '\r',
					 'd', 0x2028, 'e', 0x2029, 'f',  '\n' };
	static const int lines[] = { 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7 };
	struct fixture *f = make();
	uint64_t script = script_of(f, characters(f, wide, 13, 2), 5, 0);
	uint64_t later = script_of(f, text(f, "x\ny"), 6, 10);

	for (int32_t i = 0; i <= 13; i++)
		assert_int_equal(v8_lines__find(&f->v8, script, i), lines[i]);
	assert_int_equal(v8_lines__find(&f->v8, script, 14), 0);
	assert_int_equal(v8_lines__find(&f->v8, script, -1), 0);
	/* The script is a part of a file. */
	assert_int_equal(v8_lines__find(&f->v8, later, 0), 11);
	assert_int_equal(v8_lines__find(&f->v8, later, 2), 12);
	assert_int_equal(v8_lines__find(&f->v8, 0, 2), 0);
	release(f);
}

/* The source is read in pieces of 64 KiB. */
static void a_line_can_end_between_two_pieces(void **state)
{
	static char source[66000];
	struct fixture *f = make();
	uint64_t script;

	memset(source, ' ', sizeof(source));
	source[65535] = '\r';
	source[65536] = '\n';
	script = script_of(f, characters(f, source, sizeof(source), 1), 5, 0);
	assert_int_equal(v8_lines__find(&f->v8, script, 65536), 1);
	assert_int_equal(v8_lines__find(&f->v8, script, 65537), 2);
	source[65536] = ' ';
	script = script_of(f, characters(f, source, sizeof(source), 1), 6, 0);
	assert_int_equal(v8_lines__find(&f->v8, script, 65535), 1);
	assert_int_equal(v8_lines__find(&f->v8, script, 65536), 2);
	release(f);
}

static void more_scripts_than_are_kept_are_counted_again(void **state)
{
	struct fixture *f = make();
	uint64_t source = text(f, "a\nb"), scripts[300];

	for (uint64_t i = 0; i < 300; i++)
		scripts[i] = script_of(f, source, i, 0);
	for (size_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 300; i++)
			assert_int_equal(v8_lines__find(&f->v8, scripts[i], 2), 2);
	release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_utf_8),
		cmocka_unit_test(strings_are_put_together),
		cmocka_unit_test(long_strings_are_cut_between_characters),
		cmocka_unit_test(what_is_not_a_string_has_no_text),
		cmocka_unit_test(strings_that_are_circles_end),
		cmocka_unit_test(more_pairs_than_are_followed_end),
		cmocka_unit_test(positions_are_those_of_the_row_before),
		cmocka_unit_test(hostile_positions_end),
		cmocka_unit_test(a_position_has_an_offset_and_a_number),
		cmocka_unit_test(code_of_sparkplug_leads_to_bytecodes),
		cmocka_unit_test(lines_end_as_in_the_language),
		cmocka_unit_test(a_line_can_end_between_two_pieces),
		cmocka_unit_test(more_scripts_than_are_kept_are_counted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
