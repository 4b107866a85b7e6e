/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of bpf/python_walk.h on memory made by hand: a native stack of three kinds of functions,
 * and frames of CPython in a heap.
 */
#include "interpreted.h"

#define PYFRAME(i) (HEAP + 4096 + 112 * (uint64_t)(i))

/* The frame of a function whose loop is here; CFRAME: that of 3.11. */
#define SHIM(loop_sp)   ((loop_sp) + 8)
#define CFRAME(loop_sp) ((loop_sp) + 16)

enum { OWNER_THREAD, OWNER_GENERATOR, OWNER_SHIM = 3 };

static const struct runtime_python up_to_310 = {
	.slot = 64,
	.thread_frame = 24,
	.frame_code = 32,
	.frame_previous = 24,
	.frame_position = 96,
	.frame_bytes = 112,
	.position_bytes = 4,
	.code_first_line = 40,
	.code_name = 112,
	.code_bytes = 80,
};

static const struct runtime_python of_311 = {
	.slot = 64,
	.thread_frame = 56,
	.has_cframe = 1,
	.cframe_frame = 8,
	.cframe_previous = 16,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_position = 56,
	.frame_owner = 68,
	.frame_bytes = 80,
	.position_bytes = 8,
	.has_owner = 1,
	.least_owner = 1,
	.most_owner = 1,
	.code_first_line = 72,
	.code_name = 128,
	.code_bytes = 64,
};

static const struct runtime_python of_314 = {
	.slot = 64,
	.thread_frame = 72,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_position = 56,
	.frame_owner = 74,
	.frame_bytes = 80,
	.position_bytes = 8,
	.has_owner = 1,
	.least_owner = 3,
	.most_owner = 3,
	.is_shim = 1,
	.tagged = 1,
	.code_first_line = 68,
	.code_name = 128,
	.code_bytes = 72,
};

static struct fixture *make(const struct runtime_python *python)
{
	struct fixture *fixture = make_fixture(RUNTIME_PYTHON);

	fixture->process.runtime.python = *python;
	put64(fixture, THREAD + python->slot, STATE);
	return fixture;
}

/* The state of the thread: where its list begins. */
static void begin_list(struct fixture *fixture, uint64_t at)
{
	put64(fixture, STATE + fixture->process.runtime.python.thread_frame, at);
}

static void put_frame(struct fixture *fixture, uint64_t at, int i, unsigned owner, uint64_t next)
{
	const struct runtime_python *python = &fixture->process.runtime.python;
	uint64_t code = OBJECT(i);
	uint32_t first_line = owner == OWNER_SHIM ? 0 : 1;

	put64(fixture, at + python->frame_code, code | (python->tagged && i % 2 ? 1 : 0));
	put64(fixture, at + python->frame_previous, next);
	put64(fixture, at + python->frame_position,
	      python->position_bytes == 8 ? code + (uint64_t)POSITION(i) : (uint64_t)POSITION(i));
	if (python->has_owner)
		*memory_at(fixture, at + python->frame_owner, 1) = (uint8_t)owner;
	memcpy(memory_at(fixture, code + python->code_first_line, 4), &first_line, 4);
	put64(fixture, code + python->code_name, NAME_OF(i));
}

static void assert_frames(const struct fixture *fixture, const char *expected)
{
	assert_frames_of(fixture, expected, 3);
}

static void assert_walk(struct fixture *fixture, const char *expected)
{
	walk(fixture);
	assert_int_equal(fixture->walk.end, STACK_END_ROOT);
	assert_frames(fixture, expected);
}

/* --- up to 3.10 ------------------------------------------------------------------------------- */

static void each_loop_has_one_function(void **state)
{
	struct fixture *f = make(&up_to_310);

	push(f, NATIVE);
	push(f, LOOP);
	push(f, NATIVE);
	push(f, LOOP);
	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, 0, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, 0, 0);
	assert_walk(f, "N0LN1LS");
	assert_int_equal(f->walk.how, STACK_BY_ROWS);
	assert_int_equal(f->walk.has_objects, 1);
}

static void a_loop_that_has_not_begun_leaves_the_outermost_without_a_function(void **state)
{
	struct fixture *f = make(&up_to_310);

	push(f, LOOP);
	push(f, LOOP);
	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, 0, 0);
	assert_walk(f, "0LLS");
}

/* --- 3.11 ------------------------------------------------------------------------------------- */

static void put_cframe(struct fixture *f, uint64_t at, uint64_t frame, uint64_t previous)
{
	put64(f, at + 8, frame);
	put64(f, at + 16, previous);
}

