/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to a report, and what has to be so in each. */
#include "ledger.h"

#include "../harness.h"

#include <inttypes.h>
#include <unistd.h>

#include "recording/recording.h"

int64_t number_at(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("the report has no number '%s'", key);
	return json_integer_value(value);
}

int64_t quality(json_t *report, const char *counter)
{
	return number_at(json_object_get(report, "quality"), counter);
}

/* A string that is missing or null is empty. */
const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_any_or(const char *wanted, json_t *object, const char *key)
{
	return !wanted || !strcmp(wanted, text_at(object, key));
}

static int64_t sum(json_t *report, const char *comm, const char *state, const char *cause,
		   const char *key)
{
	json_t *thread, *entry;
	int64_t total = 0;
	size_t i, j;

	json_array_foreach (json_object_get(report, "threads"), i, thread) {
		if (!is_any_or(comm, thread, "comm"))
			continue;
		json_array_foreach (json_object_get(thread, "states"), j, entry)
			if (is_any_or(state, entry, "state") && is_any_or(cause, entry, "cause"))
				total += number_at(entry, key);
	}
	return total;
}

int64_t sum_ns(json_t *report, const char *comm, const char *state, const char *cause)
{
	return sum(report, comm, state, cause, "ns");
}

int64_t sum_count(json_t *report, const char *comm, const char *state, const char *cause)
{
	return sum(report, comm, state, cause, "count");
}

size_t threads_named(json_t *report, const char *comm)
{
	json_t *thread;
	size_t i, count = 0;

	json_array_foreach (json_object_get(report, "threads"), i, thread)
		count += is_any_or(comm, thread, "comm");
	return count;
}

json_t *thread_named(json_t *report, const char *comm)
{
	json_t *thread, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(report, "threads"), i, thread)
		if (is_any_or(comm, thread, "comm"))
			found = thread;
	if (threads_named(report, comm) != 1)
		fail_msg("%zu threads '%s', expected one", threads_named(report, comm), comm);
	return found;
}

json_t *wait_of(json_t *report, const char *comm, const char *cause)
{
	json_t *wait, *longest = NULL;
	size_t i;

	json_array_foreach (json_object_get(report, "waits"), i, wait) {
		if (strcmp(text_at(json_object_get(wait, "waiter"), "comm"), comm) ||
		    strcmp(text_at(wait, "cause"), cause))
			continue;
		if (!longest || number_at(wait, "ns") > number_at(longest, "ns"))
			longest = wait;
	}
	if (!longest)
		fail_msg("no wait of '%s' for '%s'", comm, cause);
	return longest;
}

const char *culprit_of(json_t *wait)
{
	return text_at(json_object_get(wait, "by"), "comm");
}

json_t *syscall_named(json_t *report, const char *name)
{
	json_t *call;
	size_t i;

	json_array_foreach (json_object_get(report, "syscalls"), i, call)
		if (!strcmp(text_at(call, "name"), name))
			return call;
	return NULL;
}

static void assert_nothing_lost(json_t *report)
{
	static const char *const counters[] = { "lost_ring_full", "lost_map_full",
						"negative_intervals", "no_storage",
						"malformed_records" };

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (quality(report, counters[i]))
			fail_msg("%s: %" PRId64, counters[i], quality(report, counters[i]));
}

/* No thread lives longer than the recording, and no state of it lasts a negative time. */
static void assert_possible(json_t *report, json_t *thread)
{
	int64_t life_ns = 0;
	json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(thread, "states"), i, entry) {
		life_ns += number_at(entry, "ns");
		if (number_at(entry, "ns") < 0 || number_at(entry, "count") < 0)
			fail_msg("thread '%s' has a negative account of %s.%s",
				 text_at(thread, "comm"), text_at(entry, "state"),
				 text_at(entry, "cause"));
	}
	if (life_ns > number_at(report, "wall_ns"))
		fail_msg("thread '%s' lived %" PRId64 " ns in a recording of %" PRId64,
			 text_at(thread, "comm"), life_ns, number_at(report, "wall_ns"));
}

void assert_closes(json_t *report)
{
	json_t *thread, *entry;
	int64_t states_ns = 0;
	size_t i;

	assert_int_equal(number_at(report, "remainder_ns"), 0);
	json_array_foreach (json_object_get(report, "threads"), i, thread)
		assert_possible(report, thread);
	json_array_foreach (json_object_get(report, "states"), i, entry)
		states_ns += number_at(entry, "ns");
	assert_int_equal(states_ns, number_at(report, "threads_ns"));
	assert_int_equal(sum_ns(report, NULL, NULL, NULL), number_at(report, "threads_ns"));
	assert_nothing_lost(report);
}

