/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "bpf/slow_call.h"
#include "signals/registry.h"
#include "vocabulary/calls.h"
#include "vocabulary/states.h"

#define HERE ((__u64) - 100) /* AT_FDCWD */

static const struct signal *syscalls(void)
{
	return registry__find("syscalls", 8);
}

static struct slow_call_record record_of(const char *name)
{
	return (struct slow_call_record) {
		.head = { .size = sizeof(struct slow_call_record), .version = 1, .time_ns = 7 },
		.thread = 3,
		.duration_ns = 20000000,
		.running_ns = 1000,
		.number = (__u32)calls__number(name),
		.has_args = 1,
	};
}

/* The parts of a path, as the kernel half has them: the last one first. */
static void set_name(struct slow_call_record *record, const char *parts, size_t size)
{
	memcpy(record->name.names, parts, size);
	record->name.bytes = (__u16)size;
	record->name.flags = 0;
}

#define PARTS(record, text) set_name(record, text, sizeof(text))

static struct event decoded(const struct slow_call_record *record)
{
	struct event event = {};

	assert_int_equal(syscalls()->decode(record, sizeof(*record), &event), 0);
	return event;
}

static void assert_args(const struct slow_call_record *record, const char *args)
{
	struct event *event = calloc(1, sizeof(*event));

	assert_int_equal(syscalls()->decode(record, sizeof(*record), event), 0);
	assert_string_equal(event->values[1].text, args);
	free(event);
}

static void decode_gives_every_field(void **state)
{
	struct slow_call_record record = record_of("fsync");
	struct event event;

	record.error = EIO;
	record.args[0] = 5;
	record.target = CALL_TARGET_FILE;
	record.object[0] = 77;
	record.object[1] = 8;
	PARTS(&record, "wal\0data");
	event = decoded(&record);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.thread, 3);
	assert_int_equal(event.duration_ns, 20000000);
	assert_int_equal(event.values[0].number, 1000);
	assert_int_equal(event.error, EIO);
	assert_int_equal(event.object[0], 77);
	assert_int_equal(event.object[1], 8);
	assert_string_equal(event.object_kind, "file");
	assert_string_equal(syscalls()->operation(event.operation), "fsync");
	assert_args(&record, "fsync(5 → /data/wal)");
}

static void paths_are_quoted_and_the_current_folder_is_left_out(void **state)
{
	struct slow_call_record record = record_of("openat");

	record.args[0] = HERE;
	record.args[2] = 0x80000;
	record.result = 3;
	record.paths_read = 1;
	strcpy(record.path[0], "/etc/passwd");
	assert_args(&record, "openat(\"/etc/passwd\", 0x80000, 0) = 3");
	record.args[0] = 4;
	record.target = CALL_TARGET_FILE;
	PARTS(&record, "etc");
	assert_args(&record, "openat(4 → /etc, \"/etc/passwd\", 0x80000, 0) = 3");
	record.paths_read = 0;
	assert_args(&record, "openat(4 → /etc, ?, 0x80000, 0) = 3");
}

static void two_paths_come_in_their_order(void **state)
{
	struct slow_call_record record = record_of("renameat2");

	record.args[0] = record.args[2] = HERE;
	record.paths_read = 3;
	strcpy(record.path[0], "old");
	strcpy(record.path[1], "new");
	assert_args(&record, "renameat2(\"old\", \"new\", 0) = 0");
	memset(record.path[1], 'y', CALL_PATH_BYTES - 1);
	assert_non_null(strstr(decoded(&record).scratch + 384, "yyy…\", 0) = 0"));
}

static void descriptors_are_named_by_what_is_behind_them(void **state)
{
	struct slow_call_record record = record_of("read");

	record.args[2] = 4096;
	record.result = 12;
	assert_args(&record, "read(0, …, 4096) = 12");
	record.target = CALL_TARGET_PIPE;
	record.object[0] = 11;
	PARTS(&record, "");
	assert_args(&record, "read(0 → pipe:[11], …, 4096) = 12");
	PARTS(&record, "fifo\0tmp");
	assert_args(&record, "read(0 → /tmp/fifo, …, 4096) = 12");
	record.name.flags = PATH_CUT;
	assert_args(&record, "read(0 → …/tmp/fifo, …, 4096) = 12");
	record.target = CALL_TARGET_OTHER;
	PARTS(&record, "[eventfd]");
	assert_args(&record, "read(0 → anon_inode:[eventfd], …, 4096) = 12");
	record.target = CALL_TARGET_FILE;
	record.name.bytes = record.name.flags = 0;
	assert_args(&record, "read(0 → /, …, 4096) = 12");
}

