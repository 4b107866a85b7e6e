/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that one thread reads and another one answers, and links between requests: each request
 * of the workload has a number in its path, which is sent on, so a link between two numbers is
 * wrong.
 */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"

#define CONNECTIONS_MANY "8"
#define CONNECTIONS_FEW  "2"

/* The windows of the server that the workload's clients ask. */
#define OF_SERVER(table)                                                                           \
	" FROM " table " t JOIN window_class c ON c.id = t.class WHERE c.kind = 'server'"

static const char *requests(void)
{
	return is_emulated() ? "40" : "250";
}

static json_t *record(const char *path, const char *mode, const char *connections)
{
	json_t *log = NULL;

	trial__record_at(path, ARGS("--no-report", "--no-stacks", "--signals", "none", "--force"),
			 WORKLOAD("handover", mode, connections, requests()), &log);
	return log;
}

static int64_t counted(const char *path, const char *name)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT ifnull(sum(value), -1) FROM quality WHERE name = '%s'",
		 name);
	return trial__ask(path, sql);
}

/* Sum of a part over all windows of the server. */
static int64_t part_ns(const char *path, const char *part)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT ifnull(sum(t.ns), 0)" OF_SERVER("window_time") " AND t.part = '%s'", part);
	return trial__ask(path, sql);
}

static void assert_share(const char *what, int64_t part, int64_t all, int64_t most_percent)
{
	if (part * 100 > all * most_percent)
		fail_msg("%s: %" PRId64 " of %" PRId64, what, part, all);
}

/*
 * Every request is counted, and nothing was lost. Parts add up to the length, but for the few
 * requests to which two threads added at the same moment; these are counted.
 */
static void assert_exact(const char *path, int64_t expected)
{
	int64_t unequal = trial__ask(
		path, "SELECT count(*) FROM window w JOIN (SELECT window, sum(CASE part WHEN "
		      "'overlap' THEN -ns ELSE ns END) AS ns FROM window_part GROUP BY 1) p ON "
		      "p.window = w.id WHERE w.end_ns - w.ready_ns != p.ns");

	assert_int_equal(trial__ask(path, "SELECT sum(t.count)" OF_SERVER("window_band")),
			 expected);
	assert_int_equal(counted(path, "windows_lost"), 0);
	assert_true(counted(path, "windows_remainder") >= unequal);
	assert_share("parts that do not add up", counted(path, "windows_remainder"), expected, 1);
}

/* Kept windows and the kept windows that they work for have the same number. */
static void assert_links_are_right(const char *path)
{
	static const char pairs[] =
		"WITH i AS (SELECT id, parent, substr(text, 5, instr(substr(text, 5), ' ')) AS "
		"number FROM window WHERE text LIKE 'GET /id/%') SELECT ";
	char sql[512];

	snprintf(sql, sizeof(sql), "%scount(*) FROM i JOIN i p ON p.id = i.parent", pairs);
	assert_true(trial__ask(path, sql) > 0);
	snprintf(sql, sizeof(sql),
		 "%scount(*) FROM i JOIN i p ON p.id = i.parent WHERE i.number != p.number", pairs);
	assert_int_equal(trial__ask(path, sql), 0);
}

static void print_against(const char *what, int64_t is_ns, int64_t should_ns, int64_t count)
{
	print_message("# %s: %" PRId64 " ns of %" PRId64 " ns a request\n", what, is_ns / count,
		      should_ns / count);
}

/* `most_unknown`: percent of the requests of which it may be unknown when their worker began. */
static void check_pool(const char *connections, int64_t most_unknown)
{
	int64_t count = strtoll(connections, NULL, 10) * strtoll(requests(), NULL, 10);
	int64_t queue_ns, work_ns, unknown;
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	log = record(path, "pool", connections);
	queue_ns = number_at(json_array_get(log, 0), "queue_ns");
	work_ns = number_at(json_array_get(log, 0), "work_ns");
	assert_exact(path, count);
	assert_links_are_right(path);
	unknown = counted(path, "windows_unhanded");
	print_message("# unknown: %" PRId64 " of %" PRId64 "\n", unknown, count);
	print_against("in the queue", part_ns(path, "handed"), queue_ns, count);
	print_against("worked", part_ns(path, "own"), work_ns, count);
	if (!is_emulated())
		assert_share("unknown", unknown, count, most_unknown);
	/* The workers' sleep is theirs, and not the queue's. */
	if (!is_emulated())
		assert_true(part_ns(path, "own") >= work_ns / 100 * (90 - most_unknown));
	assert_true(counted(path, "links_by_edge") + counted(path, "links_by_inference") >=
		    count - unknown);
	json_decref(log);
	trial__remove(path);
}

static void a_busy_pool_has_its_queue_and_its_work(void **state)
{
	check_pool(CONNECTIONS_MANY, 2);
}

static void workers_that_are_woken_have_their_work(void **state)
{
	check_pool(CONNECTIONS_FEW, 15);
}

static void every_request_of_a_local_client_has_it_as_parent(void **state)
{
	char path[64];
	int64_t all, linked;

	trial__path(path, sizeof(path));
	json_decref(record(path, "pool", CONNECTIONS_MANY));
	all = trial__ask(path, "SELECT count(*)" OF_SERVER("window"));
	linked = trial__ask(path, "SELECT count(*)" OF_SERVER(
					  "window") " AND t.evidence = 'socket' AND t.parent != 0");
	assert_share("without a parent", all - linked, all, 5);
	trial__remove(path);
}

/* A connection that becomes free is used for another request than the one that was served last. */
static void check_proxy(const char *mode)
{
	int64_t count = 2 * 6 * strtoll(requests(), NULL, 10);
	char path[64];

	trial__path(path, sizeof(path));
	json_decref(record(path, mode, "6"));
	assert_exact(path, count);
	assert_links_are_right(path);
	print_message("# %s: %" PRId64 " links contradicted\n", mode,
		      counted(path, "windows_contradicted"));
	trial__remove(path);
}

static void no_link_of_a_pool_of_connections_is_wrong(void **state)
{
	check_proxy("proxy");
}

static void a_connection_that_is_given_away_before_the_answer_makes_no_wrong_link(void **state)
{
	check_proxy("eager");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_pool_has_its_queue_and_its_work),
		HERE(workers_that_are_woken_have_their_work),
		HERE(every_request_of_a_local_client_has_it_as_parent),
		cmocka_unit_test(no_link_of_a_pool_of_connections_is_wrong),
		HERE(a_connection_that_is_given_away_before_the_answer_makes_no_wrong_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
