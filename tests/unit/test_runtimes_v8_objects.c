/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions and code of V8 on memory made by hand. */
#include "v8_heap.h"

/* --- functions -------------------------------------------------------------------------------- */

enum { VARIABLES = 2, FIRST = 3 };

/* Variables have two words each: a name and what is known of it. Behind them `words` come. */
static uint64_t scope_of(struct fixture *fixture, uint64_t variables, const uint64_t *words,
			 size_t count)
{
	uint64_t rest[64] = { [VARIABLES] = NUMBER(variables) };

	assert_true(FIRST + 2 * variables + 8 <= 64);
	for (uint64_t i = 0; i < variables; i++)
		rest[FIRST + 2 * i] = text(fixture, "variable");
	if (count)
		memcpy(rest + FIRST + 2 * variables, words, count * sizeof(*words));
	return object(fixture, SCOPE, rest, sizeof(rest));
}

static uint64_t function_of(struct fixture *fixture, uint64_t name, uint64_t script)
{
	const uint64_t rest[] = { 0, name, 0, script, 0, 77 };

	return object(fixture, SHARED, rest, sizeof(rest));
}

static void assert_function(struct fixture *f, uint64_t function, const char *name, int first_line)
{
	static struct runtime_names names;
	const struct v8_place place = { function, -1 };

	names.count = 0;
	assert_int_equal(v8_function__name(&f->v8, &place, &names), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.frames[0].function, name);
	assert_string_equal(names.frames[0].file, "/srv/app.js");
	assert_int_equal(names.frames[0].first_line, first_line);
	assert_int_equal(names.frames[0].line, 0);
}

static void a_function_has_the_name_of_its_scope(void **state)
{
	struct fixture *f = make();
	uint64_t script = script_of(f, text(f, "a\nb\nc"), 3, 0);
	uint64_t name = text(f, "outer"), other = text(f, "inferred"), none = text(f, "");
	const uint64_t named[] = { name, 0, other, NUMBER(2), NUMBER(5) };
	const uint64_t inferred[] = { none, 0, other, NUMBER(4), NUMBER(5) };
	const uint64_t numbered[] = { NUMBER(1), name, 0, other, NUMBER(2), NUMBER(5) };
	const uint64_t nameless[] = { none, 0, none, NUMBER(0), NUMBER(5) };
	const uint64_t wrong[] = { name, 0, other, NUMBER(5), NUMBER(4) };

	for (uint64_t variables = 0; variables < 20; variables += 19) {
		assert_function(f, function_of(f, scope_of(f, variables, named, 5), script),
				"outer", 2);
		assert_function(f, function_of(f, scope_of(f, variables, inferred, 5), script),
				"inferred", 3);
		assert_function(f, function_of(f, scope_of(f, variables, numbered, 6), script),
				"outer", 2);
		assert_function(f, function_of(f, scope_of(f, variables, nameless, 5), script),
				"(anonymous)", 1);
		assert_function(f, function_of(f, scope_of(f, variables, wrong, 5), script),
				"outer", 0);
	}
	/* Before it has run, it has only a name. */
	assert_function(f, function_of(f, name, script), "outer", 0);
	assert_function(f, function_of(f, 0, script), "(anonymous)", 0);
	assert_function(f, function_of(f, 12345, script), "(anonymous)", 0);
	release(f);
}

static void a_scope_that_is_broken_has_no_name(void **state)
{
	static const uint64_t counts[] = { NUMBER(0x7fffffff), NUMBER(0xffffffff), 12345,
					   NUMBER(65536), NUMBER(60000) };
	struct fixture *f = make();
	uint64_t script = script_of(f, text(f, "a\nb\nc"), 3, 0);

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t scope = scope_of(f, 0, NULL, 0);

		put64(f, scope - 1 + 8 + 8 * VARIABLES, counts[i]);
		assert_function(f, function_of(f, scope, script), "(anonymous)", 0);
	}
	release(f);
}

/* --- code ------------------------------------------------------------------------------------- */

/* Instructions with the header before them. */
static uint64_t make_code(struct fixture *f, uint32_t size, uint32_t kind, uint64_t *ret_object)
{
	uint64_t header = room(f, 16 + size),
		 rest[7] = { [4] = header + 16, [5] = kind, [6] = size };

	*ret_object = object(f, CODE, rest, sizeof(rest));
	put64(f, header, MAPS + 1);
	put64(f, header + 8, *ret_object);
	return header + 16;
}

static void code_is_found_by_any_of_its_addresses(void **state)
{
	static const uint32_t offsets[] = { 0, 1, 15, 16, 4095, 4096, 9999 };
	struct fixture *f = make();
	uint64_t object, other, start = make_code(f, 10000, 13, &object);
	uint64_t next = make_code(f, 64, 11, &other);
	struct v8_code code;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		memset(f->v8.codes, 0, sizeof(f->v8.codes));
		assert_int_equal(v8_code__find(&f->v8, start + offsets[i], &code), 0);
		assert_int_equal(code.object, object);
		assert_int_equal(code.start, start);
		assert_true(v8_code__is_optimized(&f->v8, &code));
	}
	assert_int_equal(v8_code__find(&f->v8, next + 63, &code), 0);
	assert_int_equal(code.object, other);
	assert_false(v8_code__is_optimized(&f->v8, &code));
	/* Behind it is nothing. */
	assert_int_equal(v8_code__find(&f->v8, next + 64, &code), -ENOENT);
	assert_int_equal(v8_code__find(&f->v8, 0, &code), -ENOENT);
	assert_int_equal(v8_code__find(&f->v8, UINT64_MAX, &code), -ENOENT);
	release(f);
}

static void code_that_was_known_is_looked_at_again(void **state)
{
	struct fixture *f = make();
	uint64_t object, start = make_code(f, 1000, 13, &object);
	struct v8_code code;

	assert_int_equal(v8_code__find(&f->v8, start + 500, &code), 0);
	/* It has moved: other code is there now, which is shorter. */
	put64(f, object - 1 + 40, start + 4096);
	assert_int_equal(v8_code__find(&f->v8, start + 500, &code), -ENOENT);
	release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_the_name_of_its_scope),
		cmocka_unit_test(a_scope_that_is_broken_has_no_name),
		cmocka_unit_test(code_is_found_by_any_of_its_addresses),
		cmocka_unit_test(code_that_was_known_is_looked_at_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
