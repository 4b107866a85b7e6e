/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>

#include "core/devices.h"
#include "signals/files/files.h"
#include "signals/registry.h"

static const struct signal *files_of_the_list(void)
{
	return registry__find("files", 5);
}

static struct files_slow_record slow_record(void)
{
	return (struct files_slow_record) {
		.head = { .size = sizeof(struct files_slow_record),
			  .kind = FILES_SLOW,
			  .version = 1 },
		.thread = 4,
		.object = { 12, 0xfe00000 },
		.duration_ns = 30000000,
		.asked_bytes = 100,
		.returned_bytes = 70,
		.offset_bytes = 33,
		.missed_pages = 2,
		.place = 0xfe00000,
		.operation = FILES_READ,
		.error = 5,
	};
}

/* `names`: each with its NUL, the last one first. */
static struct files_name_record name_record(const char *names, size_t bytes, const char *text)
{
	struct files_name_record record = {
		.head = { .size = sizeof(record), .kind = FILES_NAME, .version = 1 },
		.object = { 7, 8 },
	};

	memcpy(record.path.names, names, bytes);
	record.path.bytes = (uint16_t)bytes;
	snprintf(record.text, sizeof(record.text), "%s", text);
	return record;
}

static void decode_gives_all_of_a_slow_operation(void **state)
{
	struct files_slow_record record = slow_record();
	struct event event = {};

	assert_int_equal(files_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.thread, 4);
	assert_int_equal(event.object[0], 12);
	assert_int_equal(event.object[1], 0xfe00000);
	assert_int_equal(event.place, 0xfe00000);
	assert_int_equal(event.duration_ns, 30000000);
	assert_int_equal(event.error, 5);
	assert_string_equal(files_of_the_list()->operation(event.operation), "read");
	assert_int_equal(event.values[0].number, 100);
	assert_int_equal(event.values[1].number, 70);
	assert_int_equal(event.values[2].number, 2);
	assert_string_equal(event.values[3].text, "33");
}

