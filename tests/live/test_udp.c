/* SPDX-License-Identifier: GPL-2.0-or-later */
/* udp and drops: known datagrams, and what became of them. */
#include "../harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ledger.h"

#define BYTES 300

static char recording[64];
static json_t *counted; /* what the workload says itself */

static int record_once(void **state)
{
	json_t *log;

	trial__path(recording, sizeof(recording));
	trial__record_at(recording, ARGS("--signals", "udp,drops"), WORKLOAD("datagrams"), &log);
	counted = json_incref(json_array_get(log, 0));
	json_decref(log);
	return 0;
}

static int release(void **state)
{
	trial__remove(recording);
	json_decref(counted);
	return 0;
}

/* `what` of the sums of a signal, where `condition` holds. */
static int64_t ask(const char *signal, const char *what, const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from signal_sums where signal = '%s' and"
		 " comm = 'datagrams' and %s",
		 what, signal, condition);
	return trial__ask(recording, sql);
}

static void need(const char *signal)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "select count(*) from signal_sums where signal = '%s'", signal);
	if (!trial__ask(recording, sql)) {
		print_message("# skip: this kernel has no hook for %s\n", signal);
		skip();
	}
}

static void datagrams_are_counted_by_socket(void **state)
{
	char socket[64];

	need("udp");
	assert_int_equal(ask("udp", "count", "operation = 'send' and errno = 0"),
			 number_at(counted, "sent"));
	assert_int_equal(ask("udp", "sum", "operation = 'send'"),
			 number_at(counted, "sent") * BYTES);
	assert_int_equal(ask("udp", "count", "operation = 'receive'"),
			 number_at(counted, "received"));
	assert_int_equal(ask("udp", "sum", "operation = 'receive'"),
			 number_at(counted, "received") * BYTES);
	snprintf(socket, sizeof(socket), "operation = 'drop' and object = '127.0.0.1:%" PRId64 "'",
		 number_at(counted, "port"));
	assert_int_equal(ask("udp", "count", socket), number_at(counted, "dropped"));
}

static void a_refused_datagram_has_its_error(void **state)
{
	char refused[64];

	need("udp");
	snprintf(refused, sizeof(refused), "operation = 'send' and errno = %d", ECONNREFUSED);
	assert_int_equal(ask("udp", "count", refused), number_at(counted, "refused"));
	assert_true(number_at(counted, "refused") > 0);
	assert_int_equal(ask("udp", "count", "errno not in (0, 111)"), 0);
}

static void dropped_packets_have_their_reason(void **state)
{
	need("drops");
	assert_int_equal(ask("drops", "count", "place = 'socket rcvbuff'"),
			 number_at(counted, "dropped"));
	assert_int_equal(ask("drops", "count", "place = 'no socket'"),
			 number_at(counted, "unheard"));
	assert_int_equal(ask("drops", "count", "operation <> 'IPv4'"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_are_counted_by_socket),
		cmocka_unit_test(a_refused_datagram_has_its_error),
		cmocka_unit_test(dropped_packets_have_their_reason),
	};

	return cmocka_run_group_tests(tests, record_once, release);
}
