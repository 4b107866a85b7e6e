/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits whose cause is easily mistaken, by the workload 'causes'. */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"

static char path[64];
static json_t *report, *log_lines;

static int record_once(void **state)
{
	/* The VM's files are in memory, which does not let anybody wait. */
	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"),
			 is_emulated() ? WORKLOAD("causes", "/dev/vda") : WORKLOAD("causes"),
			 &log_lines);
	report = trial__report(path);
	return 0;
}

static int release(void **state)
{
	json_decref(report);
	json_decref(log_lines);
	trial__remove(path);
	return 0;
}

static int64_t waits_where(const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql), "SELECT coalesce(sum(count), 0) AS count FROM waits WHERE %s",
		 where);
	return trial__query(path, sql);
}

/* The name of whoever waited or is waited for is that of the phase's thread. */
static void sendfile_of_a_cold_file_waits_for_the_disk(void **state)
{
	if (is_emulated() && !number_at(log_phase(log_lines, "sendfile", "sendfile"), "waits")) {
		print_message("# skip: the emulated disk answered at once\n");
		skip();
	}
	assert_true(number_at(log_phase(log_lines, "sendfile", "sendfile"), "waits") > 0);
	assert_true(waits_where("waiter_comm = 'sendfile' AND cause = 'disk'"
				" AND object_kind = 'file'") >=
		    number_at(log_phase(log_lines, "sendfile", "sendfile"), "waits"));
	assert_int_equal(waits_where("waiter_comm = 'sendfile' AND cause = 'net'"), 0);
}

static void a_robust_mutex_has_an_owner(void **state)
{
	int64_t held = waits_where("waiter_comm = 'robust-waiter' AND evidence = 'owner'"
				   " AND by_comm = 'robust-holder'");

	assert_in_range(held, 15, 20);
}

static void the_call_futex_wait_waits_for_a_lock(void **state)
{
	log_phase(log_lines, "futex_wait", "futex-wait");
	assert_in_range(waits_where("waiter_comm = 'futex-wait' AND cause = 'lock'"
				    " AND object_kind = 'futex' AND evidence = 'timeout'"),
			15, 20);
	assert_int_equal(waits_where("waiter_comm = 'futex-wait' AND cause = 'other'"), 0);
	assert_non_null(syscall_named(report, "futex_wait"));
}

static void a_grace_period_is_the_kernels(void **state)
{
	json_t *phase = log_phase(log_lines, "rcu", "rcu");

	assert_int_equal(waits_where("waiter_comm = 'rcu' AND cause = 'kernel'"
				     " AND object = 'membarrier'"),
			 number_at(phase, "waits"));
	/* It may wait in the kernel outside of the phase too. */
	assert_int_equal(sum_count(report, "rcu", "wait", "kernel"),
			 waits_where("waiter_comm = 'rcu' AND cause = 'kernel'"));
	assert_int_equal(sum_count(report, "rcu", "wait", "other"), 0);
}

static void a_server_of_faults_is_woken_by_whoever_faults(void **state)
{
	log_phase(log_lines, "faults", "fault-maker");
	assert_in_range(waits_where("waiter_comm = 'fault-server' AND by_comm = 'fault-maker'"), 10,
			20);
	assert_int_equal(waits_where("waiter_comm = 'fault-server' AND cause = 'other'"
				     " AND by_comm <> 'fault-maker'"),
			 0);
}

static void a_memory_limit_is_no_page_fault(void **state)
{
	json_t *phase = log_phase(log_lines, "memory", "over-limit");

	assert_true(number_at(phase, "waits") > 0);
	assert_true(sum_ns(report, "over-limit", "wait", "kernel") >= 100 * MS);
	assert_true(waits_where("waiter_comm = 'over-limit' AND cause = 'kernel'"
				" AND object = 'memory limit or reclaim'") > 0);
	assert_int_equal(sum_ns(report, "over-limit", "wait", "fault"), 0);
}

static void every_account_closes(void **state)
{
	assert_closes(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sendfile_of_a_cold_file_waits_for_the_disk),
		cmocka_unit_test(a_robust_mutex_has_an_owner),
		cmocka_unit_test(the_call_futex_wait_waits_for_a_lock),
		cmocka_unit_test(a_grace_period_is_the_kernels),
		cmocka_unit_test(a_server_of_faults_is_woken_by_whoever_faults),
		cmocka_unit_test(a_memory_limit_is_no_page_fault),
		cmocka_unit_test(every_account_closes),
	};

	return cmocka_run_group_tests(tests, record_once, release);
}