static void an_operation_without_an_offset_has_none(void **state)
{
	struct files_slow_record record = slow_record();
	struct event event = {};

	record.offset_bytes = FILES_NO_OFFSET;
	assert_int_equal(files_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_string_equal(event.values[3].text, "");
}

static void is_named(struct files_name_record record, const char *name)
{
	struct event event = {};

	assert_int_equal(files_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 7);
	assert_int_equal(event.object[1], 8);
	assert_string_equal(event.object_name, name);
}

static void names_come_last_one_first_and_are_joined(void **state)
{
	struct files_name_record record;

	is_named(name_record("", 0, ""), "/");
	is_named(name_record("etc", 4, ""), "/etc");
	is_named(name_record("passwd\0etc", 11, ""), "/etc/passwd");
	record = name_record("passwd\0etc", 11, "");
	record.path.flags = PATH_DELETED;
	is_named(record, "/etc/passwd (deleted)");
	record.path.flags = PATH_CUT;
	is_named(record, "…/etc/passwd");
}

static void a_text_begins_where_it_says(void **state)
{
	is_named(name_record("tmp\0var", 8, "/etc/passwd"), "/etc/passwd");
	is_named(name_record("tmp\0var", 8, "a/../b"), "/var/tmp/a/../b");
	is_named(name_record("", 0, "a"), "/a");
}

static void the_longest_name_fits(void **state)
{
	struct files_name_record record = name_record("", 0, "");
	struct event event = {};

	memset(record.path.names, 'n', sizeof(record.path.names) - 1);
	for (size_t i = 1; i < sizeof(record.path.names); i += 2)
		record.path.names[i] = '\0';
	record.path.bytes = sizeof(record.path.names);
	record.path.flags = PATH_CUT | PATH_DELETED;
	memset(record.text, 't', sizeof(record.text) - 1);
	assert_int_equal(files_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(strlen(event.object_name), strlen("…") + sizeof(record.path.names) +
							    strlen(" (deleted)") + 1 +
							    sizeof(record.text) - 1);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct files_slow_record slow = slow_record();
	struct files_name_record name = name_record("etc", 4, "");

	refuses(files_of_the_list(), &slow, sizeof(slow) - 1);
	refuses(files_of_the_list(), &slow, sizeof(slow.head) - 1);
	refuses(files_of_the_list(), &name, sizeof(name) - 1);
	slow.head.version = 2;
	refuses(files_of_the_list(), &slow, sizeof(slow));
	slow = slow_record();
	slow.head.kind = 3;
	refuses(files_of_the_list(), &slow, sizeof(slow));
	slow = slow_record();
	slow.head.size--;
	refuses(files_of_the_list(), &slow, sizeof(slow));
	name.path.bytes = sizeof(name.path.names) + 1;
	refuses(files_of_the_list(), &name, sizeof(name));
	name = name_record("etc", 3, "");
	refuses(files_of_the_list(), &name, sizeof(name));
	name = name_record("etc", 4, "");
	memset(name.text, 'x', sizeof(name.text));
	refuses(files_of_the_list(), &name, sizeof(name));
}

static void every_operation_has_a_name(void **state)
{
	for (uint32_t i = 1; i < FILES_OPERATIONS; i++)
		assert_true(files_of_the_list()->operation(i)[0] != '\0');
	assert_null(files_of_the_list()->operation(FILES_OPERATIONS));
}

static void is_mount(const char *line, __u32 place, const char *name)
{
	struct devices_mount mount;
	char is[96];

	assert_true(devices__parse_mount(line, &mount));
	devices__name_mount(&mount, is, sizeof(is));
	assert_int_equal(mount.dev, place);
	assert_string_equal(is, name);
}

static void a_file_system_is_its_kind_and_where_it_is(void **state)
{
	is_mount("36 35 254:1 / / rw,noatime shared:1 master:2 - ext4 /dev/vda1 rw\n",
		 254 << 20 | 1, "ext4 on vda1");
	is_mount("37 36 0:33 / /tmp rw - tmpfs tmpfs rw\n", 33, "tmpfs");
	is_mount("38 36 0:34 / /x rw - overlay overlay rw,lowerdir=/a - b\n", 34, "overlay");
	is_mount("39 36 0:35 / /net rw - nfs4 host:/export rw\n", 35, "nfs4 on host:/export");
	is_mount("40 36 253:7 / /x rw - xfs /dev/mapper/data rw\n", 253 << 20 | 7,
		 "xfs on mapper/data");
}

static void what_is_no_mount_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"36 35 254:1 / / rw",
		"36 35 254:1 / / rw - ext4",
		"36 35 x:1 / / rw - ext4 /dev/vda1",
		"36 35 4096:1 / / rw - ext4 /dev/vda1",
		"36 35 1:1048576 / / rw - ext4 /dev/vda1",
	};
	struct devices_mount mount = { .dev = 99, .kind = "untouched" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(devices__parse_mount(lines[i], &mount));
	assert_string_equal(mount.kind, "untouched");
	assert_int_equal(mount.dev, 99);
}

static void a_device_that_is_not_mounted_keeps_its_numbers(void **state)
{
	char name[96];

	files_of_the_list()->place(4000U << 20 | 77, name, sizeof(name));
	assert_string_equal(name, "device 4000:77");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_all_of_a_slow_operation),
		cmocka_unit_test(an_operation_without_an_offset_has_none),
		cmocka_unit_test(names_come_last_one_first_and_are_joined),
		cmocka_unit_test(a_text_begins_where_it_says),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_operation_has_a_name),
		cmocka_unit_test(a_file_system_is_its_kind_and_where_it_is),
		cmocka_unit_test(what_is_no_mount_is_refused),
		cmocka_unit_test(a_device_that_is_not_mounted_keeps_its_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
