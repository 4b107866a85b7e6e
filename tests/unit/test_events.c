/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's records of mmap, exec, fork and exit, byte by byte. */
#include "../harness.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "stacks/events.h"
#include "stacks/maps.h"

#define TIME_NS 123456789

/* A record in the making: words behind a head. */
struct record {
	struct perf_event_header head;
	uint64_t words[64];
	size_t count;
};

static void add(struct record *record, uint64_t word)
{
	record->words[record->count++] = word;
}

static void add_pair(struct record *record, uint32_t low, uint32_t high)
{
	add(record, (uint64_t)high << 32 | low);
}

/* With the thread and the time that the kernel puts behind each. */
static size_t finish(struct record *record)
{
	add_pair(record, 10, 11);
	add(record, TIME_NS);
	record->head.size = (uint16_t)(sizeof(record->head) + record->count * 8);
	return record->head.size;
}

static struct record mmap_record(const char *path, uint32_t prot)
{
	struct record record = { .head = { .type = PERF_RECORD_MMAP2 } };

	add_pair(&record, 10, 11);
	add(&record, 0x7f0000001000);
	add(&record, 0x3000);
	add(&record, 0x2000);
	add_pair(&record, 8, 1);
	add(&record, 4711); /* inode */
	add(&record, 99);   /* its generation */
	add_pair(&record, prot, MAP_PRIVATE);
	strncpy((char *)&record.words[record.count], path, 64);
	record.count += strlen(path) / 8 + 1;
	return record;
}

static void a_mapping_of_code_is_read(void **state)
{
	struct record record = mmap_record("/usr/lib/libx.so", PROT_READ | PROT_EXEC);
	size_t size = finish(&record);
	struct event event;

	assert_int_equal(events__decode(&record, size, &event), 0);
	assert_int_equal(event.kind, EVENT_MMAP);
	assert_int_equal(event.time_ns, TIME_NS);
	assert_int_equal(event.pid, 10);
	assert_int_equal(event.tid, 11);
	assert_int_equal(event.begin, 0x7f0000001000);
	assert_int_equal(event.end, 0x7f0000004000);
	assert_int_equal(event.offset, 0x2000);
	assert_int_equal(event.device, MAPS_DEVICE(8, 1));
	assert_int_equal(event.inode, 4711);
	assert_string_equal(event.path, "/usr/lib/libx.so");
}

static void a_mapping_without_an_end_or_a_path_or_code_is_refused(void **state)
{
	struct event event = { .inode = 77 };
	struct record record = mmap_record("/x", PROT_READ);
	size_t size = finish(&record);

	assert_int_equal(events__decode(&record, size, &event), -EBADMSG);
	record = mmap_record("/x", PROT_EXEC);
	record.words[2] = UINT64_MAX;
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), -EBADMSG);
	record = mmap_record("/x", PROT_EXEC);
	memset(&record.words[record.count - 1], 'x', 8);
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), -EBADMSG);
	record = mmap_record("/x", PROT_EXEC);
	record.count--;
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), -EBADMSG);
	assert_int_equal(event.inode, 77);
}

static void only_the_names_that_an_exec_gives_matter(void **state)
{
	struct record record = { .head = { .type = PERF_RECORD_COMM } };
	struct event event;
	size_t size;

	add_pair(&record, 10, 11);
	add(&record, 0x656d616e);
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), -ENOMSG);
	record.head.misc = PERF_RECORD_MISC_COMM_EXEC;
	assert_int_equal(events__decode(&record, size, &event), 0);
	assert_int_equal(event.kind, EVENT_EXEC);
	assert_int_equal(event.pid, 10);
}

static void forks_and_exits_are_read(void **state)
{
	struct record record = { .head = { .type = PERF_RECORD_FORK } };
	struct event event;
	size_t size;

	add_pair(&record, 20, 10); /* process, parent */
	add_pair(&record, 21, 11); /* thread, parent */
	add(&record, TIME_NS);
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), 0);
	assert_int_equal(event.kind, EVENT_FORK);
	assert_int_equal(event.pid, 20);
	assert_int_equal(event.tid, 21);
	assert_int_equal(event.parent_pid, 10);
	record.head.type = PERF_RECORD_EXIT;
	assert_int_equal(events__decode(&record, size, &event), 0);
	assert_int_equal(event.kind, EVENT_EXIT);
}

static void losses_are_read(void **state)
{
	struct record record = { .head = { .type = PERF_RECORD_LOST } };
	struct event event;
	size_t size;

	add(&record, 5);
	add(&record, 1234);
	size = finish(&record);
	assert_int_equal(events__decode(&record, size, &event), 0);
	assert_int_equal(event.kind, EVENT_LOST);
	assert_int_equal(event.lost, 1234);
}

static void short_and_odd_records_are_refused(void **state)
{
	static const uint32_t kinds[] = { PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT,
					  PERF_RECORD_LOST };
	struct event event = { .inode = 77 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct record record = { .head = { .type = kinds[i] } };
		size_t size;

		add(&record, 1);
		size = finish(&record);
		assert_int_equal(events__decode(&record, size, &event), -EBADMSG);
		assert_int_equal(events__decode(&record, size - 8, &event), -EBADMSG);
		assert_int_equal(events__decode(&record, 4, &event), -EBADMSG);
		assert_int_equal(events__decode(&record, 0, &event), -EBADMSG);
		record.head.size--;
		assert_int_equal(events__decode(&record, size - 1, &event), -EBADMSG);
	}
	assert_int_equal(event.inode, 77);
}

static void other_kinds_do_not_matter(void **state)
{
	struct record record = { .head = { .type = PERF_RECORD_THROTTLE } };
	struct event event;
	size_t size = finish(&record);

	assert_int_equal(events__decode(&record, size, &event), -ENOMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_of_code_is_read),
		cmocka_unit_test(a_mapping_without_an_end_or_a_path_or_code_is_refused),
		cmocka_unit_test(only_the_names_that_an_exec_gives_matter),
		cmocka_unit_test(forks_and_exits_are_read),
		cmocka_unit_test(losses_are_read),
		cmocka_unit_test(short_and_odd_records_are_refused),
		cmocka_unit_test(other_kinds_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
