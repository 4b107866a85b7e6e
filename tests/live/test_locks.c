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
	int64_t stolen_ns; /* from the CPUs meanwhile: neither waiting nor running */
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

static void record_program(const char *program, const char *mode)
{
	int64_t before_ns = stolen_ns();

	trial__path(known.path, sizeof(known.path));
	/* Futexes have names only with stacks, which emulated machines do not record by default. */
	trial__record_at(known.path, ARGS("--signals", "locks", "-F", "99"),
			 WORKLOAD(program, mode), &known.log);
	known.stolen_ns = stolen_since(before_ns);
	known.report = trial__report(known.path);
}

static void record(const char *mode)
{
	record_program("lockers", mode);
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

static json_t *phase_of(const char *phase, const char *comm)
{
	return log_phase(known.log, phase, comm);
}

/*
 * The thread's waits in this phase are as many as its voluntary switches by the kernel. On a busy
 * machine it was one more or less now and then.
 */
static int64_t assert_count(const char *phase, const char *comm, const char *operation)
{
	int64_t waits = ask(comm, operation, "wait", "sum(count)");
	int64_t switches = number_at(phase_of(phase, comm), "waits");

	assert_in_range(waits, switches > 0 ? switches - 1 : 0, switches + 1);
	return waits;
}

/*
 * The same, and at least as many as the holder made sure of. The time that the thread's own clock
 * has for its calls is what it waited, was ready and ran there, to 3 %. The last two are the
 * kernel's, and are read just outside of the calls, where the thread can be preempted; so the clock
 * is read there too.
 */
static void assert_counted(const char *phase, const char *comm, const char *operation,
			   int64_t least)
{
	json_t *said = phase_of(phase, comm), *in_calls = phase_of("in calls", comm);
	int64_t blocked_ns = number_at(said, "blocked_ns");
	int64_t around_ns = number_at(in_calls, "around_ns");
	int64_t wait_ns = ask(comm, operation, "wait", "sum(sum)");
	int64_t known_ns =
		wait_ns + number_at(in_calls, "ready_ns") + number_at(in_calls, "cpu_ns");

	print_message("# %s: %lld ns in the calls, %lld of waiting, %+.2f %%, %+.2f %% around\n",
		      comm, (long long)blocked_ns, (long long)wait_ns,
		      100.0 * (double)(known_ns - blocked_ns) / (double)blocked_ns,
		      100.0 * (double)(known_ns - around_ns) / (double)around_ns);
	assert_true(assert_count(phase, comm, operation) >= least);
	/* There, the scheduler's stamps are late by 50 µs a switch, and hooks are slow. */
	if (is_emulated())
		return;
	assert_true(wait_ns <= blocked_ns);
	assert_true(known_ns + known.stolen_ns >= blocked_ns * 97 / 100);
	/* Where a wakeup was missed, the wait lasts until the thread runs: its ready time is in
	 * both. */
	assert_true(quality(known.report, "repaired_wakeups") || known_ns <= around_ns * 103 / 100);
}

/*
 * The signal and the account have the same waits: to the nanosecond, but for those that were open
 * at the end, and those of threads whose last account was lost, which is counted. Nothing else is
 * lost, and each wait is in each histogram once.
 */
static void assert_agrees(void)
{
	assert_int_equal(
		query("SELECT (SELECT sum(w.ns) FROM wait w JOIN state s ON s.id = w.state"
		      " LEFT JOIN object o ON o.id = w.object JOIN thread t ON t.id = w.thread"
		      " WHERE t.flags & (1 | 16) = 1 AND w.ended <> 'open'"
		      " AND (s.cause = 'lock' OR o.kind = 'kernel lock')) -"
		      " (SELECT sum(c.sum0) FROM series_slice c JOIN series s ON s.id = c.series"
		      " JOIN thread t ON t.id = s.thread WHERE t.flags & (1 | 16) = 1)"),
		0);
	assert_true(
		query("SELECT count(*) FROM thread WHERE id > 0 AND flags & (1 | 8 | 16) = 0") <=
		quality(known.report, "vanished_threads"));
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
	assert_counted("chain", "first", "mutex", 12);
	assert_counted("chain", "second", "mutex", 12);
	/* Twelve holds of 20 ms each. */
	assert_true(ask("first", "mutex", "wait", "sum(sum)") >= 12 * 20 * MS);
	assert_true(ask("second", "mutex", "wait", "sum(sum)") >= 12 * 20 * MS);
	assert_held_by("first", "second");
	assert_held_by("second", "third");
	assert_int_equal(ask("third", "mutex", "wait", "sum(count)"), 0);
	assert_agrees();
}

/* From the first begin of these threads' phases to their last end. */
static int64_t phase_ns(const char *phase, const char *word, int count)
{
	int64_t begin_ns = INT64_MAX, end_ns = 0;

	for (int i = 1; i <= count; i++) {
		char comm[16];
		json_t *said;

		snprintf(comm, sizeof(comm), "%s-%d", word, i);
		said = phase_of(phase, comm);
		if (number_at(said, "begin_ns") < begin_ns)
			begin_ns = number_at(said, "begin_ns");
		if (number_at(said, "end_ns") > end_ns)
			end_ns = number_at(said, "end_ns");
	}
	return end_ns - begin_ns;
}

/* assert_counted() for "word-1" to "word-N". */
static void assert_all_counted(const char *phase, const char *word, int count,
			       const char *operation, int64_t least)
{
	for (int i = 1; i <= count; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "%s-%d", word, i);
		assert_counted(phase, comm, operation, least);
	}
}

