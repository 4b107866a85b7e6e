/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>

#include "bpf/go_status.h"
#include "signals/goroutines/goroutines.h"
#include "signals/registry.h"

static const struct signal *goroutines(void)
{
	return registry__find("goroutines", 10);
}

static void a_status_is_a_state_whether_or_not_the_stack_is_scanned(void **state)
{
	static const struct {
		uint32_t status, state;
	} cases[] = {
		{ 0, FIBER_STATES }, /* idle */
		{ 1, FIBER_RUNNABLE },   { 2, FIBER_RUNNING }, { 3, FIBER_SYSCALL },
		{ 4, FIBER_WAITING },    { 6, FIBER_STATES }, /* dead */
		{ 8, FIBER_RUNNING },                         /* copystack */
		{ 9, FIBER_WAITING },                         /* preempted */
		{ 10, FIBER_WAITING },                        /* leaked */
		{ 0xfff, FIBER_STATES },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(go_state(cases[i].status), cases[i].state);
		assert_int_equal(go_state(cases[i].status | GO_STATUS_SCAN), cases[i].state);
	}
}

static void objects_have_process_and_number(void **state)
{
	const __u64 most = (1ULL << GOROUTINES_ID_BITS) - 1,
		    object = GOROUTINES_OBJECT(4194303, most);

	assert_int_equal(GOROUTINES_OBJECT_PID(object), 4194303);
	assert_int_equal(GOROUTINES_OBJECT_ID(object), most);
	assert_int_equal(GOROUTINES_OBJECT_ID(GOROUTINES_OBJECT(1, 42)), 42);
}

static void places_are_states(void **state)
{
	static const char *const names[] = { "", "runnable", "running", "syscall", "waiting", "" };
	char place[32];

	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		goroutines()->place(i, place, sizeof(place));
		assert_string_equal(place, names[i]);
	}
}

static void sums_of_unknown_processes_are_of_no_fiber(void **state)
{
	const struct series_key key = { .object = { GOROUTINES_OBJECT(77, 5), 0x4000 },
					.place = 1 };
	struct signal_fiber_of fiber = { .id = 99 };

	assert_false(goroutines()->fiber(&key, &fiber));
	assert_int_equal(fiber.id, 99);
	assert_null(goroutines()->operation(0));
	assert_null(goroutines()->operation(1));
	assert_null(goroutines()->operation(SERIES_OTHER));
}

static void no_record_is_decoded(void **state)
{
	char record[64] = {};
	struct event event = { .thread = 99 };

	assert_int_equal(goroutines()->decode(record, sizeof(record), &event), -EBADMSG);
	assert_int_equal(event.thread, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_a_state_whether_or_not_the_stack_is_scanned),
		cmocka_unit_test(objects_have_process_and_number),
		cmocka_unit_test(places_are_states),
		cmocka_unit_test(sums_of_unknown_processes_are_of_no_fiber),
		cmocka_unit_test(no_record_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
