/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>

#include "signals/locks/locks.h"
#include "signals/registry.h"
#include "vocabulary/slots.h"

static const struct signal *locks_of_the_list(void)
{
	return registry__find("locks", 5);
}

static struct locks_record a_wait(void)
{
	return (struct locks_record) {
		.head = { .size = sizeof(struct locks_record), .version = 1, .time_ns = 7 },
		.thread = 9,
		.object = { 0x1000, 42 },
		.wait_ns = 5000,
		.turn_ns = 1000,
		.place = 3,
		.waiters = 4,
		.operation = LOCKS_MUTEX,
		.is_handed = 1,
	};
}

static void a_record_becomes_an_event(void **state)
{
	const struct signal *signal = locks_of_the_list();
	struct locks_record record = a_wait();
	struct event event = {};
	char place[32];

	assert_int_equal(signal->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.thread, 9);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.object[0], 0x1000);
	assert_int_equal(event.object[1], 42);
	assert_int_equal(event.values[0].number, 4);
	assert_int_equal(event.values[1].number, 1000);
	assert_int_equal(event.values[2].number, 1);
	assert_string_equal(signal->operation(event.operation), "mutex");
	signal->place(event.place, place, sizeof(place));
	assert_string_equal(place, "lock 3");
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct locks_record record = a_wait();

	refuses_wrong_heads(locks_of_the_list(), &record, sizeof(record));
	record.operation = LOCKS_OPERATIONS;
	refuses(locks_of_the_list(), &record, sizeof(record));
	record = a_wait();
	record.place = LOCKS_NUMBERED + 1;
	refuses(locks_of_the_list(), &record, sizeof(record));
}

static void every_operation_has_a_word_and_an_object_of_the_ledger(void **state)
{
	const struct signal *signal = locks_of_the_list();

	for (uint32_t i = 0; i < LOCKS_OPERATIONS; i++) {
		assert_non_null(signal->operation(i));
		assert_true(strlen(signal->operation(i)) > 0);
		assert_true(signal->ledger_object(i) < OBJECT_KINDS);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(signal->operation(i), signal->operation(j));
	}
	assert_null(signal->operation(LOCKS_OPERATIONS));
	assert_int_equal(signal->ledger_object(LOCKS_OPERATIONS), OBJECT_NONE);
	assert_int_equal(signal->ledger_object(LOCKS_PI), OBJECT_FUTEX);
	assert_int_equal(signal->ledger_object(LOCKS_OFD), OBJECT_FILE);
	assert_int_equal(signal->ledger_object(LOCKS_READ), OBJECT_KERNEL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_becomes_an_event),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_operation_has_a_word_and_an_object_of_the_ledger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