static void a_loop_has_functions_up_to_its_entry(void **state)
{
	struct fixture *f = make(&of_311);
	uint64_t inner, outer;

	push(f, NATIVE);
	inner = push(f, LOOP);
	push(f, NATIVE);
	outer = push(f, LOOP);
	push(f, START);
	begin_list(f, CFRAME(inner));
	put_cframe(f, CFRAME(inner), PYFRAME(0), CFRAME(outer));
	put_cframe(f, CFRAME(outer), PYFRAME(2), 0);
	put_frame(f, PYFRAME(0), 0, 0, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, 1, PYFRAME(2));
	put_frame(f, PYFRAME(2), 2, 0, PYFRAME(3));
	put_frame(f, PYFRAME(3), 3, 1, 0);
	assert_walk(f, "N01LN23LS");
}

static void a_loop_without_its_cframe_has_no_functions(void **state)
{
	struct fixture *f = make(&of_311);
	uint64_t outer;

	push(f, LOOP);
	push(f, NATIVE);
	outer = push(f, LOOP);
	push(f, START);
	begin_list(f, CFRAME(outer));
	put_cframe(f, CFRAME(outer), PYFRAME(0), 0);
	put_frame(f, PYFRAME(0), 0, 1, 0);
	assert_walk(f, "LN0LS");
	/* The older cframe cannot be read: what follows has none. */
	f = make(&of_311);
	outer = push(f, LOOP);
	push(f, LOOP);
	push(f, START);
	begin_list(f, CFRAME(outer));
	put_cframe(f, CFRAME(outer), PYFRAME(0), 12345);
	put_frame(f, PYFRAME(0), 0, 1, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, 1, 0);
	assert_walk(f, "0LLS");
}

/* --- since 3.12 ------------------------------------------------------------------------------- */

static void a_loop_has_functions_up_to_its_shim(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t inner, outer;

	push(f, NATIVE);
	inner = push(f, LOOP);
	push(f, NATIVE);
	outer = push(f, LOOP);
	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_GENERATOR, SHIM(inner));
	put_frame(f, SHIM(inner), 200, OWNER_SHIM, PYFRAME(2));
	put_frame(f, PYFRAME(2), 2, OWNER_THREAD, SHIM(outer));
	put_frame(f, SHIM(outer), 200, OWNER_SHIM, 0);
	assert_walk(f, "N01LN2LS");
}

static void the_shim_of_another_loop_is_undone(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t outer, hash;

	push(f, LOOP);
	push(f, NATIVE);
	outer = push(f, LOOP);
	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_THREAD, SHIM(outer));
	put_frame(f, SHIM(outer), 200, OWNER_SHIM, 0);
	assert_walk(f, "LN01LS");
	/* The hash is that of the frames that are left. */
	hash = 0;
	for (uint32_t i = 0; i < f->walk.count; i++)
		hash = unwind_hash(hash, f->walk.frames[i]);
	assert_int_equal(f->walk.hash, hash);
}

static void frames_of_the_interpreters_own_are_left_out(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t loop = push(f, LOOP);

	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_THREAD, PYFRAME(2));
	put_frame(f, PYFRAME(2), 2, OWNER_THREAD, PYFRAME(3));
	put_frame(f, PYFRAME(3), 4, 4, SHIM(loop));
	put_frame(f, SHIM(loop), 200, OWNER_SHIM, 0);
	/* Code without a line. */
	memset(memory_at(f, OBJECT(1) + of_314.code_first_line, 4), 0, 4);
	assert_walk(f, "02LS");
}

/* --- what is broken --------------------------------------------------------------------------- */

static void a_thread_without_a_state_has_native_frames_only(void **state)
{
	static const uint64_t wrong[] = { 0, 12345, UINT64_MAX - 7, STACK + STACK_SIZE - 4 };
	const struct runtime_python *const all[] = { &up_to_310, &of_311, &of_314 };

	for (size_t version = 0; version < 3; version++)
		for (size_t i = 0; i < 4; i++)
			for (int what = 0; what < 3; what++) {
				struct fixture *f = make(all[version]);

				push(f, NATIVE);
				push(f, LOOP);
				push(f, START);
				if (what == 0)
					put64(f, THREAD + all[version]->slot, wrong[i]);
				else if (what == 1)
					begin_list(f, wrong[i]);
				else
					f->process.runtime.python.slot_block = 512;
				assert_walk(f, "NLS");
			}
}

static void a_broken_link_ends_the_list(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t inner = push(f, LOOP);

	push(f, LOOP);
	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, 0xdead);
	assert_walk(f, "0LLS");
	begin_list(f, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_THREAD, SHIM(inner));
	put_frame(f, SHIM(inner), 200, OWNER_SHIM, 0xdead);
	assert_walk(f, "1LLS");
	/* Code that is not there has a frame without a cookie. */
	put64(f, PYFRAME(1), 0x123450);
	walk(f);
	assert_int_equal(FRAME_OBJECT(f->walk.frames[0]), 0x123450);
	assert_int_equal(FRAME_COOKIE(f->walk.frames[1]), 0);
}

