/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of known code, 200 deep, in all the ways that make unwinding hard: they are whole, and
 * they are right.
 */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "stacks.h"

#define STEPS     200
#define LENGTH_MS "600"
/* On a machine that others use; the figure itself is printed. */
#define LEAST_PERCENT       (is_emulated() ? 50 : 95)
#define LEAST_WHEN_THROWING (is_emulated() ? 40 : 80)

static struct stacks_recording c_code, cxx_code, rust_code;

/* A workload that is there only if there was a compiler for its language. */
static struct stacks_recording record_if_built(const char *const *options, const char *name)
{
	if (access(workload__path(name), X_OK))
		return (struct stacks_recording) {};
	/* An emulated machine needs seconds for the tables of their libraries. */
	return stacks__record(options, WORKLOAD(name, is_emulated() ? "3000" : LENGTH_MS));
}

static int record_all(void **state)
{
	const char *const *options = ARGS("-F", is_emulated() ? "49" : "499");

	c_code = stacks__record(options, WORKLOAD("deep", LENGTH_MS));
	cxx_code = record_if_built(options, "deep_cxx");
	rust_code = record_if_built(options, "deep_rust");
	return 0;
}

static int release_all(void **state)
{
	stacks__release(&c_code);
	if (cxx_code.db)
		stacks__release(&cxx_code);
	if (rust_code.db)
		stacks__release(&rust_code);
	return 0;
}

/* step_a, step_b, step_c, step_a, … from the outermost in; how many, or -1 out of order. */
static int count_steps(const char *line)
{
	int count = 0;

	for (const char *at = strstr(line, "step_"); at; at = strstr(at + 1, "step_")) {
		if (at[5] != 'a' + count % 3)
			return -1;
		count++;
	}
	return count;
}

/* All 200 steps in their order, then what the variant goes through, then the bottom. */
static bool is_right(const char *line)
{
	const char *through = strstr(line, "through");
	const char *bottom = strstr(line, "bottom_");
	const char *last = line;

	for (const char *at = strstr(line, "step_"); at; at = strstr(at + 1, "step_"))
		last = at;
	return count_steps(line) == STEPS && bottom && last < bottom &&
	       (!through || (last < through && through < bottom));
}

/*
 * While a thread goes down or up, and before and after, it is not at the bottom: that is short. A
 * stack that is at the bottom and still not as it was is a lie, which is worse than a stack that is
 * cut; there may be none.
 */
static void assert_right(const struct stacks_recording *recording, const char *comm)
{
	int64_t right = 0, whole = 0;

	for (size_t i = 0; i < recording->count; i++) {
		const struct sample_row *sample = &recording->samples[i];

		if (!sample__is_of(sample, comm, NULL) || !sample__is_whole(sample))
			continue;
		whole++;
		right += is_right(sample->line);
		if (strstr(sample->line, "bottom_") && !is_right(sample->line))
			fail_msg("%s: a stack that never was: %s", comm, sample->line);
	}
	print_message("# %s: %" PRId64 " of %" PRId64 " whole stacks have each step in its place\n",
		      comm, right, whole);
	if (right * 100 < whole * LEAST_PERCENT)
		fail_msg("%s: %" PRId64 " of %" PRId64 " stacks are at the bottom", comm, right,
			 whole);
}

static void skip_if_not_built(const struct stacks_recording *recording)
{
	if (recording->db)
		return;
	print_message("# skip: built without a compiler for its language\n");
	skip();
}

static void check_places(const struct stacks_recording *recording, const char *comm)
{
	assert_right(recording, comm);
	assert_true(stacks__weight(recording, comm, "run", NULL) > 0);
}

static void check_variant(const struct stacks_recording *recording, const char *comm)
{
	assert_whole(recording, comm, 20, LEAST_PERCENT);
	check_places(recording, comm);
}

/*
 * To land an exception, libgcc writes the registers of the frame that catches it over those that
 * its own frame has saved (uw_install_context). Until it jumps, there is no way to walk over that
 * frame.
 */
static void check_throwing(const struct stacks_recording *recording, const char *comm)
{
	assert_whole(recording, comm, 20, LEAST_WHEN_THROWING);
	check_places(recording, comm);
}

static void plain_code(void **state)
{
	check_variant(&c_code, "plain");
	assert_true(stacks__weight(&c_code, "plain", "wait", "bottom_nap") > 0);
}

static void room_that_is_known_only_at_run_time(void **state)
{
	check_variant(&c_code, "alloca");
}

static void leaf_functions_that_move_no_stack_pointer(void **state)
{
	check_variant(&c_code, "leaf");
}

static void prologues_and_epilogues(void **state)
{
	check_variant(&c_code, "hot");
}

static void realigned_stacks(void **state)
{
	check_variant(&c_code, "realign");
}

static void frames_that_are_expressions(void **state)
{
	check_variant(&c_code, "argument");
}

static void frames_of_more_than_a_megabyte(void **state)
{
	check_variant(&c_code, "big");
}

static void a_thousand_frames(void **state)
{
	check_variant(&c_code, "limit");
}

