/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "signals/memory/memory.h"
#include "signals/registry.h"

static const struct signal *memory_of_the_list(void)
{
	return registry__find("memory", 6);
}

static int decode(const void *record, size_t size, struct event *ret)
{
	return memory_of_the_list()->decode(record, size, ret);
}

static struct memory_slow good_slow(void)
{
	return (struct memory_slow) {
		.head = { .size = sizeof(struct memory_slow), .kind = MEMORY_SLOW, .version = 1 },
		.thread = 11,
		.duration_ns = 4000,
		.bytes = 131072,
		.cgroup = 77,
		.operation = MEMORY_CGROUP_RECLAIM,
	};
}

static struct memory_victim good_victim(void)
{
	return (struct memory_victim) {
		.head = { .size = sizeof(struct memory_victim),
			  .kind = MEMORY_VICTIM,
			  .version = 1 },
		.thread = 12,
		.cgroup = 78,
		.pid = 4711,
		.comm = "searchd",
		.name = "search.service",
	};
}

static struct memory_name good_name(void)
{
	struct memory_name record = {
		.head = { .size = sizeof(record), .kind = MEMORY_NAME, .version = 1 },
		.object = { 5, 6 },
		.path = { .bytes = 10 },
	};

	memcpy(record.path.names, "x.dat\0lib", 10);
	return record;
}

static void decode_gives_a_slow_reclaim(void **state)
{
	struct memory_slow record = good_slow();
	struct event event = {};

	assert_int_equal(decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.duration_ns, 4000);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.place, 77);
	assert_string_equal(memory_of_the_list()->operation(event.operation), "cgroup reclaim");
	assert_int_equal(event.values[0].number, 131072);
	assert_true(event.values[1].none && event.values[2].none && event.values[3].none);
}

static void decode_gives_the_victim_of_an_oom_kill(void **state)
{
	struct memory_victim record = good_victim();
	struct event event = {};

	assert_int_equal(decode(&record, sizeof(record), &event), 0);
	assert_string_equal(memory_of_the_list()->operation(event.operation), "oom kill");
	assert_int_equal(event.place, 78);
	assert_true(event.values[0].none);
	assert_int_equal(event.values[1].number, 4711);
	assert_string_equal(event.values[2].text, "searchd");
	assert_string_equal(event.values[3].text, "search.service");
	record.comm[0] = '\0'; /* kernels before 6.10 do not tell */
	event = (struct event) {};
	assert_int_equal(decode(&record, sizeof(record), &event), 0);
	assert_true(event.values[2].none);
}

static void decode_gives_the_name_of_a_mapped_file(void **state)
{
	struct memory_name record = good_name();
	struct event event = {};

	assert_int_equal(decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 5);
	assert_int_equal(event.object[1], 6);
	assert_string_equal(event.object_name, "/lib/x.dat");
	record.path.flags = PATH_DELETED;
	assert_int_equal(decode(&record, sizeof(record), &event), 0);
	assert_string_equal(event.object_name, "/lib/x.dat (deleted)");
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct memory_slow slow = good_slow();
	struct memory_victim victim = good_victim();
	struct memory_name name = good_name();

	refuses_wrong_heads(memory_of_the_list(), &slow, sizeof(slow));
	slow.operation = MEMORY_OPERATIONS;
	refuses(memory_of_the_list(), &slow, sizeof(slow));
	slow = good_slow();
	slow.head.kind = 9;
	refuses(memory_of_the_list(), &slow, sizeof(slow));
	refuses_wrong_heads(memory_of_the_list(), &victim, sizeof(victim));
	memset(victim.comm, 'x', sizeof(victim.comm));
	refuses(memory_of_the_list(), &victim, sizeof(victim));
	victim = good_victim();
	memset(victim.name, 'x', sizeof(victim.name));
	refuses(memory_of_the_list(), &victim, sizeof(victim));
	refuses_wrong_heads(memory_of_the_list(), &name, sizeof(name));
	name.path.bytes = sizeof(name.path.names) + 1;
	refuses(memory_of_the_list(), &name, sizeof(name));
}

static void every_operation_has_a_word_and_no_two_have_the_same(void **state)
{
	const struct signal *memory = memory_of_the_list();

	for (uint32_t i = 0; i < MEMORY_OPERATIONS; i++) {
		assert_non_null(memory->operation(i));
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(memory->operation(i), memory->operation(j));
	}
	assert_null(memory->operation(MEMORY_OPERATIONS));
	assert_string_equal(
		memory->operation(MEMORY_FAULTS + MEMORY_HEAP * MEMORY_ACCESSES + MEMORY_WRITE),
		"heap write");
}

static void a_cgroup_that_is_gone_is_shown_by_its_number(void **state)
{
	char name[32] = "";

	memory_of_the_list()->place(UINT32_MAX, name, sizeof(name));
	assert_string_equal(name, "cgroup 4294967295");
	memory_of_the_list()->place(1, name, sizeof(name));
	assert_string_equal(name, "/");
	memory_of_the_list()->place(UINT32_MAX, name, 12);
	assert_string_equal(name, "…94967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_a_slow_reclaim),
		cmocka_unit_test(decode_gives_the_victim_of_an_oom_kill),
		cmocka_unit_test(decode_gives_the_name_of_a_mapped_file),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_operation_has_a_word_and_no_two_have_the_same),
		cmocka_unit_test(a_cgroup_that_is_gone_is_shown_by_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
