/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <sys/socket.h>

#include "signals/delivery/delivery.h"
#include "signals/registry.h"

static const struct signal *delivery(void)
{
	return registry__find("delivery", 8);
}

static struct delivery_record good_record(uint16_t kind)
{
	struct delivery_record record = {
		.head = { .size = sizeof(record), .version = 1, .kind = kind, .time_ns = 7 },
		.cookie = 42,
		.thread = 11,
		.duration_ns = 5000,
		.queued_bytes = 900,
		.port = 5432,
		.ends = { .local_port = 40000, .peer_port = 5432, .family = AF_INET },
		.operation = DELIVERY_SEND,
	};

	memcpy(record.ends.local, (uint8_t[]) { 10, 0, 0, 1 }, 4);
	memcpy(record.ends.peer, (uint8_t[]) { 10, 0, 0, 2 }, 4);
	return record;
}

static void a_slow_delivery_has_its_connection_and_what_was_queued(void **state)
{
	struct delivery_record record = good_record(DELIVERY_SLOW);
	struct event event = {};
	char place[32];

	assert_int_equal(delivery()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.object[0], 42);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.operation, DELIVERY_SEND);
	assert_int_equal(event.values[0].number, 900);
	assert_null(delivery()->columns[1].name);
	delivery()->place(event.place, place, sizeof(place));
	assert_string_equal(place, "port 5432");
}

static void a_connection_is_named_by_its_ends(void **state)
{
	struct delivery_record record = good_record(DELIVERY_NAME);
	struct event event = {};

	assert_int_equal(delivery()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 42);
	assert_string_equal(event.object_kind, "connection");
	assert_string_equal(event.object_name, "10.0.0.1:40000 ↔ 10.0.0.2:5432");
}

static void decode_refuses_short_and_wrong_records_and_leaves_the_output_alone(void **state)
{
	struct delivery_record record = good_record(DELIVERY_SLOW);

	refuses_wrong_heads(delivery(), &record, sizeof(record));
	record.operation = DELIVERY_OPERATIONS;
	refuses(delivery(), &record, sizeof(record));
	record = good_record(DELIVERY_SLOW + 1);
	refuses(delivery(), &record, sizeof(record));
	record = good_record(0);
	refuses(delivery(), &record, sizeof(record));
	record = good_record(DELIVERY_NAME);
	record.ends.family = AF_UNIX;
	refuses(delivery(), &record, sizeof(record));
}

static void every_operation_has_a_name_and_it_is_off_unless_chosen(void **state)
{
	for (uint32_t i = 0; i < DELIVERY_OPERATIONS; i++)
		assert_non_null(delivery()->operation(i));
	assert_null(delivery()->operation(DELIVERY_OPERATIONS));
	assert_false(delivery()->is_default);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_delivery_has_its_connection_and_what_was_queued),
		cmocka_unit_test(a_connection_is_named_by_its_ends),
		cmocka_unit_test(
			decode_refuses_short_and_wrong_records_and_leaves_the_output_alone),
		cmocka_unit_test(every_operation_has_a_name_and_it_is_off_unless_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
