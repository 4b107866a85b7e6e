/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>

#include "signals/registry.h"
#include "signals/writeback/writeback.h"

static const struct signal *writeback(void)
{
	return registry__find("writeback", 9);
}

static struct writeback_record good_record(void)
{
	static const char names[] = "data\0tmp";
	struct writeback_record record = {
		.head = { .size = sizeof(record), .version = 1 },
		.object = { 42, 43 },
		.path = { .bytes = sizeof(names), .flags = PATH_CUT },
	};

	memcpy(record.path.names, names, sizeof(names));
	return record;
}

static void a_file_has_its_path_below_the_mount(void **state)
{
	struct writeback_record record = good_record();
	struct event event = {};

	assert_int_equal(writeback()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 42);
	assert_int_equal(event.object[1], 43);
	assert_string_equal(event.object_kind, "file");
	assert_string_equal(event.object_name, "…/tmp/data");
}

static void decode_refuses_short_wrong_and_unterminated_records(void **state)
{
	struct writeback_record record = good_record();

	refuses_wrong_heads(writeback(), &record, sizeof(record));
	record.head.kind = 1;
	refuses(writeback(), &record, sizeof(record));
	record = good_record();
	memset(record.path.names, 'x', sizeof(record.path.names));
	refuses(writeback(), &record, sizeof(record));
	record.path.bytes = UINT16_MAX;
	refuses(writeback(), &record, sizeof(record));
}

static void every_operation_has_a_name_and_it_is_off_unless_chosen(void **state)
{
	for (uint32_t i = 0; i < WRITEBACK_OPERATIONS; i++)
		assert_non_null(writeback()->operation(i));
	assert_null(writeback()->operation(WRITEBACK_OPERATIONS));
	assert_false(writeback()->is_default);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_its_path_below_the_mount),
		cmocka_unit_test(decode_refuses_short_wrong_and_unterminated_records),
		cmocka_unit_test(every_operation_has_a_name_and_it_is_off_unless_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
