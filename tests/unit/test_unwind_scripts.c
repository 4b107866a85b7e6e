/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walks of bpf/ruby_walk.h and bpf/php_walk.h on memory made by hand. */
#include "interpreted.h"

#define SCRATCH_END (HEAP + HEAP_SIZE - 4)

static void assert_walk(struct fixture *f, const char *expected)
{
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_ROOT);
	assert_frames_of(f, expected, f->process.runtime.kind == RUNTIME_RUBY ? 4 : 3);
}

static void assert_failed_walk(struct fixture *f, const char *expected)
{
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_NO_RULE);
	assert_true(f->walk.how & STACK_BY_RUNTIME);
	assert_frames_of(f, expected, f->process.runtime.kind == RUNTIME_RUBY ? 4 : 3);
}

/* --- Ruby ------------------------------------------------------------------------------------- */

#define VM_STACK     (HEAP + 0x2000)
#define VM_WORDS     1024
#define FLAGS_OF(i)  (HEAP + 0x8000 + 8 * (uint64_t)(i))
#define METHOD       0x11110001
#define IN_C         (0x55550001 | RUBY_IN_C)
#define NO_SEQUENCE  255
#define CONTEXT_WORD (THREAD - 16)

static const struct runtime_ruby of_31 = { .from_thread = -16, .frame_bytes = 64 };
static const struct runtime_ruby of_33 = { .block = 32, .in_block = 40, .frame_bytes = 56 };

/* Adds the next inner function. */
static void push_ruby(struct fixture *f, int i, uint64_t flags)
{
	const struct runtime_ruby *ruby = &f->process.runtime.ruby;

	f->list -= ruby->frame_bytes;
	put64(f, f->list + 8 * RUBY_PC, (uint64_t)POSITION(i));
	put64(f, f->list + 8 * RUBY_ISEQ, i == NO_SEQUENCE ? 0 : OBJECT(i));
	put64(f, f->list + 8 * RUBY_EP, FLAGS_OF(f->frames));
	put64(f, FLAGS_OF(f->frames++), flags);
	put64(f, OBJECT(i) + RUBY_BODY, NAME_OF(i));
	put64(f, STATE + 8 * RUBY_FRAME, f->list);
}

/* With the outermost frame of a thread. */
static struct fixture *make_ruby(const struct runtime_ruby *ruby)
{
	struct fixture *f = make_fixture(RUNTIME_RUBY);
	uint64_t table = HEAP + 0x600, block = HEAP + 0x700;

	f->process.runtime.ruby = *ruby;
	f->process.runtime.areas[1].begin = FN(CALLER, 0);
	f->process.runtime.areas[1].end = FN(CALLER + 1, 0);
	if (ruby->block) {
		put64(f, THREAD + 8, table);
		put64(f, table + ruby->block, block);
		put64(f, block + ruby->in_block, STATE);
	} else {
		put64(f, CONTEXT_WORD, STATE);
	}
	put64(f, STATE + 8 * RUBY_STACK, VM_STACK);
	put64(f, STATE + 8 * RUBY_STACK_WORDS, VM_WORDS);
	f->list = VM_STACK + 8 * VM_WORDS;
	push_ruby(f, 200, RUBY_DUMMY | RUBY_FINISH | RUBY_IN_C);
	return f;
}

static void push_all(struct fixture *f, const char *natives)
{
	static const char names[] = "LNSBC";

	for (; *natives; natives++)
		push(f, (unsigned)(strchr(names, *natives) - names));
}

static void a_loop_of_ruby_has_functions_up_to_the_one_that_c_called(void **state)
{
	const struct runtime_ruby *const all[] = { &of_31, &of_33 };

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f = make_ruby(all[i]);

		push_all(f, "NLCNLCS");
		push_ruby(f, 3, METHOD | RUBY_FINISH);
		push_ruby(f, 2, METHOD);
		push_ruby(f, NO_SEQUENCE, IN_C);
		push_ruby(f, 1, METHOD | RUBY_FINISH);
		push_ruby(f, 0, METHOD);
		/* It runs code in C. */
		push_ruby(f, 100, IN_C);
		assert_walk(f, "N01LCN23LCS");
		assert_int_equal(f->walk.how, STACK_BY_ROWS);
		assert_int_equal(f->walk.has_objects, 1);
	}
}