/* Σ account − Σ waits by (thread, cause, kind): what either lacks, and what may be lost. */
#define WAITS_AGAINST_ACCOUNT                                                                      \
	"WITH d AS (SELECT thread, state, sum(ns) AS ns FROM (SELECT a.thread, a.state, a.ns FROM" \
	" account a JOIN state s ON s.id = a.state WHERE s.state = 'wait' UNION ALL"               \
	" SELECT thread, state, -ns FROM wait) GROUP BY thread, state), q AS (SELECT"              \
	" sum(value) FILTER (WHERE name = 'waits_without_account_ns') AS without_account,"         \
	" sum(value) FILTER (WHERE name = 'unnamed_wait_ns') AS unnamed,"                          \
	" sum(value) FILTER (WHERE name IN ('lost_map_full', 'vanished_threads')) AS losses"       \
	" FROM quality) SELECT coalesce(sum(max(ns, 0)), 0), coalesce(sum(max(-ns, 0)), 0),"       \
	" q.without_account, q.unnamed, q.losses FROM q LEFT JOIN d"                               \
	" WHERE (SELECT value FROM meta WHERE key = 'complete') = 1"

void assert_waits_agree(const char *path)
{
	sqlite3_stmt *statement;
	int64_t value[5];
	sqlite3 *db;

	if (access(path, F_OK) || recording__open(path, &db))
		return;
	assert_int_equal(sqlite3_prepare_v2(db, WAITS_AGAINST_ACCOUNT, -1, &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	for (int i = 0; i < 5; i++)
		value[i] = sqlite3_column_int64(statement, i);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	if (value[0] || value[1] > value[2] || (value[3] && !value[4]))
		fail_msg("waits and accounts disagree: %" PRId64 " ns without a wait, %" PRId64
			 " without an account (%" PRId64 " counted), %" PRId64
			 " without a name (%" PRId64 " losses) in '%s'",
			 value[0], value[1], value[2], value[3], value[4], path);
}

/* One interval that could not be explained is within 0.01 % of 30 s, and not of these tests. */
#define EXCUSABLE_NS (5 * MS)

void assert_explained(json_t *report)
{
	int64_t unexplained_ns = number_at(report, "unexplained_ns");
	int64_t threads_ns = number_at(report, "threads_ns");

	assert_true(threads_ns > 0);
	assert_int_equal(sum_ns(report, NULL, "unseen", NULL), 0);
	if ((unexplained_ns - EXCUSABLE_NS) * 10000 > threads_ns)
		fail_msg("%" PRId64 " of %" PRId64
			 " ns are unexplained (impossible transitions %" PRId64
			 ", missed wakeups %" PRId64 ")",
			 unexplained_ns, threads_ns, quality(report, "impossible_transitions"),
			 quality(report, "missed_wakeups"));
}

/*
 * 1 % or 200 µs, whichever is larger, is what the ledger promises and what the benchmarks hold it
 * to (GAPLESS_STRICT). Continuous integration shares its machine: a thread can be preempted between
 * reading its clock and entering the kernel, so a miss there is not the ledger's.
 */
int64_t slack_ns(int64_t ns)
{
	bool strict = getenv("GAPLESS_STRICT");
	int64_t share = ns * (strict ? 1 : 3) / 100, least = strict ? MS / 5 : 3 * MS;

	return share > least ? share : least;
}

void assert_near(const char *what, int64_t is_ns, int64_t should_ns)
{
	int64_t off = is_ns > should_ns ? is_ns - should_ns : should_ns - is_ns;

	if (!is_emulated() && off > slack_ns(should_ns))
		fail_msg("%s: %" PRId64 " ns, should be %" PRId64 " ± %" PRId64, what, is_ns,
			 should_ns, slack_ns(should_ns));
}

void assert_waited(json_t *report, const char *comm, const char *cause, int64_t blocked_ns)
{
	int64_t slack = slack_ns(blocked_ns);
	int64_t wait_ns = sum_ns(report, comm, "wait", cause);
	int64_t behind_ns = sum_ns(report, comm, "ready", NULL) + sum_ns(report, comm, "run", NULL);

	if (wait_ns > blocked_ns + slack || wait_ns + behind_ns < blocked_ns - slack)
		fail_msg("'%s' was %" PRId64 " ns in its calls; the ledger has %" PRId64
			 " waiting for %s, and %" PRId64 " running and ready",
			 comm, blocked_ns, wait_ns, cause, behind_ns);
}
