/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who held a lock: whoever held it all the time, proved; the first and the last holder, where it
 * went from hand to hand; nobody, where the lock does not say.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../harness.h"
#include "ledger.h"

static const char *first_of(json_t *wait)
{
	json_t *comm = json_object_get(json_object_get(wait, "first"), "comm");

	return json_is_string(comm) ? json_string_value(comm) : "";
}

static const char *evidence_of(json_t *wait)
{
	return json_string_value(json_object_get(wait, "evidence"));
}

/* What the thread says that it waited is this wait, and no other. */
static void assert_whole(json_t *report, json_t *wait, json_t *phase, const char *comm)
{
	assert_int_equal(number_at(wait, "count"), number_at(phase, "waits"));
	assert_int_equal(number_at(wait, "ns"), sum_ns(report, comm, "wait", "lock"));
	assert_waited(report, comm, "lock", number_at(phase, "blocked_ns"));
}

static bool says(json_t *report, const char *text)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "findings"), i, finding)
		if (strstr(json_string_value(json_object_get(finding, "text")), text))
			return true;
	return false;
}

/* A quarter of what "last" waits, "first" has the lock; to say that it held it all would be wrong.
 */
static void a_lock_that_changed_hands_has_a_first_and_a_last_holder(void **state)
{
	json_t *log, *report = trial__record(ARGS("--level", "sched"), WORKLOAD("holders", "turns"),
					     &log);
	json_t *second = wait_of(report, "second", "lock"), *last = wait_of(report, "last", "lock");

	assert_string_equal(evidence_of(second), "owner");
	assert_string_equal(culprit_of(second), "first");
	assert_string_equal(first_of(second), "");
	assert_whole(report, second, log_phase(log, "turns", "second"), "second");
	assert_string_equal(evidence_of(last), "handed");
	assert_string_equal(first_of(last), "first");
	assert_string_equal(culprit_of(last), "second");
	assert_whole(report, last, log_phase(log, "turns", "last"), "last");
	assert_true(number_at(last, "ns") > 60 * MS);
	assert_true(says(report, "last of "));
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

static void the_holder_of_every_kind_of_mutex_is_named(void **state)
{
	static const char *const waiters[] = { "waits-normal", "waits-recursive", "waits-checked",
					       "waits-adaptive", "waits-inherits" };
	json_t *log, *report = trial__record(ARGS("--level", "full"), WORKLOAD("holders", "kinds"),
					     &log);

	for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
		json_t *wait = wait_of(report, waiters[i], "lock");

		print_message("# %s\n", waiters[i]);
		assert_string_equal(evidence_of(wait), "owner");
		assert_string_equal(culprit_of(wait), "holder");
		assert_whole(report, wait, log_phase(log, "kinds", waiters[i]), waiters[i]);
	}
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

static void a_number_beside_a_lock_that_is_no_mutex_names_nobody(void **state)
{
	static const char *const waiters[] = { "by-hand", "inlined" };
	json_t *log, *report = trial__record(ARGS("--level", "full"),
					     WORKLOAD("holders", "lookalikes"), &log);

	for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
		json_t *wait = wait_of(report, waiters[i], "lock");

		print_message("# %s\n", waiters[i]);
		assert_string_equal(evidence_of(wait), "waker");
		assert_string_equal(culprit_of(wait), "real-holder");
		assert_string_equal(json_string_value(json_object_get(wait, "kind")), "undecided");
		assert_whole(report, wait, log_phase(log, "lookalikes", waiters[i]), waiters[i]);
	}
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

/* The waits began before the recording, so the owners are read at its end. */
static void a_deadlock_from_before_the_recording_has_both_owners(void **state)
{
	static const char *const kinds[] = { "normal", "inherits", "robust" };
	/* The kernel refuses the second of two PI futexes; glibc then waits for nothing. */
	static const int owners[] = { 3, 2, 3 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct workload workload = workload__start(WORKLOAD("blocked", kinds[i]));
		struct trial trial;
		char pid[16];

		print_message("# %s\n", kinds[i]);
		workload__await_ready(&workload);
		snprintf(pid, sizeof(pid), "%d", workload.pid);
		trial = trial__start(ARGS("-p", pid));
		usleep(200000);
		assert_int_equal(trial__stop(&trial, SIGINT), 0);
		workload__kill(&workload);
		for (const char *const *table = ARGS("wait", "sample"); *table; table++) {
			char sql[512];

			/* There are no samples in an emulated machine. */
			snprintf(sql, sizeof(sql),
				 "SELECT count(*) AS count FROM %s w JOIN threads t ON t.id ="
				 " w.thread JOIN threads b ON b.id = w.by WHERE w.ended = 'open'"
				 " AND w.evidence = 'owner' AND t.comm || ' ' || b.comm IN"
				 " ('first second', 'second first', 'blocked-futex blocked-main')",
				 *table);
			assert_int_equal(trial__query(trial.path, sql),
					 is_emulated() && !strcmp(*table, "sample") ? 0
										    : owners[i]);
		}
		trial__remove(trial.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_that_changed_hands_has_a_first_and_a_last_holder),
		cmocka_unit_test(the_holder_of_every_kind_of_mutex_is_named),
		cmocka_unit_test(a_deadlock_from_before_the_recording_has_both_owners),
		cmocka_unit_test(a_number_beside_a_lock_that_is_no_mutex_names_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
