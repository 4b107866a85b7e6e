#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include <unistd.h>

#include "core/target.h"
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
		if (!strcmp(states__syscall_name(i), name))
			return i;
	fail_msg("no syscall '%s'", name);
	return -1;
}

static void syscalls_are_classed_by_name(void **state)
{
	uint8_t classes[CALL_NUMBERS];

	states__classes(classes);
	assert_int_equal(classes[number_of("futex")], CLASS_FUTEX);
	assert_int_equal(classes[number_of("write")], CLASS_FD);
	assert_int_equal(classes[number_of("epoll_pwait")], CLASS_POLL);
	assert_int_equal(classes[number_of("read")], CLASS_FD);
	assert_int_equal(classes[number_of("accept4")], CLASS_ACCEPT);
	assert_int_equal(classes[number_of("getppid")], CLASS_OTHER);
	assert_string_equal(states__syscall_name(states__number("exit")), "exit");
	assert_string_equal(states__syscall_name(511), "(32-bit call)");
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
		cmocka_unit_test(targets_that_are_not_there_are_refused),
		cmocka_unit_test(targets_add_up_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
