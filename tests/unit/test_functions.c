/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "signals/functions/functions.h"
#include "signals/registry.h"

static const struct signal *functions_of_the_list(void)
{
	return registry__find("functions", strlen("functions"));
}

static struct functions_record a_call(void)
{
	return (struct functions_record) {
		.head = { .size = sizeof(struct functions_record),
			  .kind = FUNCTIONS_CALL,
			  .version = 1 },
		.thread = 9,
		.object = { 5, 6 },
		.duration_ns = 1234,
		.returned = -2,
		.place = 3,
		.operation = FUNCTIONS_NEGATIVE,
	};
}

static struct functions_caller a_caller(void)
{
	return (struct functions_caller) {
		.head = { .size = sizeof(struct functions_caller),
			  .kind = FUNCTIONS_CALLER,
			  .version = 1 },
		.object = { 5, 6 },
		.offset = 0x1139,
		.pid = 42,
		.path = { .bytes = 9, .names = "prog\0bin" },
	};
}

static struct event decoded(const void *record, size_t size)
{
	struct event event = {};

	assert_int_equal(functions_of_the_list()->decode(record, size, &event), 0);
	return event;
}

static void a_slow_call_has_duration_result_and_caller(void **state)
{
	const struct functions_record record = a_call();
	const struct event event = decoded(&record, sizeof(record));

	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.thread, 9);
	assert_int_equal(event.duration_ns, 1234);
	assert_int_equal(event.object[0], 5);
	assert_int_equal(event.place, 3);
	assert_string_equal(functions_of_the_list()->operation(event.operation), "returned <0");
	assert_int_equal((int64_t)event.values[0].number, -2);
	assert_true(event.values[1].none);
}

static void a_hit_of_a_declared_probe_has_its_arguments(void **state)
{
	struct functions_record record = a_call();
	struct event *event = calloc(1, sizeof(*event));

	record.operation = FUNCTIONS_PROBE;
	record.argument_count = 3;
	record.unread = 2;
	record.arguments[0] = -7;
	record.arguments[2] = 1;
	assert_int_equal(functions_of_the_list()->decode(&record, sizeof(record), event), 0);
	assert_string_equal(event->values[1].text, "-7, ?, 1");
	assert_true(event->values[0].none);
	free(event);
}

static void a_caller_is_named_by_its_file_and_offset(void **state)
{
	struct functions_caller record = a_caller();
	struct event *event = calloc(1, sizeof(*event));

	assert_int_equal(functions_of_the_list()->decode(&record, sizeof(record), event), 0);
	assert_int_equal(event->kind, EVENT_NAMES);
	assert_string_equal(event->object_name, "prog+0x1139");
	assert_string_equal(event->values[0].text, "/bin/prog");
	assert_int_equal(event->values[0].number, 0x1139);
	assert_int_equal(event->values[1].number, 42);
	free(event);
}

static void the_first_argument_is_an_object(void **state)
{
	const struct functions_key record = {
		.head = { .size = sizeof(record), .kind = FUNCTIONS_KEY, .version = 1 },
		.object = { 2, 1ULL << 63 | 1 },
		.value = 2
	};
	struct event *event = calloc(1, sizeof(*event));

	assert_int_equal(functions_of_the_list()->decode(&record, sizeof(record), event), 0);
	assert_string_equal(event->object_name, "arg1 = 2");
	assert_string_equal(event->object_kind, "argument");
	free(event);
}

static void assert_refused(const void *record, size_t size)
{
	struct event event = { .thread = 77, .place = 88 };

	assert_int_equal(functions_of_the_list()->decode(record, size, &event), -EBADMSG);
	assert_int_equal(event.thread, 77);
	assert_int_equal(event.place, 88);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct functions_record call = a_call();
	struct functions_caller caller = a_caller();

	assert_refused(&call, 0);
	assert_refused(&call, sizeof(call) - 1);
	call.head.size--;
	assert_refused(&call, sizeof(call));
	call = a_call();
	call.head.version = 2;
	assert_refused(&call, sizeof(call));
	call = a_call();
	call.head.kind = 9;
	assert_refused(&call, sizeof(call));
	call = a_call();
	call.operation = FUNCTIONS_OPERATIONS;
	assert_refused(&call, sizeof(call));
	call = a_call();
	call.argument_count = FUNCTIONS_ARGUMENTS + 1;
	assert_refused(&call, sizeof(call));
	assert_refused(&caller, sizeof(caller) - 1);
	caller.path.bytes = sizeof(caller.path.names) + 1;
	assert_refused(&caller, sizeof(caller));
	caller = a_caller();
	caller.path.bytes = 8; /* without its 0 */
	assert_refused(&caller, sizeof(caller));
}

static void every_operation_has_a_word(void **state)
{
	for (uint32_t i = 0; i < FUNCTIONS_OPERATIONS; i++)
		assert_non_null(functions_of_the_list()->operation(i));
	assert_null(functions_of_the_list()->operation(FUNCTIONS_OPERATIONS));
}

static void it_is_on_only_if_it_is_chosen(void **state)
{
	const struct signal *chosen[SIGNALS_MOST];
	const char *bad;

	assert_int_equal(registry__choose("all", chosen, &bad), 0);
	for (size_t i = 0; chosen[i]; i++)
		assert_ptr_not_equal(chosen[i], functions_of_the_list());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_call_has_duration_result_and_caller),
		cmocka_unit_test(a_hit_of_a_declared_probe_has_its_arguments),
		cmocka_unit_test(a_caller_is_named_by_its_file_and_offset),
		cmocka_unit_test(the_first_argument_is_an_object),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_operation_has_a_word),
		cmocka_unit_test(it_is_on_only_if_it_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
