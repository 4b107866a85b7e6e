/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first bytes of messages say: every protocol that windows know, also cut at each byte. */
#include "../harness.h"

#include "ledger/windows/protocols.h"

/* The head of a message of `size` bytes, as the kernel half reads it. */
static struct head head_of(const void *bytes, size_t size)
{
	struct head head = { .size = (__u32)size };

	memcpy(head.bytes, bytes, size < HEAD_BYTES ? size : HEAD_BYTES);
	return head;
}

#define HEAD(text) head_of(text, sizeof(text) - 1)
#define IS(protocol, text)                                                                         \
	do {                                                                                       \
		struct head of = HEAD(text);                                                       \
		assert_int_equal(protocol_of_request(&of), WINDOW_PROTOCOL_##protocol);            \
	} while (0)

static void requests_tell_their_protocol(void **state)
{
	IS(HTTP, "GET / HTTP/1.0\r\n\r\n");
	IS(HTTP, "DELETE /a HTTP/1.1\r\n\r\n");
	IS(NONE, "GET / HTTP/1.");
	IS(NONE, "GETS / HTTP/1.1\r\n");
	IS(REDIS, "*1\r\n$4\r\nPING\r\n");
	IS(REDIS, "*12\r\n$4\r\n");
	IS(NONE, "*0\r\n");
	IS(NONE, "*\r\n\r\n");
	IS(POSTGRES, "Q\0\0\0\x0dSELECT 1\0");
	IS(POSTGRES, "\0\0\0\x08\0\3\0\0");
	IS(NONE, "Q\0\0\0\x03");
	IS(TLS, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
	IS(TLS, "\x17\x03\x03\x00\x40");
	IS(NONE, "\x16\x03\x05\x02\x00");
	IS(MYSQL, "\x09\0\0\0\x03SELECT 1");
	IS(MYSQL, "\x01\0\0\0\x0e");
	IS(NONE, "\x09\0\0\1\x03SELECT 1");
	IS(NONE, "\x0a\0\0\0\x03SELECT 1");
	IS(NONE, "\x09\0\0\0\x03SEL\1CT 1");
	IS(NONE, "");
}

static void lengths_that_cannot_be_are_of_no_protocol(void **state)
{
	IS(NONE, "Q\xff\xff\xff\xff\xff\xff\xff\xff");
	IS(NONE, "P\xff\xff\xff\xff\xff\xff\xff\xff");
	IS(NONE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
	IS(NONE, "\xff\xff\xff\0\x03SELECT 1");
	IS(NONE, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}

static void a_statement_of_80_bytes_is_not_of_postgresql(void **state)
{
	__u8 bytes[84] = "P\0\0\0\x16select ? from a";
	struct head head;

	head = head_of(bytes, sizeof(bytes));
	assert_int_equal(protocol_of_request(&head), WINDOW_PROTOCOL_MYSQL);
	/* PostgreSQL: a Parse of the unnamed statement, with messages behind. */
	memcpy(bytes, "P\0\0\0\x16\0select 1\0\0", 16);
	head = head_of(bytes, sizeof(bytes));
	assert_int_equal(protocol_of_request(&head), WINDOW_PROTOCOL_POSTGRES);
}

static void answers_of_http_have_a_status(void **state)
{
	struct head head = HEAD("HTTP/1.1 404 Not Found\r\n");

	assert_int_equal(http_status(&head), 404);
	assert_int_equal(status_of_http(404), WINDOW_STATUS_REFUSED);
	assert_int_equal(status_of_http(503), WINDOW_STATUS_FAILED);
	assert_int_equal(status_of_http(304), WINDOW_STATUS_OK);
	head = HEAD("HTTP/1.1 40");
	assert_int_equal(http_status(&head), 0);
	head = HEAD("HTTP/2 200 OK\r\n");
	assert_int_equal(http_status(&head), 0);
}

static void a_last_byte_of_postgresql_is_known(void **state)
{
	assert_true(is_postgres_ready((const __u8 *)"Z\0\0\0\5I"));
	assert_false(is_postgres_ready((const __u8 *)"Z\0\0\0\5X"));
	assert_false(is_postgres_ready((const __u8 *)"Z\xff\xff\xff\xffI"));
}

/* --- Redis ----------------------------------------------------------------------------------- */

/* Walks messages as the kernel half does. */
static __u32 redis_walk(struct redis *redis, const char *bytes, size_t size)
{
	__u32 commands = 0;

	for (size_t at = 0; at < size;) {
		size_t carried = redis->carried, take = HEAD_BYTES - carried;
		struct head head = {};
		__u64 passed = 0;

		if (redis->skip) {
			passed = redis->skip < size - at ? redis->skip : size - at;
			redis->skip -= passed;
			at += passed;
			continue;
		}
		take = take < size - at ? take : size - at;
		memcpy(head.bytes, redis->carry, carried);
		memcpy(head.bytes + carried, bytes + at, take);
		head.size = (__u32)(carried + take);
		if (redis_step(redis, &head, &passed, &commands) == REDIS_CUT) {
			assert_true(head.size < HEAD_BYTES);
			redis->carried = head.size;
			memcpy(redis->carry, head.bytes, HEAD_BYTES);
			return commands;
		}
		assert_true(passed > carried);
		at += passed - carried;
		redis->carried = 0;
	}
	return commands;
}

static void commands_of_redis_are_counted_wherever_they_are_cut(void **state)
{
	static const char bytes[] =
		"*2\r\n$3\r\nGET\r\n$12\r\nhello, world\r\n*1\r\n$4\r\nPING\r\n";
	size_t size = sizeof(bytes) - 1;

	for (size_t cut = 0; cut <= size; cut++) {
		struct redis redis = {};
		__u32 commands = redis_walk(&redis, bytes, cut);

		commands += redis_walk(&redis, bytes + cut, size - cut);
		assert_int_equal(commands, 2);
		assert_int_equal(redis.elements + redis.skip + redis.carried, 0);
	}
}

static void what_is_no_command_of_redis_is_lost(void **state)
{
	static const char *const bytes[] = { "*1\r\n*1\r\n", "$3\r\nGET\r\n", "*x\r\n", "*\r\n",
					     "*12345678901234567" };
	__u32 commands = 0;
	__u64 passed;

	for (size_t i = 0; i < 5; i++) {
		struct redis redis = { .elements = i == 0 };
		struct head head = head_of(bytes[i], strlen(bytes[i]));

		assert_int_equal(redis_step(&redis, &head, &passed, &commands), REDIS_LOST);
	}
	assert_int_equal(commands, 0);
}

static void the_longest_value_of_redis_is_passed(void **state)
{
	struct redis redis = { .elements = 1 };
	struct head head = HEAD("$4294967295\r\nabc");
	__u32 commands = 0;
	__u64 passed;

	assert_int_equal(redis_step(&redis, &head, &passed, &commands), REDIS_PASSED);
	assert_int_equal(redis.skip, 4294967297);
}

/* --- MySQL ----------------------------------------------------------------------------------- */

static enum mysql_found step(struct mysql *mysql, const char *bytes, size_t size, __u32 *ret_at)
{
	struct head head = head_of(bytes, size);

	return mysql_step(mysql, &head, size, ret_at);
}

#define STEP(mysql, text, at) step(mysql, text, sizeof(text) - 1, at)

static void commands_of_mysql_are_found_wherever_they_are_cut(void **state)
{
	static const char bytes[] = "\x09\0\0\0\x03SELECT 1";
	size_t size = sizeof(bytes) - 1;

	for (size_t cut = 0; cut < size; cut++) {
		struct mysql mysql = {};
		__u32 at = 99, commands = 0;

		commands += step(&mysql, bytes, cut, &at) == MYSQL_COMMAND;
		commands += step(&mysql, bytes + cut, size - cut, &at) == MYSQL_COMMAND;
		assert_int_equal(commands, 1);
		assert_int_equal(at, cut <= 4 ? 4 - cut : 4);
		assert_int_equal(mysql.left + mysql.carried + mysql.is_body, 0);
		assert_int_equal(STEP(&mysql, "\1\0\0\0\x0e", &at), MYSQL_COMMAND);
	}
}

static void bytes_of_mysql_one_by_one_are_a_command_each(void **state)
{
	static const char bytes[] = "\x03\0\0\0\x03\xff\xff\x01\0\0\0\x0e\x02\0\0\1ab";
	struct mysql mysql = {};
	__u32 at, commands = 0;

	for (size_t i = 0; i < sizeof(bytes) - 1; i++)
		commands += step(&mysql, bytes + i, 1, &at) == MYSQL_COMMAND;
	assert_int_equal(commands, 2);
	assert_int_equal(mysql.left + mysql.carried + mysql.is_body, 0);
}

static void a_command_is_readable_when_its_header_is(void **state)
{
	struct mysql mysql = {};
	struct head head = HEAD("\x09\0\0\0");
	__u64 ready_ns = 100;
	__u32 text_at = 0;

	assert_int_equal(mysql_message(&mysql, &head, 4, &ready_ns, &text_at), MYSQL_CUT);
	head = HEAD("\x03SELECT 1");
	ready_ns = 200;
	assert_int_equal(mysql_message(&mysql, &head, 9, &ready_ns, &text_at), MYSQL_COMMAND);
	assert_int_equal(ready_ns, 100);
	assert_int_equal(text_at, 1);
	head = HEAD("\x01\0\0\0\x0e");
	ready_ns = 300;
	assert_int_equal(mysql_message(&mysql, &head, 5, &ready_ns, &text_at), MYSQL_COMMAND);
	assert_int_equal(ready_ns, 300);
}

static void what_has_no_answer_is_no_command(void **state)
{
	struct mysql mysql = {};
	__u32 at;

	assert_int_equal(STEP(&mysql, "\1\0\0\0\1", &at), MYSQL_UNANSWERED);
	assert_int_equal(STEP(&mysql, "\5\0\0\0\x19\1\0\0\0", &at), MYSQL_UNANSWERED);
	assert_int_equal(STEP(&mysql, "\2\0\0\3ab", &at), MYSQL_NOTHING);
	assert_int_equal(STEP(&mysql, "\1\0\0\0\x20", &at), MYSQL_LOST);
	assert_int_equal(STEP(&mysql, "\1\0\0\0\0", &at), MYSQL_LOST);
	assert_int_equal(STEP(&mysql, "\0\0\0\0", &at), MYSQL_LOST);
}

static void a_long_packet_of_mysql_is_one_command(void **state)
{
	static char bytes[65536] = "\xff\xff\xff\0\x03INSERT";
	struct mysql mysql = {};
	__u32 at, commands = 0;

	for (size_t i = 0; i < 256; i++)
		commands += step(&mysql, bytes, sizeof(bytes), &at) == MYSQL_COMMAND;
	assert_int_equal(commands, 1);
	/* 256 messages of 65,536 bytes are 3 less than the packet and its header. */
	assert_int_equal(mysql.left, 3);
	assert_int_equal(STEP(&mysql, "abc", &at), MYSQL_NOTHING);
	assert_int_equal(STEP(&mysql, "\1\0\0\0\x0e", &at), MYSQL_COMMAND);
}

static void a_header_that_comes_alone_tells_with_the_next_message(void **state)
{
	struct mysql mysql = {};
	struct head header = HEAD("\x09\0\0\0"), body = HEAD("\x03SELECT 1");
	struct head other = HEAD("\x03SELECT 12");

	assert_false(is_mysql_in_two(&mysql, &header));
	assert_false(is_mysql_in_two(&mysql, &other));
	assert_false(is_mysql_in_two(&mysql, &body));
	assert_false(is_mysql_in_two(&mysql, &header));
	assert_true(is_mysql_in_two(&mysql, &body));
}

static void statements_of_mysql_begin_behind_attributes(void **state)
{
	struct head head = HEAD("\x0b\0\0\0\x03\0\1SELECT 1");

	assert_true(mysql_has_text(&head, 4));
	assert_int_equal(mysql_text_at(&head, 4), 7);
	head = HEAD("\x03SELECT 1");
	assert_int_equal(mysql_text_at(&head, 0), 1);
	head = HEAD("\x01\0\0\0\x0e");
	assert_false(mysql_has_text(&head, 4));
}

static void greetings_and_errors_of_mysql_are_known(void **state)
{
	struct head greeting = HEAD("\x0a\0\0\0\x0a"
				    "8.0.36\0ab"),
		    head;
	struct mysql mysql = {};

	assert_true(is_mysql_greeting(&greeting));
	greeting.size++;
	assert_false(is_mysql_greeting(&greeting));
	head = HEAD("\7\0\0\1\xff\x48\x04#42");
	assert_true(mysql_fails(&mysql, &head, 1));
	assert_false(mysql_fails(&mysql, &head, 0));
	head = HEAD("\7\0\0\1\0\0\0\2\0\0\0");
	assert_false(mysql_fails(&mysql, &head, 1));
	head = HEAD("\7\0\0\1");
	assert_false(mysql_fails(&mysql, &head, 1));
	head = HEAD("\xff\x48\x04#42");
	assert_true(mysql_fails(&mysql, &head, 0));
	assert_false(mysql_fails(&mysql, &head, 0));
}

/* --- TLS ------------------------------------------------------------------------------------- */

static void records_of_tls_have_a_type(void **state)
{
	struct head head = HEAD("\x17\x03\x03\xff\xff");

	assert_int_equal(tls_record_of(&head), TLS_RECORD_DATA);
	head = HEAD("\x17\x03\x03\xff");
	assert_int_equal(tls_record_of(&head), TLS_RECORD_NONE);
	head = HEAD("\x18\x03\x03\0\0");
	assert_int_equal(tls_record_of(&head), TLS_RECORD_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_tell_their_protocol),
		cmocka_unit_test(lengths_that_cannot_be_are_of_no_protocol),
		cmocka_unit_test(a_statement_of_80_bytes_is_not_of_postgresql),
		cmocka_unit_test(answers_of_http_have_a_status),
		cmocka_unit_test(a_last_byte_of_postgresql_is_known),
		cmocka_unit_test(commands_of_redis_are_counted_wherever_they_are_cut),
		cmocka_unit_test(what_is_no_command_of_redis_is_lost),
		cmocka_unit_test(the_longest_value_of_redis_is_passed),
		cmocka_unit_test(commands_of_mysql_are_found_wherever_they_are_cut),
		cmocka_unit_test(bytes_of_mysql_one_by_one_are_a_command_each),
		cmocka_unit_test(a_command_is_readable_when_its_header_is),
		cmocka_unit_test(what_has_no_answer_is_no_command),
		cmocka_unit_test(a_long_packet_of_mysql_is_one_command),
		cmocka_unit_test(a_header_that_comes_alone_tells_with_the_next_message),
		cmocka_unit_test(statements_of_mysql_begin_behind_attributes),
		cmocka_unit_test(greetings_and_errors_of_mysql_are_known),
		cmocka_unit_test(records_of_tls_have_a_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
