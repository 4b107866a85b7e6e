/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>

#include "signals/registry.h"
#include "signals/work/work.h"

static const struct signal *work(void)
{
	return registry__find("work", 4);
}

static struct work_record good_record(void)
{
	return (struct work_record) {
		.head = { .size = sizeof(struct work_record), .version = 1, .time_ns = 7 },
		.thread = 11,
		.function = 0xffffffff81000000,
		.time_ns = 300,
		.delay_ns = 4000,
		.operation = WORK_DONE,
		.tid = 77,
		.comm = "kworker/0:2",
	};
}

static void decode_gives_every_column(void **state)
{
	struct work_record record = good_record();
	struct event event = {};

	assert_int_equal(work()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 4300);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.object[0], 0xffffffff81000000);
	assert_int_equal(event.values[0].number, 300);
	assert_int_equal(event.values[1].number, 4000);
	assert_false(event.values[1].none);
	assert_int_equal(event.values[2].number, 77);
	assert_string_equal(event.values[3].text, "kworker/0:2");
	assert_null(work()->columns[4].name);
}

static void an_item_whose_queueing_was_not_seen_has_no_delay(void **state)
{
	struct work_record record = good_record();
	struct event event = {};

	record.operation = WORK_QUEUED_UNSEEN;
	record.delay_ns = 0;
	assert_int_equal(work()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 300);
	assert_true(event.values[1].none);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct work_record record = good_record();

	refuses_wrong_heads(work(), &record, sizeof(record));
	record.operation = WORK_OPERATIONS;
	refuses(work(), &record, sizeof(record));
	record = good_record();
	memset(record.comm, 'x', sizeof(record.comm));
	refuses(work(), &record, sizeof(record));
}

static void a_function_without_a_name_keeps_its_address(void **state)
{
	char text[64];

	/* User space has no names of the kernel. */
	work()->object((__u64[]) { 0x1234, 0 }, text, sizeof(text));
	assert_string_equal(text, "0x1234");
	assert_string_equal(work()->operation(WORK_DONE), "work");
	assert_null(work()->operation(WORK_OPERATIONS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(an_item_whose_queueing_was_not_seen_has_no_delay),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(a_function_without_a_name_keeps_its_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