static void functions_of_ruby_that_have_not_begun_belong_to_the_loops_caller(void **state)
{
	struct fixture *f = make_ruby(&of_31);

	push_all(f, "CNLCS");
	push_ruby(f, 1, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	assert_walk(f, "0CN1LCS");
}

/* Between its entry in the list and the call of rb_vm_exec(). */
static void a_function_of_ruby_that_is_being_called_shifts_the_others(void **state)
{
	struct fixture *f = make_ruby(&of_33);

	push_all(f, "NLCS");
	push_ruby(f, 1, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	assert_walk(f, "N0LCS1");
}

static void a_loop_of_ruby_that_is_being_left_has_no_functions(void **state)
{
	struct fixture *f = make_ruby(&of_31);

	push_all(f, "LCNLCS");
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	assert_walk(f, "LCN0LCS");
	/* In its caller, after it. */
	f = make_ruby(&of_31);
	push_all(f, "CNLCS");
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	assert_walk(f, "CN0LCS");
}

static void a_thread_without_ruby_has_native_frames_only(void **state)
{
	static const uint64_t wrong[] = { 0, 12345, UINT64_MAX - 7, SCRATCH_END };

	for (size_t i = 0; i < 4; i++)
		for (int what = 0; what < 3; what++) {
			struct fixture *f = make_ruby(what == 1 ? &of_33 : &of_31);

			push_all(f, "NLCS");
			push_ruby(f, 0, METHOD | RUBY_FINISH);
			if (what == 0)
				put64(f, CONTEXT_WORD, wrong[i]);
			else if (what == 1)
				put64(f, THREAD + 8, wrong[i]);
			else
				put64(f, STATE + 8 * RUBY_FRAME, wrong[i]);
			assert_walk(f, "NLCS");
		}
}

static void a_stack_of_ruby_without_an_end_is_none(void **state)
{
	struct fixture *f = make_ruby(&of_31);

	push_all(f, "NLCS");
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	put64(f, STATE + 8 * RUBY_STACK_WORDS, RUBY_MOST_WORDS);
	assert_walk(f, "NLCS");
	put64(f, STATE + 8 * RUBY_STACK_WORDS, RUBY_MOST_WORDS - 1);
	assert_walk(f, "N0LCS");
}

static void flags_of_ruby_that_cannot_be_read_end_the_list(void **state)
{
	struct fixture *f = make_ruby(&of_31);

	push_all(f, "NLCNLCS");
	push_ruby(f, 1, METHOD | RUBY_FINISH);
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	put64(f, f->list + of_31.frame_bytes + 8 * RUBY_EP, 12345);
	assert_walk(f, "N0LCNLCS");
	/* A sequence that is not there has a frame without a cookie. */
	put64(f, f->list + 8 * RUBY_ISEQ, 0x123450);
	walk(f);
	assert_int_equal(FRAME_OBJECT(f->walk.frames[1]), 0x123450);
	assert_int_equal(FRAME_COOKIE(f->walk.frames[2]), 0);
}

/* As in code that YJIT made, which is called from the loop's caller. */
static void functions_of_ruby_are_known_if_the_native_walk_fails(void **state)
{
	struct fixture *f = make_ruby(&of_33);

	push_all(f, "NB");
	push_ruby(f, 2, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	push_ruby(f, 1, METHOD | RUBY_FINISH);
	push_ruby(f, 0, METHOD);
	assert_failed_walk(f, "N01B2");
	/* A function in C is innermost. */
	push_ruby(f, 101, IN_C);
	assert_failed_walk(f, "NB012");
	/* The loop was there before. */
	f = make_ruby(&of_33);
	push_all(f, "NLB");
	push_ruby(f, 1, METHOD | RUBY_FINISH);
	push_ruby(f, 100, IN_C);
	push_ruby(f, 0, METHOD | RUBY_FINISH);
	assert_failed_walk(f, "N0LB1");
}

/* --- PHP -------------------------------------------------------------------------------------- */

#define CURRENT     (HEAP + 64)
#define PHPFRAME(i) (HEAP + 0x2000 + 64 * (uint64_t)(i))
#define NO_FUNCTION 255
#define LAST        (-1)

enum { INTERNAL = 1, OF_FILE = 2, OF_EVAL = 4 };

static struct fixture *make_php(const char *natives)
{
	struct fixture *f = make_fixture(RUNTIME_PHP);

	f->process.runtime.php.current = CURRENT;
	push_all(f, natives);
	return f;
}

/* Frame `i` has function `i`, unless that is NO_FUNCTION; `next` is the outer one. */
static void put_php(struct fixture *f, int i, unsigned type, bool called_by_c, int next)
{
	uint64_t at = PHPFRAME(i);

	put64(f, at + 8 * PHP_INSTRUCTION, (uint64_t)POSITION(i));
	put64(f, at + 8 * PHP_FUNCTION, i == NO_FUNCTION ? 0 : OBJECT(i));
	put64(f, at + 8 * PHP_CALL, called_by_c ? PHP_CALLED_BY_C : 0);
	put64(f, at + 8 * PHP_PREVIOUS, next == LAST ? 0 : PHPFRAME(next));
	put64(f, OBJECT(i) + 8 * PHP_TYPE, type | 0xabcd00);
	put64(f, OBJECT(i) + 8 * PHP_NAME, NAME_OF(i));
}

static void a_loop_of_php_has_functions_up_to_the_one_that_c_called(void **state)
{
	struct fixture *f = make_php("NLNLS");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, INTERNAL, false, 1);
	put_php(f, 1, OF_FILE, false, 2);
	put_php(f, 2, OF_FILE, true, 3);
	put_php(f, 3, INTERNAL, false, 4);
	put_php(f, 4, OF_EVAL, false, 5);
	put_php(f, 5, OF_FILE, true, LAST);
	assert_walk(f, "Ni012LNi345LS");
	assert_int_equal(f->walk.how, STACK_BY_ROWS);
}

/* Functions in C that C calls have no loop. */
static void a_function_in_c_that_c_called_is_no_end(void **state)
{
	struct fixture *f = make_php("NLS");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, INTERNAL, true, 1);
	put_php(f, 1, OF_FILE, true, LAST);
	assert_walk(f, "Ni01LS");
}

static void a_frame_of_php_without_a_function_is_left_out(void **state)
{
	struct fixture *f = make_php("NLS");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, OF_FILE, false, NO_FUNCTION);
	put_php(f, NO_FUNCTION, INTERNAL, true, 1);
	put_php(f, 1, OF_FILE, true, LAST);
	assert_walk(f, "N01LS");
}

