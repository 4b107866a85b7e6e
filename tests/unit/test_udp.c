/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user halves of udp and drops. */
#include "decoding.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "signals/drops/drops.h"
#include "signals/registry.h"
#include "signals/udp/udp.h"

static const struct signal *udp(void)
{
	return registry__find("udp", 3);
}

static const struct signal *drops(void)
{
	return registry__find("drops", 5);
}

static struct udp_record good_record(void)
{
	struct udp_record record = {
		.head = { .size = sizeof(record), .version = 1 },
		.cookie = 42,
		.ends = { .local_port = 53, .family = AF_INET },
	};

	memcpy(record.ends.local, (uint8_t[]) { 127, 0, 0, 1 }, 4);
	memcpy(record.ends.peer, (uint8_t[]) { 10, 0, 0, 2 }, 4);
	return record;
}

static void a_socket_is_its_address_and_that_of_its_peer(void **state)
{
	struct udp_record record = good_record();
	struct event event = {};

	assert_int_equal(udp()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 42);
	assert_string_equal(event.object_kind, "socket");
	assert_string_equal(event.object_name, "127.0.0.1:53");
	record.ends.peer_port = 4000;
	assert_int_equal(udp()->decode(&record, sizeof(record), &event), 0);
	assert_string_equal(event.object_name, "127.0.0.1:53 ↔ 10.0.0.2:4000");
	record.ends.family = AF_INET6;
	record.ends.peer_port = 0;
	memset(record.ends.local, 0, sizeof(record.ends.local));
	assert_int_equal(udp()->decode(&record, sizeof(record), &event), 0);
	assert_string_equal(event.object_name, "[::]:53");
}

static void decode_refuses_short_and_wrong_records_and_leaves_the_output_alone(void **state)
{
	struct udp_record record = good_record();

	refuses_wrong_heads(udp(), &record, sizeof(record));
	record.head.kind = 1;
	refuses(udp(), &record, sizeof(record));
	record = good_record();
	record.ends.family = AF_UNIX;
	refuses(udp(), &record, sizeof(record));
}

static void drops_sends_no_records(void **state)
{
	struct udp_record record = good_record();
	struct event event = {};

	assert_int_equal(drops()->decode(&record, sizeof(record), &event), -EBADMSG);
}

static void reasons_are_words(void **state)
{
	char word[32], little[4], none[1] = "x";

	drops__word("SKB_DROP_REASON_NO_SOCKET", word, sizeof(word));
	assert_string_equal(word, "no socket");
	drops__word("SKB_CONSUMED", word, sizeof(word));
	assert_string_equal(word, "skb consumed");
	drops__word("SKB_DROP_REASON_NO_SOCKET", little, sizeof(little));
	assert_string_equal(little, "no ");
	drops__word("SKB_DROP_REASON_NO_SOCKET", none, 0);
	assert_int_equal(none[0], 'x');
	drops__word("", word, sizeof(word));
	assert_string_equal(word, "");
}

static void every_operation_has_a_name(void **state)
{
	for (uint32_t i = 0; i < UDP_OPERATIONS; i++)
		assert_non_null(udp()->operation(i));
	assert_null(udp()->operation(UDP_OPERATIONS));
	for (uint32_t i = 0; i < DROPS_OPERATIONS; i++)
		assert_non_null(drops()->operation(i));
	assert_null(drops()->operation(DROPS_OPERATIONS));
}

static void both_are_off_unless_chosen(void **state)
{
	assert_false(udp()->is_default);
	assert_false(drops()->is_default);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_is_its_address_and_that_of_its_peer),
		cmocka_unit_test(
			decode_refuses_short_and_wrong_records_and_leaves_the_output_alone),
		cmocka_unit_test(drops_sends_no_records),
		cmocka_unit_test(reasons_are_words),
		cmocka_unit_test(every_operation_has_a_name),
		cmocka_unit_test(both_are_off_unless_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