static void a_list_that_is_a_circle_ends(void **state)
{
	const struct runtime_python *const all[] = { &of_311, &of_314 };

	for (size_t version = 0; version < 2; version++) {
		struct fixture *f = make(all[version]);
		uint64_t loop = push(f, LOOP);

		push(f, START);
		begin_list(f, version ? PYFRAME(0) : CFRAME(loop));
		put_cframe(f, CFRAME(loop), PYFRAME(0), 0);
		put_frame(f, PYFRAME(0), 0, 0, PYFRAME(1));
		put_frame(f, PYFRAME(1), 1, 0, PYFRAME(0));
		walk(f);
		assert_int_equal(f->walk.end, STACK_END_TOO_DEEP);
		assert_true(f->walk.count >= 2 * (STACK_MOST_FRAMES - 2));
		assert_true(f->world.reads <= 3ULL * STACK_MOST_FRAMES);
	}
}

static void more_functions_than_fit_are_cut_at_the_outermost(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t loop = push(f, LOOP);

	push(f, START);
	begin_list(f, PYFRAME(0));
	put_frame(f, SHIM(loop), 200, OWNER_SHIM, 0);
	for (int i = 0; i < 1200; i++)
		put_frame(f, PYFRAME(i), i, OWNER_THREAD, i < 1199 ? PYFRAME(i + 1) : SHIM(loop));
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_TOO_DEEP);
	assert_int_equal(f->walk.count, 2 * (STACK_MOST_FRAMES - 1));
	for (uint32_t i = 0; i < f->walk.count; i += 2)
		assert_int_equal(FRAME_OBJECT(f->walk.frames[i]), OBJECT(i / 2));
}

/* As when a library has switched to a stack of its own. */
static void what_is_left_is_known_if_the_native_walk_fails(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t inner;

	push(f, NATIVE);
	inner = push(f, LOOP);
	push(f, BAD);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, SHIM(inner));
	put_frame(f, SHIM(inner), 200, OWNER_SHIM, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_THREAD, SHIM(STACK + 8192));
	put_frame(f, SHIM(STACK + 8192), 201, OWNER_SHIM, PYFRAME(2));
	put_frame(f, PYFRAME(2), 2, OWNER_THREAD, 0);
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_NO_RULE);
	assert_true(f->walk.how & STACK_BY_RUNTIME);
	assert_frames(f, "N0LB12");
	/* It fails in the loop itself. */
	set_function(f, LOOP, UNWIND_UNSUPPORTED, 0);
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_NO_RULE);
	assert_frames(f, "N0L12");
	/* It fails before the loop, as in code that a JIT compiler made. */
	f = make(&of_314);
	push(f, NATIVE);
	push(f, BAD);
	begin_list(f, PYFRAME(0));
	put_frame(f, PYFRAME(0), 0, OWNER_THREAD, SHIM(f->sp));
	put_frame(f, SHIM(f->sp), 200, OWNER_SHIM, PYFRAME(1));
	put_frame(f, PYFRAME(1), 1, OWNER_THREAD, 0);
	walk(f);
	assert_int_equal(f->walk.end, STACK_END_NO_RULE);
	assert_true(f->walk.how & STACK_BY_RUNTIME);
	assert_frames(f, "N0B1");
}

static void a_thread_pointer_of_zero_is_none(void **state)
{
	struct fixture *f = make(&of_314);
	uint64_t without;

	push(f, NATIVE);
	push(f, LOOP);
	push(f, START);
	f->process.runtime.kind = RUNTIME_NONE;
	walk(f);
	without = f->world.reads;
	f->world.reads = 0;
	f->process.runtime.kind = RUNTIME_PYTHON;
	unwind_begin(&f->walk, 1, f->pc, STACK, 0);
	walk_all(&f->world, &f->walk, &f->process);
	assert_frames(f, "NLS");
	assert_int_equal(f->world.reads, without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_loop_has_one_function),
		cmocka_unit_test(a_loop_that_has_not_begun_leaves_the_outermost_without_a_function),
		cmocka_unit_test(a_loop_has_functions_up_to_its_entry),
		cmocka_unit_test(a_loop_without_its_cframe_has_no_functions),
		cmocka_unit_test(a_loop_has_functions_up_to_its_shim),
		cmocka_unit_test(the_shim_of_another_loop_is_undone),
		cmocka_unit_test(frames_of_the_interpreters_own_are_left_out),
		cmocka_unit_test(a_thread_without_a_state_has_native_frames_only),
		cmocka_unit_test(a_broken_link_ends_the_list),
		cmocka_unit_test(a_list_that_is_a_circle_ends),
		cmocka_unit_test(more_functions_than_fit_are_cut_at_the_outermost),
		cmocka_unit_test(what_is_left_is_known_if_the_native_walk_fails),
		cmocka_unit_test(a_thread_pointer_of_zero_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
