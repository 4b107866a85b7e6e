/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include <unistd.h>

#include "core/target.h"
#include "vocabulary/calls.h"
#include "vocabulary/counters.h"
#include "vocabulary/states.h"

static void no_two_slots_have_the_same_words(void **state)
{
	for (int a = SLOT_FIRST; a < SLOT_COUNT; a++) {
		const struct state_words *words = states__words(a);

		assert_non_null(words->state);
		assert_non_null(words->cause);
		assert_int_equal(SLOT_IS_WAIT(a), states__key(a) != NULL);
		for (int b = a + 1; b < SLOT_COUNT; b++) {
			const struct state_words *other = states__words(b);

			assert_false(!strcmp(words->state, other->state) &&
				     !strcmp(words->cause, other->cause) &&
				     words->kind == other->kind);
		}
	}
}

static void a_slot_is_run_ready_or_wait_but_never_two(void **state)
{
	for (int slot = SLOT_NONE; slot < SLOT_COUNT; slot++)
		assert_int_equal(SLOT_IS_RUN(slot) + SLOT_IS_READY(slot) + SLOT_IS_WAIT(slot),
				 slot != SLOT_NONE && slot != SLOT_UNSEEN);
}

static int number_of(const char *name)
{
	for (int i = 0; i < CALL_NUMBERS; i++)
		if (!strcmp(calls__name((uint32_t)i), name))
			return i;
	fail_msg("no syscall '%s'", name);
	return -1;
}

static void syscalls_are_classed_by_name(void **state)
{
	uint8_t classes[CALL_NUMBERS];

	calls__classes(classes);
	assert_int_equal(classes[number_of("futex")], CLASS_FUTEX);
	assert_int_equal(classes[number_of("write")], CLASS_FD);
	assert_int_equal(classes[number_of("epoll_pwait")], CLASS_POLL);
	assert_int_equal(classes[number_of("read")], CLASS_FD);
	assert_int_equal(classes[number_of("accept4")], CLASS_ACCEPT);
	assert_int_equal(classes[number_of("getppid")], CLASS_OTHER);
	assert_string_equal(calls__name((uint32_t)calls__number("exit")), "exit");
	assert_string_equal(calls__name((uint32_t)511), "(32-bit call)");
}

static void a_call_by_choice_is_one_whatever_asks(void **state)
{
	struct call_shape shapes[CALL_NUMBERS];

	calls__shapes(shapes);
	assert_true(calls__is_by_choice("epoll_wait"));
	assert_true(calls__is_by_choice("futex"));
	assert_false(calls__is_by_choice("fsync"));
	assert_false(calls__is_by_choice("no_such_call"));
	for (int i = 0; i < CALL_32BIT; i++)
		assert_int_equal(shapes[i].idle, calls__is_by_choice(calls__name((uint32_t)i)));
}

static void losses_go_by_their_names_and_those_of_signals_by_their_ends(void **state)
{
	assert_true(counters__is_loss("lost_ring_full"));
	assert_true(counters__is_loss("recursion_misses"));
	assert_true(counters__is_loss("tcp_recursion_misses"));
	assert_true(counters__is_loss("syscalls_missing"));
	assert_false(counters__is_loss("missing"));
	assert_false(counters__is_loss("repaired_wakeups"));
	assert_false(counters__is_loss("samples_lost_ns"));
	assert_false(counters__is_loss("of_a_newer_gapless"));
}

static void a_state_of_a_newer_recording_looks_like_its_kind(void **state)
{
	assert_int_equal(states__find("wait", "gpu", KIND_DELAYING), SLOT_NONE);
	assert_int_equal(states__look("wait", "gpu", KIND_DELAYING), SLOT_WAIT_OTHER);
	assert_int_equal(states__look("wait", "gpu", KIND_IDLE), SLOT_WAIT_KTHREAD);
	assert_int_equal(kinds__of("wait", "of a newer gapless"), KIND_DELAYING);
	assert_int_equal(kinds__of("asleep", NULL), KIND_UNSEEN);
	/* Told to be held up, poll keeps its phrase but not its colour. */
	assert_int_equal(states__find("wait", "poll", KIND_DELAYING), SLOT_WAIT_POLL);
	assert_int_equal(states__look("wait", "poll", KIND_DELAYING), SLOT_WAIT_OTHER);
}

static void targets_that_are_not_there_are_refused(void **state)
{
	struct target target = {};

	assert_true(target__is_empty(&target));
	assert_int_equal(target__add_pid(&target, INT32_MAX), -ESRCH);
	assert_int_equal(target__add_tid(&target, INT32_MAX), -ESRCH);
	assert_int_equal(target__add_cgroup(&target, "no/such/group"), -ENOENT);
	assert_int_equal(target__add_name(&target, "a-name-of-16-byt"), -ENAMETOOLONG);
	assert_int_equal(target__add_name(&target, ""), -EINVAL);
	assert_true(target__is_empty(&target));
	assert_string_equal(target.words, "");
}

static void targets_add_up_in_words(void **state)
{
	struct target target = {};
	char expected[128];

	assert_int_equal(target__add_pid(&target, (uint64_t)getpid()), 0);
	assert_int_equal(target__add_name(&target, "nginx"), 0);
	snprintf(expected, sizeof(expected),
		 "process %d and its children, commands named 'nginx' and their children",
		 getpid());
	assert_string_equal(target.words, expected);
	assert_false(target__is_empty(&target));
	for (int i = 1; i < TARGET_MOST_NAMES; i++)
		assert_int_equal(target__add_name(&target, "x"), 0);
	assert_int_equal(target__add_name(&target, "x"), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_slots_have_the_same_words),
		cmocka_unit_test(a_slot_is_run_ready_or_wait_but_never_two),
		cmocka_unit_test(syscalls_are_classed_by_name),
		cmocka_unit_test(a_call_by_choice_is_one_whatever_asks),
		cmocka_unit_test(losses_go_by_their_names_and_those_of_signals_by_their_ends),
		cmocka_unit_test(a_state_of_a_newer_recording_looks_like_its_kind),
		cmocka_unit_test(targets_that_are_not_there_are_refused),
		cmocka_unit_test(targets_add_up_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
