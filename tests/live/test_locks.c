/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locks: known waits for known locks. What each thread says of its waits is what is counted. */
#include "../harness.h"

#include <stdio.h>
#include <string.h>

#include "ledger.h"

/* A recording of one mode of the workload, with its report and its log. */
struct known {
	char path[64];
	json_t *log, *report;
};

static struct known known;

static int tear_down(void **state)
{
	json_decref(known.log);
	json_decref(known.report);
	if (known.path[0])
		trial__remove(known.path);
	known = (struct known) {};
	return 0;
}

static void record(const char *mode)
{
	trial__path(known.path, sizeof(known.path));
	trial__record_at(known.path, ARGS("--signals", "locks"), WORKLOAD("lockers", mode),
			 &known.log);
	known.report = trial__report(known.path);
}

/* The heading of the answer must have no digits. */
static int64_t query(const char *sql)
{
	char named[2048];

	snprintf(named, sizeof(named), "SELECT (%s) AS answer", sql);
	return trial__query(known.path, named);
}

/* A column of signal_sums, of the threads whose name is LIKE this. */
static int64_t ask(const char *comm, const char *operation, const char *measure, const char *what)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(%s, 0) FROM signal_sums WHERE signal = 'locks' AND comm LIKE"
		 " '%s' AND operation LIKE '%s' AND measure = '%s'",
		 what, comm, operation, measure);
	return query(sql);
}

/* The thread's waits in this phase, by the kernel's count and by its own clock. */
static void assert_counted(const char *phase, const char *comm, const char *operation)
{
	json_t *said = log_phase(known.log, phase, comm);
	int64_t blocked_ns = number_at(said, "blocked_ns"), ready_ns = number_at(said, "ready_ns");
	int64_t wait_ns = ask(comm, operation, "wait", "sum(sum)");

	print_message("# %s: %lld ns of waiting, %lld in the calls\n", comm, (long long)wait_ns,
		      (long long)blocked_ns);
	assert_int_equal(ask(comm, operation, "wait", "sum(count)"), number_at(said, "waits"));
	/* A thread that is woken is ready before it runs. */
	if (is_emulated())
		return;
	assert_true(wait_ns <= blocked_ns);
	assert_true(wait_ns + ready_ns + slack_ns(blocked_ns) >= blocked_ns);
}

/*
 * The signal and the account have the same waits: to the nanosecond, but for those that were open
 * at the end. Nothing is lost, and each wait is in each histogram once.
 */
static void assert_agrees(void)
{
	assert_int_equal(
		query("SELECT (SELECT sum(w.ns) FROM wait w JOIN state s ON s.id = w.state"
		      " LEFT JOIN object o ON o.id = w.object LEFT JOIN thread t ON t.id = w.thread"
		      " WHERE coalesce(t.flags, 0) & 16 = 0 AND w.ended <> 'open'"
		      " AND (s.cause = 'lock' OR o.kind = 'kernel lock')) -"
		      " (SELECT sum(sum) FROM signal_sums WHERE measure = 'wait')"),
		0);
	assert_int_equal(
		query("SELECT sum(value) FROM quality WHERE name LIKE 'locks\\_%' ESCAPE '\\'"), 0);
	assert_int_equal(query("SELECT (SELECT sum(count) FROM signal_histograms) -"
			       " (SELECT sum(count) FROM signal_sums WHERE measure IN"
			       " ('wait', 'waiters', 'turn'))"),
			 0);
}

/* The same object in the account and in the signal, so that its holder is known. */
static void assert_held_by(const char *waiter, const char *holder)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM waits w JOIN signal_sums s ON s.object = w.object AND"
		 " s.comm = w.waiter_comm WHERE w.waiter_comm = '%s' AND w.by_comm = '%s' AND"
		 " w.evidence = 'owner' AND s.operation = 'mutex' AND s.measure = 'wait'",
		 waiter, holder);
	assert_true(query(sql) > 0);
}

static bool says(const char *text)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(known.report, "findings"), i, finding)
		if (strstr(json_string_value(json_object_get(finding, "text")), text))
			return true;
	return false;
}

static void a_chain_of_two_has_the_waits_of_both_links(void **state)
{
	record("chain");
	assert_counted("chain", "first", "mutex");
	assert_counted("chain", "second", "mutex");
	assert_held_by("first", "second");
	assert_held_by("second", "third");
	assert_int_equal(ask("third", "mutex", "wait", "sum(count)"), 0);
	assert_agrees();
}

static void a_convoy_has_a_queue_and_short_turns(void **state)
{
	int64_t waits, turns_ns;

	record("convoy");
	for (int i = 1; i <= 4; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "convoy-%d", i);
		assert_counted("convoy", comm, "mutex");
	}
	waits = ask("convoy-%", "mutex", "wait", "sum(count)");
	turns_ns = ask("convoy-%", "mutex", "turn", "sum(sum)");
	assert_int_equal(ask("convoy-%", "mutex", "waiters", "max(max)"), 3);
	assert_true(ask("convoy-%", "mutex", "handed", "sum(sum)") > waits / 2);
	/* The mutex is held for 2 ms and a wakeup each time, and nearly always. */
	assert_true(turns_ns / waits >= 2 * MS - MS / 10);
	assert_true(is_emulated() || turns_ns / waits < 6 * MS);
	assert_true(is_emulated() || says("Convoy at mutex shared in lockers: 4 threads"));
	assert_false(says("Thundering herd"));
	assert_agrees();
}