static void a_function_of_php_that_is_being_called_shifts_the_others(void **state)
{
	struct fixture *f = make_php("NLS");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, OF_FILE, true, 1);
	put_php(f, 1, INTERNAL, false, 2);
	put_php(f, 2, OF_FILE, true, LAST);
	assert_walk(f, "N0LSi12");
}

static void a_broken_list_of_php_ends(void **state)
{
	static const uint64_t wrong[] = { 0, 12345, UINT64_MAX - 7, SCRATCH_END };

	for (size_t i = 0; i < 4; i++) {
		struct fixture *f = make_php("NLNLS");

		put64(f, CURRENT, wrong[i]);
		assert_walk(f, "NLNLS");
		put64(f, CURRENT, PHPFRAME(0));
		put_php(f, 0, OF_FILE, false, LAST);
		put64(f, PHPFRAME(0) + 8 * PHP_PREVIOUS, wrong[i]);
		assert_walk(f, "N0LNLS");
		f->process.runtime.php.current = i ? wrong[i] : UINT64_MAX;
		assert_walk(f, "NLNLS");
	}
}

static void a_list_of_php_that_is_a_circle_ends(void **state)
{
	struct fixture *f = make_php("NLS");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, OF_FILE, false, 1);
	put_php(f, 1, INTERNAL, false, 0);
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_TOO_DEEP);
	assert_true(f->world.reads <= 3ULL * STACK_MOST_FRAMES);
	/* And without a function. */
	put64(f, PHPFRAME(0) + 8 * PHP_FUNCTION, 0);
	put64(f, PHPFRAME(1) + 8 * PHP_FUNCTION, 0);
	f->world.reads = 0;
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_TOO_DEEP);
	assert_true(f->world.reads <= 3ULL * STACK_MOST_FRAMES);
}

static void functions_of_php_are_known_if_the_native_walk_fails(void **state)
{
	struct fixture *f = make_php("NB");

	put64(f, CURRENT, PHPFRAME(0));
	put_php(f, 0, OF_FILE, true, 1);
	put_php(f, 1, INTERNAL, false, 2);
	put_php(f, 2, OF_FILE, true, LAST);
	assert_failed_walk(f, "N0Bi12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_of_ruby_has_functions_up_to_the_one_that_c_called),
		cmocka_unit_test(functions_of_ruby_that_have_not_begun_belong_to_the_loops_caller),
		cmocka_unit_test(a_function_of_ruby_that_is_being_called_shifts_the_others),
		cmocka_unit_test(a_loop_of_ruby_that_is_being_left_has_no_functions),
		cmocka_unit_test(a_thread_without_ruby_has_native_frames_only),
		cmocka_unit_test(a_stack_of_ruby_without_an_end_is_none),
		cmocka_unit_test(flags_of_ruby_that_cannot_be_read_end_the_list),
		cmocka_unit_test(functions_of_ruby_are_known_if_the_native_walk_fails),
		cmocka_unit_test(a_loop_of_php_has_functions_up_to_the_one_that_c_called),
		cmocka_unit_test(a_function_in_c_that_c_called_is_no_end),
		cmocka_unit_test(a_frame_of_php_without_a_function_is_left_out),
		cmocka_unit_test(a_function_of_php_that_is_being_called_shifts_the_others),
		cmocka_unit_test(a_broken_list_of_php_ends),
		cmocka_unit_test(a_list_of_php_that_is_a_circle_ends),
		cmocka_unit_test(functions_of_php_are_known_if_the_native_walk_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