static void more_frames_than_are_kept(void **state)
{
	int64_t cut = 0, all = 0;

	for (size_t i = 0; i < c_code.count; i++) {
		const struct sample_row *sample = &c_code.samples[i];

		if (!sample__is_of(sample, "beyond", NULL) ||
		    !strstr(sample->line, ";further;further;"))
			continue;
		all++;
		/* The innermost frames are the ones that are kept. */
		cut += !strcmp(sample->end, "too deep") && strstr(sample->line, ";bottom_");
	}
	print_message("# beyond: %" PRId64 " of %" PRId64 " stacks say that they were too deep\n",
		      cut, all);
	assert_true(all >= 20 && cut * 100 >= all * LEAST_PERCENT);
}

static void code_of_the_kernel_in_user_space(void **state)
{
	check_variant(&c_code, "vdso");
}

static void libraries_that_are_loaded_later(void **state)
{
	check_variant(&c_code, "library");
}

static void libraries_that_come_and_go(void **state)
{
	check_variant(&c_code, "reopened");
}

static void calls_through_the_plt(void **state)
{
	check_variant(&c_code, "plt");
}

static void handlers_on_the_same_stack(void **state)
{
	check_variant(&c_code, "signal");
}

static void handlers_on_a_stack_below(void **state)
{
	check_variant(&c_code, "alt-below");
}

static void handlers_on_a_stack_above(void **state)
{
	check_variant(&c_code, "alt-above");
}

static void handlers_that_interrupt_any_instruction(void **state)
{
	check_variant(&c_code, "async");
}

static void the_calls_that_end_handlers(void **state)
{
	assert_whole(&c_code, "sigreturn", 20, is_emulated() ? 80 : 97);
	check_places(&c_code, "sigreturn");
}

static void code_that_nothing_describes_is_no_beginning(void **state)
{
	int64_t bare = 0, whole = 0;

	for (size_t i = 0; i < c_code.count; i++) {
		const struct sample_row *sample = &c_code.samples[i];

		if (!sample__is_of(sample, "bare", NULL) || !strstr(sample->line, "bottom_"))
			continue;
		bare++;
		whole += sample__is_whole(sample) && !is_right(sample->line);
	}
	print_message("# bare: %" PRId64 " of %" PRId64 " stacks are cut and said to be whole\n",
		      whole, bare);
	assert_true(bare >= 20);
	assert_int_equal(whole, 0);
}

static void virtual_calls(void **state)
{
	skip_if_not_built(&cxx_code);
	check_variant(&cxx_code, "cxx");
}

static void exceptions_on_their_way(void **state)
{
	skip_if_not_built(&cxx_code);
	check_throwing(&cxx_code, "cxx-throw");
}

static void trait_objects(void **state)
{
	skip_if_not_built(&rust_code);
	check_variant(&rust_code, "rust");
}

static void panics_on_their_way(void **state)
{
	skip_if_not_built(&rust_code);
	check_throwing(&rust_code, "rust-panic");
}

static void an_inlined_function_stands_inside_its_caller(void **state)
{
	int64_t inside_ns = stacks__weight(&c_code, NULL, "run", "bottom_burn;burn_inlined");
	int64_t all_ns = stacks__weight(&c_code, NULL, "run", "bottom_burn");

	print_message("# inlined: %" PRId64 " of %" PRId64 " ms\n", inside_ns / 1000000,
		      all_ns / 1000000);
	assert_true(inside_ns * 10 > all_ns * 9);
}

/* That the figures above are of stacks that were walked, not of stacks that never were deep. */
static void the_kernel_stack_stands_above_the_user_stack(void **state)
{
	int64_t naps = 0, with_kernel = 0;

	for (size_t i = 0; i < c_code.count; i++) {
		const struct sample_row *sample = &c_code.samples[i];

		if (!sample__is_of(sample, "plain", "wait"))
			continue;
		naps++;
		with_kernel += strstr(sample->kernel, "nanosleep") != NULL;
	}
	assert_true(naps > 0);
	assert_int_equal(with_kernel, naps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_code),
		cmocka_unit_test(room_that_is_known_only_at_run_time),
		cmocka_unit_test(leaf_functions_that_move_no_stack_pointer),
		cmocka_unit_test(prologues_and_epilogues),
		cmocka_unit_test(realigned_stacks),
		cmocka_unit_test(frames_that_are_expressions),
		cmocka_unit_test(frames_of_more_than_a_megabyte),
		cmocka_unit_test(a_thousand_frames),
		cmocka_unit_test(more_frames_than_are_kept),
		cmocka_unit_test(code_of_the_kernel_in_user_space),
		cmocka_unit_test(libraries_that_are_loaded_later),
		cmocka_unit_test(libraries_that_come_and_go),
		cmocka_unit_test(calls_through_the_plt),
		cmocka_unit_test(handlers_on_the_same_stack),
		cmocka_unit_test(handlers_on_a_stack_below),
		cmocka_unit_test(handlers_on_a_stack_above),
		cmocka_unit_test(handlers_that_interrupt_any_instruction),
		cmocka_unit_test(the_calls_that_end_handlers),
		cmocka_unit_test(code_that_nothing_describes_is_no_beginning),
		cmocka_unit_test(virtual_calls),
		cmocka_unit_test(exceptions_on_their_way),
		cmocka_unit_test(trait_objects),
		cmocka_unit_test(panics_on_their_way),
		cmocka_unit_test(an_inlined_function_stands_inside_its_caller),
		cmocka_unit_test(the_kernel_stack_stands_above_the_user_stack),
	};

	return cmocka_run_group_tests(tests, record_all, release_all);
}
