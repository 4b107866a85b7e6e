/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <arpa/inet.h>
#include <errno.h>

#include "signals/registry.h"
#include "signals/tcp/tcp.h"

static const struct signal *tcp_of_the_list(void)
{
	return registry__find("tcp", 3);
}

static struct tcp_record good_record(uint16_t kind)
{
	struct tcp_record record = {
		.head = { .size = sizeof(record), .kind = kind, .version = 1, .time_ns = 7 },
		.thread = 5,
		.object = { 99, TCP_OBJECT_CONNECTION },
		.duration_ns = 1234,
		.ends = { .local_port = 40000,
			  .peer_port = 80,
			  .family = AF_INET,
			  .side = TCP_OUTBOUND },
		.totals = { 10, 20, 3, 4, 1, 250 },
		.operation = TCP_LIFETIME,
		.error = 0,
		.state = 5,
	};

	inet_pton(AF_INET, "10.0.0.1", record.ends.local);
	inet_pton(AF_INET, "10.0.0.2", record.ends.peer);
	return record;
}

static void decode_gives_every_column(void **state)
{
	struct tcp_record record = good_record(TCP_EVENT);
	struct event event = {};

	assert_int_equal(tcp_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.thread, 5);
	assert_int_equal(event.object[0], 99);
	assert_int_equal(event.duration_ns, 1234);
	assert_int_equal(event.operation, TCP_LIFETIME);
	assert_null(event.object_name);
	assert_string_equal(event.values[0].text, "outbound");
	assert_string_equal(event.values[1].text, "FIN_WAIT2");
	assert_int_equal(event.values[2].number, 10);
	assert_int_equal(event.values[3].number, 20);
	assert_int_equal(event.values[4].number, 3);
	assert_int_equal(event.values[5].number, 4);
	assert_int_equal(event.values[6].number, 1);
	assert_int_equal(event.values[7].number, 250000);
}

static void assert_named(const struct tcp_record *record, const char *kind, const char *name)
{
	struct event event = {};

	assert_int_equal(tcp_of_the_list()->decode(record, sizeof(*record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_string_equal(event.object_kind, kind);
	assert_string_equal(event.object_name, name);
}

static void a_name_has_both_ends_of_a_connection_and_one_of_a_service(void **state)
{
	struct tcp_record record = good_record(TCP_NAME);

	assert_named(&record, "connection", "10.0.0.1:40000 ↔ 10.0.0.2:80");
	record.object[1] = TCP_OBJECT_SERVICE + TCP_OUTBOUND;
	assert_named(&record, "service", "to 10.0.0.2:80");
	record.ends.side = TCP_LISTENING;
	assert_named(&record, "service", "at 10.0.0.1:40000");
	record.ends.side = TCP_INBOUND;
	record.ends.family = AF_INET6;
	inet_pton(AF_INET6, "fe80::1", record.ends.local);
	assert_named(&record, "service", "at [fe80::1]:40000");
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct tcp_record record = good_record(TCP_EVENT);

	refuses_wrong_heads(tcp_of_the_list(), &record, sizeof(record));
	record = good_record(TCP_NAME + 1);
	refuses(tcp_of_the_list(), &record, sizeof(record));
	record = good_record(TCP_EVENT);
	record.operation = TCP_OPERATIONS;
	refuses(tcp_of_the_list(), &record, sizeof(record));
}

static void numbers_that_mean_nothing_have_no_words(void **state)
{
	struct tcp_record record = good_record(TCP_EVENT);
	struct event event = {};
	char place[16];

	record.ends.side = 1000;
	record.state = 1000;
	assert_int_equal(tcp_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_string_equal(event.values[0].text, "");
	assert_string_equal(event.values[1].text, "");
	assert_null(tcp_of_the_list()->operation(TCP_OPERATIONS));
	for (uint32_t i = 0; i < TCP_OPERATIONS; i++)
		assert_non_null(tcp_of_the_list()->operation(i));
	tcp_of_the_list()->place(TCP_THEIRS, place, sizeof(place));
	assert_string_equal(place, "theirs");
	tcp_of_the_list()->place(1000, place, sizeof(place));
	assert_string_equal(place, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(a_name_has_both_ends_of_a_connection_and_one_of_a_service),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(numbers_that_mean_nothing_have_no_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