static void a_lock_that_is_held_long_has_long_turns(void **state)
{
	record("keeper");
	assert_counted("keeper", "kept-1", "mutex");
	assert_counted("keeper", "kept-2", "mutex");
	assert_int_equal(ask("kept-%", "mutex", "waiters", "max(max)"), 2);
	/* Twelve turns of the keeper; those between the two that wait are short. */
	assert_true(ask("kept-%", "mutex", "turn", "sum(sum)") >= 12 * 60 * MS * 97 / 100);
	assert_true(says("Held long: mutex shared in lockers was kept from its waiters"));
	/* Nor are its barriers herds, although all that they wake wait again soon. */
	assert_false(says("Convoy") || says("Thundering herd"));
	assert_agrees();
}

static void a_pool_waits_for_its_queue(void **state)
{
	record("pool");
	for (int i = 1; i <= 8; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "pool-%d", i);
		/* The waits for the condition, and for the mutex behind it. */
		assert_counted("pool", comm, "%");
	}
	assert_int_equal(ask("pool-%", "futex", "waiters", "max(max)"), 8);
	assert_true(ask("pool-%", "futex", "in_vain", "sum(sum)") <= 8);
	assert_false(says("Convoy") || says("Held long") || says("Thundering herd"));
	assert_agrees();
}

static void of_a_herd_all_but_one_are_woken_in_vain(void **state)
{
	int64_t said, in_vain, wakings;

	record("herd");
	said = number_at(log_phase(known.log, "herd", "producer"), "in_vain");
	in_vain = ask("herd-%", "futex", "in_vain", "sum(sum)");
	wakings = ask("herd-%", "futex", "wakings", "sum(sum)");
	print_message("# in vain: %lld, counted %lld, in %lld wakings\n", (long long)said,
		      (long long)in_vain, (long long)wakings);
	assert_counted("herd", "herd-1", "futex");
	assert_true(in_vain <= said && wakings <= 121);
	assert_true(is_emulated() || (in_vain >= said * 9 / 10 && wakings >= 90));
	assert_false(says("Convoy") || says("Held long"));
	assert_agrees();
}

static void faults_in_an_area_that_is_protected_wait_for_mmap_lock(void **state)
{
	json_t *said;
	int64_t waits, wait_ns;

	record("storm");
	said = log_phase(known.log, "storm", "faulter");
	waits = ask("faulter", "rwsem read", "wait", "sum(count)");
	wait_ns = ask("faulter", "rwsem read", "wait", "sum(sum)");
	print_message("# faulter: %lld ns of waiting, %lld in the faults\n", (long long)wait_ns,
		      (long long)number_at(said, "blocked_ns"));
	/* It also faults while it starts and ends, outside of the phase. */
	assert_in_range(waits, number_at(said, "waits"), number_at(said, "waits") + 10);
	assert_true(is_emulated() || waits >= 10);
	if (!is_emulated())
		assert_true(wait_ns + number_at(said, "ready_ns") + number_at(said, "cpu_ns") +
				    slack_ns(number_at(said, "blocked_ns")) >=
			    number_at(said, "blocked_ns"));
	assert_int_equal(query("SELECT count(*) FROM signal_sums WHERE operation LIKE 'rwsem %'"
			       " AND object NOT LIKE 'mmap_lock of lockers (pid %)'"),
			 0);
	assert_agrees();
}

static void writers_of_a_file_wait_for_its_i_rwsem(void **state)
{
	record("inode");
	/* They may all spin. */
	if (!ask("writer-%", "rwsem write", "wait", "sum(count)"))
		skip();
	assert_int_equal(query("SELECT count(DISTINCT object) FROM signal_sums WHERE comm LIKE"
			       " 'writer-%' AND operation = 'rwsem write' AND object LIKE"
			       " 'i_rwsem of %gapless-lockers-%'"),
			 1);
	assert_agrees();
}

static void two_processes_wait_for_each_other_s_file_lock(void **state)
{
	record("flock");
	assert_counted("flock", "locker-1", "flock");
	assert_counted("flock", "locker-2", "flock");
	assert_int_equal(query("SELECT count(DISTINCT place) FROM signal_sums WHERE operation ="
			       " 'flock' AND object LIKE '%gapless-lockers-%'"),
			 1);
	assert_agrees();
}

static void every_kind_of_lock_has_its_word(void **state)
{
	static const char *const kinds[][2] = {
		{ "mutex", "mutex" }, { "robust", "robust mutex" }, { "pi", "pi mutex" },
		{ "word", "futex" },  { "semop", "semop" },         { "flock", "flock" },
		{ "fcntl", "fcntl" }, { "ofd", "ofd lock" },
	};

	record("kinds");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		print_message("# %s\n", kinds[i][0]);
		assert_counted("kinds", kinds[i][0], kinds[i][1]);
		/* None of it has another word. It may start so late that it does not wait. */
		assert_int_equal(ask(kinds[i][0], "%", "wait", "sum(count)"),
				 number_at(log_phase(known.log, "kinds", kinds[i][0]), "waits"));
	}
	assert_agrees();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_chain_of_two_has_the_waits_of_both_links, tear_down),
		cmocka_unit_test_teardown(a_convoy_has_a_queue_and_short_turns, tear_down),
		cmocka_unit_test_teardown(a_lock_that_is_held_long_has_long_turns, tear_down),
		cmocka_unit_test_teardown(a_pool_waits_for_its_queue, tear_down),
		cmocka_unit_test_teardown(of_a_herd_all_but_one_are_woken_in_vain, tear_down),
		cmocka_unit_test_teardown(faults_in_an_area_that_is_protected_wait_for_mmap_lock,
					  tear_down),
		cmocka_unit_test_teardown(writers_of_a_file_wait_for_its_i_rwsem, tear_down),
		cmocka_unit_test_teardown(two_processes_wait_for_each_other_s_file_lock, tear_down),
		cmocka_unit_test_teardown(every_kind_of_lock_has_its_word, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