static void a_convoy_has_a_queue_and_short_turns(void **state)
{
	int64_t waits, turns_ns;

	record("convoy");
	/* A mutex that is free for a moment has no owner, and is a futex like others. */
	assert_all_counted("convoy", "convoy", 4, "%", 1);
	waits = ask("convoy-%", "mutex", "wait", "sum(count)");
	turns_ns = ask("convoy-%", "mutex", "turn", "sum(sum)");
	/* A turn ends with each wait, and whoever is not the last thread waits for another one. */
	assert_true(waits >= 3 * 60);
	assert_int_equal(ask("convoy-%", "mutex", "waiters", "max(max)"), 3);
	assert_true(ask("convoy-%", "mutex", "handed", "sum(sum)") > waits / 2);
	/* Somebody waits at least as long as one of them, and not before the first one begins. */
	assert_true(turns_ns >= ask("convoy-%", "mutex", "wait", "max(sum)"));
	assert_true(turns_ns <= phase_ns("convoy", "convoy", 4));
	assert_true(is_emulated() || says("Convoy at mutex shared in lockers: 4 threads"));
	assert_false(says("Thundering herd"));
	assert_agrees();
}

static void a_lock_that_is_held_long_has_long_turns(void **state)
{
	record("keeper");
	assert_all_counted("keeper", "kept", 2, "mutex", 12);
	assert_int_equal(ask("kept-%", "mutex", "waiters", "max(max)"), 2);
	/* Twelve turns of the keeper; those between the two that wait are short. */
	assert_true(ask("kept-%", "mutex", "turn", "sum(sum)") >= 12 * 60 * MS);
	assert_true(says("Held long: mutex shared in lockers was kept from its waiters"));
	/* Nor are its barriers herds, although all that they wake wait again soon. */
	assert_false(says("Convoy") || says("Thundering herd"));
	assert_agrees();
}

static json_t *lock_named(const char *name)
{
	json_t *signal = json_array_get(json_object_get(known.report, "signals"), 0), *lock;
	size_t i;

	json_array_foreach (json_object_get(signal, "locks"), i, lock)
		if (!strcmp(text_at(json_object_get(lock, "object"), "name"), name))
			return lock;
	fail_msg("no lock '%s'", name);
	return NULL;
}

/* The waits of both threads in one of the functions: the samples have all that are 10 ms long. */
static void assert_site(json_t *lock, const char *function, const char *phase)
{
	int64_t blocked_ns = number_at(phase_of(phase, "site-1"), "blocked_ns") +
			     number_at(phase_of(phase, "site-2"), "blocked_ns");
	json_t *site;
	size_t i;

	json_array_foreach (json_object_get(lock, "call_sites"), i, site) {
		if (strcmp(text_at(site, "function"), function) != 0)
			continue;
		print_message("# %s: %lld ns in the calls, %lld in the report\n", function,
			      (long long)blocked_ns, (long long)number_at(site, "ns"));
		assert_int_equal(number_at(site, "count"), 10);
		assert_int_equal(number_at(site, "samples"), 10);
		/* Its own clock also has the time until it got a CPU. */
		assert_in_range(number_at(site, "ns"), blocked_ns / 2, blocked_ns + 3 * MS);
		return;
	}
	fail_msg("no call site '%s'", function);
}

static void two_functions_that_ask_for_a_lock_are_told_apart(void **state)
{
	json_t *lock, *slice;
	int64_t most = 0;
	size_t i;

	record("sites");
	lock = lock_named("shared in lockers");
	assert_int_equal(number_at(lock, "count"), 20);
	assert_int_equal(json_array_size(json_object_get(lock, "call_sites")), 2);
	assert_site(lock, "ask_slowly", "slow");
	assert_site(lock, "ask_quickly", "quick");
	json_array_foreach (json_object_get(lock, "waiters"), i, slice) {
		assert_true(number_at(slice, "most") <= 2);
		if (number_at(slice, "most") > most)
			most = number_at(slice, "most");
	}
	assert_int_equal(most, 2);
	assert_agrees();
}

static void a_pool_waits_for_its_queue(void **state)
{
	record("pool");
	/* The waits for the condition, and for the mutex behind it. */
	assert_all_counted("pool", "pool", 8, "%", 1);
	/* Each item is for one of eight that wait, and in the end all are woken. */
	assert_true(ask("pool-%", "futex", "wait", "sum(count)") >= 120 + 8);
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
	/* A busy machine can cut one waking into two. One that was late has no need to wait for
	 * each product. */
	assert_true(assert_count("herd", "herd-1", "futex") >= 30);
	assert_true(in_vain <= said);
	assert_true(is_emulated() ||
		    (in_vain >= said * 9 / 10 && wakings >= 90 && wakings <= 2 * 121));
	assert_false(says("Convoy") || says("Held long"));
	assert_agrees();
}

