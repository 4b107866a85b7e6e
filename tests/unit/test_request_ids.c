/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids in the headers of requests: which are taken, also where the header is cut at any byte. */
#include "../harness.h"

#include "record/request_ids.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN   "00f067aa0ba902b7"
#define PARENT "00-" TRACE "-" SPAN "-01"

static void assert_ids(const char *header, const char *trace, const char *span, const char *request)
{
	struct request_ids ids;

	request_ids__find(header, strlen(header), &ids);
	assert_string_equal(ids.trace, trace);
	assert_string_equal(ids.span, span);
	assert_string_equal(ids.request, request);
}

static void headers_have_ids(void **state)
{
	assert_ids("GET / HTTP/1.1\r\ntraceparent: " PARENT "\r\n\r\n", TRACE, SPAN, "");
	assert_ids("GET / HTTP/1.1\r\nTraceParent:" PARENT " \t\r\nX-Request-ID:  a-1 \r\n\r\n",
		   TRACE, SPAN, "a-1");
	assert_ids("GET / HTTP/1.1\r\ntraceparent: cc-" TRACE "-" SPAN "-01-more\r\n\r\n", TRACE,
		   SPAN, "");
	assert_ids("GET / HTTP/1.1\rx-request-id: 7\r\r", "", "", "7");
}

static void what_is_no_id_is_not_taken(void **state)
{
	assert_ids("", "", "", "");
	assert_ids("\r\n", "", "", "");
	assert_ids("GET /?traceparent: HTTP/1.1\r\nHost: a\r\n\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\n\r\ntraceparent: " PARENT "\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\na-traceparent: " PARENT "\r\n\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\ntraceparent: ff-" TRACE "-" SPAN "-01\r\n\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\ntraceparent: 00-" TRACE "-0000000000000000-01\r\n\r\n", "",
		   "", "");
	assert_ids("GET / HTTP/1.1\r\ntraceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN
		   "-01\r\n\r\n",
		   "", "", "");
	assert_ids("GET / HTTP/1.1\r\nx-request-id: two words\r\n\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\nx-request-id:\r\n\r\n", "", "", "");
	/* 65 characters */
	assert_ids("GET / HTTP/1.1\r\nx-request-id: " TRACE TRACE "1\r\n\r\n", "", "", "");
	assert_ids("GET / HTTP/1.1\r\nx-request-id: " TRACE TRACE "\r\n\r\n", "", "", TRACE TRACE);
}

static void a_header_that_is_cut_has_all_of_an_id_or_nothing(void **state)
{
	static const char header[] =
		"GET / HTTP/1.1\r\ntraceparent: " PARENT "\r\nx-request-id: 17\r\n\r\n";

	for (size_t size = 0; size < sizeof(header); size++) {
		struct request_ids ids;

		request_ids__find(header, size, &ids);
		assert_true(!*ids.trace == !*ids.span);
		assert_true(!*ids.trace || !strcmp(ids.trace, TRACE));
		assert_true(!*ids.request || !strcmp(ids.request, "17"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_have_ids),
		cmocka_unit_test(what_is_no_id_is_not_taken),
		cmocka_unit_test(a_header_that_is_cut_has_all_of_an_id_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
