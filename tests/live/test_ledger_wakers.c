/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ended a wait: whoever sent, or the wait's own time; never a thread that was merely there. */
#include "../harness.h"

#include <stdio.h>

#include "ledger.h"

static int64_t waits_where(const char *path, const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(count), 0) AS count FROM waits WHERE cause IN ('poll',"
		 " 'net', 'lock', 'pipe', 'other') AND %s",
		 where);
	return trial__query(path, sql);
}

#define IN_VAIN "waiter_comm IN ('poller', 'receiver', 'locker') AND "
#define OF_CALL "cause <> 'other' AND " /* not the move to its CPU */

/* 450 polls, 450 futexes and 150 receptions, on the CPU of a thread that sends and one that writes.
 */
static void a_wait_that_timed_out_is_nobodys(void **state)
{
	static const char *const levels[] = { "full", "sched" };
	char path[64];
	json_t *log;

	for (int i = 0; i < 2; i++) {
		trial__path(path, sizeof(path));
		trial__record_at(path, ARGS("--level", levels[i]),
				 WORKLOAD("wakers", "timeouts", "450"), &log);
		assert_int_equal(waits_where(path, IN_VAIN "by_comm IN ('logger', 'sender')"), 0);
		if (!i) {
			/* One that loses its CPU on the way to sleep may not have to wait. */
			assert_in_range(waits_where(path, IN_VAIN OF_CALL "evidence = 'timeout'"),
					950, 1050);
			assert_int_equal(waits_where(path, IN_VAIN OF_CALL "evidence <> 'timeout'"),
					 0);
			assert_int_equal(waits_where(path, "evidence = 'timeout'"
							   " AND by_comm <> '[timed out]'"),
					 0);
		}
		trial__remove(path);
		json_decref(log);
	}
}

/* Over loopback the sender's data is delivered by a softirq; it is still the sender who wakes. */
static void nobody_but_the_sender_is_named(void **state)
{
	static const char *const levels[] = { "full", "sched" };
	char path[64];
	json_t *log;

	for (int i = 0; i < 2; i++) {
		trial__path(path, sizeof(path));
		trial__record_at(path, ARGS("--level", levels[i]),
				 WORKLOAD("wakers", "senders", "60"), &log);
		assert_int_equal(waits_where(path, "waiter_comm LIKE 'w-%' AND by_comm NOT IN"
						   " ('s' || substr(waiter_comm, 2),"
						   " '[interrupt]')"),
				 0);
		for (const char *const *kind =
			     ARGS("tcp", "udp", "unix", "pipe", "poll", "epoll", "event");
		     *kind; kind++) {
			char where[64];

			/* A busy kernel leaves some packets to a thread of its own, and a slow
			 * waiter may not have to wait. */
			snprintf(where, sizeof(where), "waiter_comm = 'w-%s' AND by_comm = 's-%s'",
				 *kind, *kind);
			assert_in_range(waits_where(path, where), 20, 60);
		}
		trial__remove(path);
		json_decref(log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_timed_out_is_nobodys),
		cmocka_unit_test(nobody_but_the_sender_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