static void faults_in_an_area_that_is_protected_wait_for_mmap_lock(void **state)
{
	record("storm");
	assert_all_counted("storm", "faulter", 4, "rwsem read", 30);
	assert_int_equal(query("SELECT count(*) FROM signal_sums WHERE operation LIKE 'rwsem %'"
			       " AND object NOT LIKE 'mmap_lock of lockers (pid %)'"),
			 0);
	assert_agrees();
}

static void writers_of_a_file_wait_for_its_i_rwsem(void **state)
{
	int64_t all = 0, waits;

	record_program("lock_kinds", "inode");
	for (int i = 1; i <= 4; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "writer-%d", i);
		all += number_at(phase_of("inode", comm), "waits");
	}
	/* In each of eight rounds, three of four wait for the lock: 5, 10 and 15 ms. */
	waits = ask("writer-%", "rwsem write", "wait", "sum(count)");
	assert_true(waits >= 8 * 3);
	/* Each of four also waits for its page. */
	assert_true(waits <= all - 8 * 4);
	assert_true(ask("writer-%", "rwsem write", "wait", "sum(sum)") >= 8 * 30 * MS);
	assert_int_equal(ask("writer-%", "rwsem write", "waiters", "max(max)"), 3);
	assert_int_equal(query("SELECT count(*) FROM signal_sums WHERE comm LIKE 'writer-%' AND"
			       " operation = 'rwsem write' AND"
			       " object NOT LIKE 'i_rwsem of /tmp/gapless-lockers-%'"),
			 0);
	assert_agrees();
}

static void two_processes_wait_for_each_other_s_file_lock(void **state)
{
	record_program("lock_kinds", "flock");
	/* Each keeps it until the other one waits. */
	assert_counted("flock", "locker-1", "flock", 25);
	assert_counted("flock", "locker-2", "flock", 25);
	assert_int_equal(query("SELECT count(DISTINCT place) FROM signal_sums WHERE operation ="
			       " 'flock' AND object LIKE '%gapless-lockers-%'"),
			 1);
	assert_agrees();
}

/* One wait of each kind, with its word and the name of what it waited for. */
static void every_kind_of_lock_has_its_word_and_a_name(void **state)
{
	static const struct {
		const char *comm, *operation, *object;
	} kinds[] = {
		{ "mutex", "mutex", "plain in lock_kinds" },
		{ "robust", "robust mutex", "robust in lock_kinds" },
		{ "pi", "pi mutex", "inheriting in lock_kinds" },
		{ "word", "futex", "word in lock_kinds" },
		{ "requeue", "futex", "source in lock_kinds" },
		{ "waitv", "futex_waitv", NULL },
		{ "condition", "futex", "condition% in lock_kinds" },
		{ "semaphore", "futex", "tokens in lock_kinds" },
		{ "reader", "futex", "guard% in lock_kinds" },
		{ "writer", "futex", "guard% in lock_kinds" },
		{ "semop", "semop", NULL },
		{ "flock", "flock", "%/tmp/gapless-lockers-%" },
		{ "fcntl", "fcntl", "%/tmp/gapless-lockers-%" },
		{ "ofd", "ofd lock", "%/tmp/gapless-lockers-%" },
	};

	record_program("lock_kinds", "kinds");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char sql[512];

		assert_counted("kinds", kinds[i].comm, kinds[i].operation, 1);
		/* None of it has another word. */
		assert_count("kinds", kinds[i].comm, "%");
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM signal_sums WHERE comm = '%s' AND measure = 'wait'"
			 " AND coalesce(object, '') LIKE '%s'",
			 kinds[i].comm, kinds[i].object ? kinds[i].object : "");
		if (query(sql) != 1)
			fail_msg("%s: no wait for '%s'", kinds[i].comm, kinds[i].object);
	}
	assert_agrees();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_chain_of_two_has_the_waits_of_both_links, tear_down),
		cmocka_unit_test_teardown(a_convoy_has_a_queue_and_short_turns, tear_down),
		cmocka_unit_test_teardown(a_lock_that_is_held_long_has_long_turns, tear_down),
		cmocka_unit_test_teardown(two_functions_that_ask_for_a_lock_are_told_apart,
					  tear_down),
		cmocka_unit_test_teardown(a_pool_waits_for_its_queue, tear_down),
		cmocka_unit_test_teardown(of_a_herd_all_but_one_are_woken_in_vain, tear_down),
		cmocka_unit_test_teardown(faults_in_an_area_that_is_protected_wait_for_mmap_lock,
					  tear_down),
		cmocka_unit_test_teardown(writers_of_a_file_wait_for_its_i_rwsem, tear_down),
		cmocka_unit_test_teardown(two_processes_wait_for_each_other_s_file_lock, tear_down),
		cmocka_unit_test_teardown(every_kind_of_lock_has_its_word_and_a_name, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