static void sockets_are_named_by_their_ends(void **state)
{
	struct slow_call_record record = record_of("recvfrom");

	record.target = CALL_TARGET_SOCKET;
	record.object[0] = 99;
	record.args[0] = 6;
	record.args[2] = 1;
	assert_args(&record, "recvfrom(6 → socket:[99], …, 1, 0, …) = 0");
	record.family = AF_INET;
	record.local_port = 80;
	record.peer_port = 1024;
	inet_pton(AF_INET, "127.0.0.1", record.local);
	inet_pton(AF_INET, "10.0.0.2", record.peer);
	assert_args(&record, "recvfrom(6 → 127.0.0.1:80 ↔ 10.0.0.2:1024, …, 1, 0, …) = 0");
	record.family = AF_INET6;
	inet_pton(AF_INET6, "::1", record.local);
	inet_pton(AF_INET6, "::2", record.peer);
	assert_args(&record, "recvfrom(6 → [::1]:80 ↔ [::2]:1024, …, 1, 0, …) = 0");
	record.family = AF_UNIX;
	record.peer_pid = 5;
	assert_args(&record, "recvfrom(6 → unix socket to pid 5, …, 1, 0, …) = 0");
}

static void what_is_not_known_is_said_to_be(void **state)
{
	struct slow_call_record record = record_of("execve");

	record.has_args = 0;
	assert_args(&record, "execve(…) = 0");
	record = record_of("getpid");
	assert_args(&record, "getpid(…) = 0");
	record.number = CALL_32BIT;
	record.has_args = 0;
	record.error = EINTR;
	assert_args(&record, "(32-bit call)(…)");
	record = record_of("mmap");
	record.args[1] = 4096;
	record.args[4] = (__u64)-1;
	record.result = 0x7f0000000000;
	assert_args(&record, "mmap(…, 4096, 0, 0, -1) = 0x7f0000000000");
}

static void a_name_that_has_no_room_is_cut(void **state)
{
	struct slow_call_record record = record_of("fsync");

	record.target = CALL_TARGET_FILE;
	memset(record.name.names, 'n', sizeof(record.name.names) - 1);
	record.name.bytes = sizeof(record.name.names);
	assert_non_null(strstr(decoded(&record).scratch + 384, "nnn"));
}

static void refuses(const struct slow_call_record *record, size_t size)
{
	struct event event = { .time_ns = 99 };

	assert_int_equal(syscalls()->decode(record, size, &event), -EBADMSG);
	assert_int_equal(event.time_ns, 99);
	assert_int_equal(event.duration_ns, 0);
	assert_null(event.object_name);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct slow_call_record record = record_of("read");

	refuses(&record, sizeof(record) - 1);
	record.head.version = 2;
	refuses(&record, sizeof(record));
	record = record_of("read");
	record.head.size--;
	refuses(&record, sizeof(record));
	record = record_of("read");
	record.number = CALL_NUMBERS;
	refuses(&record, sizeof(record));
	record = record_of("read");
	memset(record.path[1], 'x', CALL_PATH_BYTES);
	refuses(&record, sizeof(record));
	record = record_of("read");
	record.name.bytes = sizeof(record.name.names) + 1;
	refuses(&record, sizeof(record));
	record.name.bytes = 3;
	memcpy(record.name.names, "abc", 3);
	refuses(&record, sizeof(record));
}

static void shapes_say_where_paths_and_descriptors_are(void **state)
{
	struct call_shape shapes[CALL_NUMBERS];
	const struct call_shape *shape;

	calls__shapes(shapes);
	shape = &shapes[calls__number("renameat2")];
	assert_int_equal(shape->fd, 1);
	assert_int_equal(shape->path[0], 2);
	assert_int_equal(shape->path[1], 4);
	assert_int_equal(shape->idle, 0);
	shape = &shapes[calls__number("mmap")];
	assert_int_equal(shape->fd, 5);
	assert_int_equal(shape->path[0], 0);
	assert_int_equal(shapes[calls__number("clock_nanosleep")].idle, 1);
	assert_int_equal(shapes[calls__number("getppid")].fd, 0);
}

static void no_call_has_more_arguments_than_a_record(void **state)
{
	for (uint32_t i = 0; i < CALL_NUMBERS; i++) {
		assert_in_range(strlen(calls__arguments(i)), 0, CALL_ARGS);
		assert_int_equal(strspn(calls__arguments(i), "fdpnsxo."),
				 strlen(calls__arguments(i)));
	}
	assert_string_equal(calls__arguments(0xffff), "");
	assert_string_equal(calls__name(0xffff), "syscall_65535");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_field),
		cmocka_unit_test(paths_are_quoted_and_the_current_folder_is_left_out),
		cmocka_unit_test(two_paths_come_in_their_order),
		cmocka_unit_test(descriptors_are_named_by_what_is_behind_them),
		cmocka_unit_test(sockets_are_named_by_their_ends),
		cmocka_unit_test(what_is_not_known_is_said_to_be),
		cmocka_unit_test(a_name_that_has_no_room_is_cut),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(shapes_say_where_paths_and_descriptors_are),
		cmocka_unit_test(no_call_has_more_arguments_than_a_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
