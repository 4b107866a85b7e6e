/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/devices.h"
#include "signals/block/block.h"
#include "signals/registry.h"

static const struct signal *block_of_the_list(void)
{
	return registry__find("block", 5);
}

static struct block_record good_record(void)
{
	return (struct block_record) {
		.head = { .size = sizeof(struct block_record), .version = 1, .time_ns = 7 },
		.thread = 11,
		.queue_ns = 300,
		.service_ns = 4000,
		.sector = 2048,
		.device = 254 << 20 | 3,
		.bytes = 65536,
		.depth = 4,
		.requeues = 2,
		.error = EIO,
		.operation = BLOCK_WRITE,
		.sequential = 1,
	};
}

static void decode_gives_every_column(void **state)
{
	static const uint64_t values[] = { 300, 4000, 65536, 4, 2048, 1, 2 };
	struct block_record record = good_record();
	struct event event = {};

	assert_int_equal(block_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 4300);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.place, 254 << 20 | 3);
	assert_int_equal(event.operation, BLOCK_WRITE);
	assert_int_equal(event.error, EIO);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		assert_non_null(block_of_the_list()->columns[i].name);
		assert_int_equal(event.values[i].number, values[i]);
	}
	assert_null(block_of_the_list()->columns[sizeof(values) / sizeof(*values)].name);
}

static void requests_have_a_class_of_size(void **state)
{
	static const char *const names[BLOCK_CLASSES] = {
		"up to 4 KiB", "up to 64 KiB", "up to 256 KiB", "up to 1 MiB", "more than 1 MiB",
	};
	char name[32];

	for (uint64_t i = 0; i <= BLOCK_CLASSES; i++) {
		block_of_the_list()->object((__u64[2]) { i, BLOCK_CLASS_OBJECT }, name,
					    sizeof(name));
		assert_string_equal(name, i < BLOCK_CLASSES ? names[i] : "");
	}
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct block_record record = good_record();

	refuses_wrong_heads(block_of_the_list(), &record, sizeof(record));
	record.operation = BLOCK_OPERATIONS;
	refuses(block_of_the_list(), &record, sizeof(record));
}

static void operations_have_the_words_that_users_know(void **state)
{
	static const char *const words[] = { "read",  "write",        "flush",        "discard",
					     "other", "limited read", "limited write" };

	for (uint32_t i = 0; i < BLOCK_OPERATIONS; i++)
		assert_string_equal(block_of_the_list()->operation(i), words[i]);
	assert_null(block_of_the_list()->operation(BLOCK_OPERATIONS));
}

static void a_device_that_is_gone_keeps_its_numbers(void **state)
{
	char name[32];

	block_of_the_list()->place(UINT32_C(4000) << 20 | 77, name, sizeof(name));
	assert_string_equal(name, "4000:77");
	assert_int_equal(devices__disk(UINT32_C(4000) << 20 | 77, name, sizeof(name)), -ENOENT);
	assert_int_equal(devices__under_file(UINT32_C(4000) << 20 | 77, 1, name, sizeof(name)),
			 -ENOENT);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(requests_have_a_class_of_size),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(operations_have_the_words_that_users_know),
		cmocka_unit_test(a_device_that_is_gone_keeps_its_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
