/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "signals/registry.h"
#include "signals/uring/uring.h"

static const struct signal *uring_of_the_list(void)
{
	return registry__find("uring", 5);
}

static struct uring_slow_record good_slow(void)
{
	return (struct uring_slow_record) {
		.head = { .size = sizeof(struct uring_slow_record),
			  .version = 1,
			  .kind = URING_SLOW,
			  .time_ns = 7 },
		.thread = 11,
		.object = { 42, 43 },
		.duration_ns = 5000,
		.bytes = 4096,
		.in_flight = 3,
		.place = 254 << 20 | 3,
		.operation = 22,
		.error = EIO,
		.is_async = 1,
		.is_part = 1,
	};
}

static struct uring_name_record good_name(uint32_t mode)
{
	struct uring_name_record record = {
		.head = { .size = sizeof(record), .version = 1, .kind = URING_NAME },
		.object = { 42, 43 },
		.mode = mode,
	};

	return record;
}

static void set_path(struct uring_name_record *record)
{
	static const char names[] = "data\0tmp";

	memcpy(record->path.names, names, sizeof(names));
	record->path.bytes = sizeof(names);
}

static void decode_gives_every_column(void **state)
{
	static const uint64_t values[] = { 4096, 3, 1, 1 };
	struct uring_slow_record record = good_slow();
	struct event event = {};

	assert_int_equal(uring_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.object[1], 43);
	assert_int_equal(event.place, 254 << 20 | 3);
	assert_string_equal(uring_of_the_list()->operation(event.operation), "read");
	assert_int_equal(event.error, EIO);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		assert_int_equal(event.values[i].number, values[i]);
	assert_null(uring_of_the_list()->columns[sizeof(values) / sizeof(*values)].name);
}

static void decode_refuses_short_and_wrong_records_and_leaves_the_output_alone(void **state)
{
	struct uring_slow_record slow = good_slow();
	struct uring_name_record name = good_name(S_IFREG);

	refuses_wrong_heads(uring_of_the_list(), &slow, sizeof(slow));
	slow.operation = URING_OPERATIONS;
	refuses(uring_of_the_list(), &slow, sizeof(slow));
	slow = good_slow();
	slow.head.kind = 9;
	refuses(uring_of_the_list(), &slow, sizeof(slow));
	set_path(&name);
	refuses_wrong_heads(uring_of_the_list(), &name, sizeof(name));
	memset(name.path.names, 'x', sizeof(name.path.names)); /* not terminated */
	name.path.bytes = sizeof(name.path.names);
	refuses(uring_of_the_list(), &name, sizeof(name));
	name.path.bytes = UINT16_MAX;
	refuses(uring_of_the_list(), &name, sizeof(name));
}

static void is_named(const struct uring_name_record *record, const char *kind, const char *name)
{
	struct event event = {};

	assert_int_equal(uring_of_the_list()->decode(record, sizeof(*record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 42);
	assert_string_equal(event.object_kind, kind);
	assert_string_equal(event.object_name, name);
}

static void files_sockets_and_pipes_have_names(void **state)
{
	struct uring_name_record record = good_name(S_IFREG);

	set_path(&record);
	is_named(&record, "file", "/tmp/data");
	record.path.flags = PATH_DELETED;
	is_named(&record, "file", "/tmp/data (deleted)");
	record = good_name(S_IFIFO);
	is_named(&record, "pipe", "pipe 42");
	record = good_name(S_IFSOCK);
	record.ends.family = AF_INET;
	record.ends.local_port = 40000;
	record.ends.peer_port = 80;
	memcpy(record.ends.local, (uint8_t[]) { 127, 0, 0, 1 }, 4);
	memcpy(record.ends.peer, (uint8_t[]) { 10, 0, 0, 2 }, 4);
	is_named(&record, "socket", "127.0.0.1:40000 ↔ 10.0.0.2:80");
	record.ends.family = AF_UNIX;
	is_named(&record, "socket", "UNIX socket 42");
	record.ends.family = 4711;
	is_named(&record, "socket", "other socket 42");
}

static void operations_have_the_kernels_names(void **state)
{
	const struct signal *uring = uring_of_the_list();

	assert_string_equal(uring->operation(0), "nop");
	assert_string_equal(uring->operation(6), "poll_add");
	assert_string_equal(uring->operation(23), "write");
	assert_string_equal(uring->operation(49), "read_multishot");
	assert_string_equal(uring->operation(62), "pipe");
	assert_string_equal(uring->operation(100), "other");
	assert_string_equal(uring->operation(URING_WORKER), "worker");
	assert_string_equal(uring->operation(URING_POLLER), "poller");
	assert_null(uring->operation(URING_OPERATIONS));
}

static void it_is_off_unless_chosen(void **state)
{
	assert_false(uring_of_the_list()->is_default);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(
			decode_refuses_short_and_wrong_records_and_leaves_the_output_alone),
		cmocka_unit_test(files_sockets_and_pipes_have_names),
		cmocka_unit_test(operations_have_the_kernels_names),
		cmocka_unit_test(it_is_off_unless_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
