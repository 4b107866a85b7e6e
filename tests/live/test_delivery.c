/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delivery: each time is within what the program's own clock allows. */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>

#include "ledger.h"

#define MESSAGES 40
#define BYTES    100
#define BURSTS   5
#define BURST    10
#define LATE_NS  (5 * MS)
#define GAP_NS   (2 * MS)

static char recording[64];
static json_t *logged; /* what the workload says itself */

static int record_once(void **state)
{
	trial__path(recording, sizeof(recording));
	trial__record_at(recording, ARGS("--signals", "delivery", "--slow", "1us"),
			 WORKLOAD("deliveries"), &logged);
	return 0;
}

static int release(void **state)
{
	trial__remove(recording);
	json_decref(logged);
	return 0;
}

/* `what` of the sums of a thread's operation and measure. */
static int64_t ask(const char *what, const char *operation, const char *measure, const char *comm)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from signal_sums where signal = 'delivery' and"
		 " operation = '%s' and measure = '%s' and comm = '%s'",
		 what, operation, measure, comm);
	return trial__ask(recording, sql);
}

/* The line that has this key. */
static json_t *line_of(const char *key)
{
	json_t *line;
	size_t i;

	json_array_foreach (logged, i, line)
		if (json_object_get(line, key))
			return line;
	fail_msg("no '%s' in the log", key);
	return NULL;
}

static void expect_within(int64_t sum_ns, const char *key)
{
	json_t *bounds = line_of(key);

	print_message("# %s: %" PRId64 " ns, by the program's clock %" PRId64 " to %" PRId64 "\n",
		      key, sum_ns, number_at(bounds, "least_ns"), number_at(bounds, "most_ns"));
	assert_in_range(sum_ns, number_at(bounds, "least_ns"), number_at(bounds, "most_ns"));
}

static void what_is_read_late_has_been_there_as_long(void **state)
{
	assert_int_equal(ask("count", "receive", "time", "reader"), MESSAGES);
	assert_true(ask("sum", "receive", "time", "reader") >= MESSAGES * LATE_NS);
	expect_within(ask("sum", "receive", "time", "reader"), "received");
	assert_int_equal(ask("sum", "receive", "queued", "reader"), 0);
}

static void what_is_sent_ends_with_its_acknowledgement(void **state)
{
	if (!ask("count", "send", "time", "sender")) {
		print_message("# skip: this kernel has no hook for sends\n");
		skip();
	}
	assert_int_equal(ask("count", "send", "time", "sender"), MESSAGES);
	expect_within(ask("sum", "send", "time", "sender"), "sent");
	assert_int_equal(ask("sum", "send", "queued", "sender"), 0);
}

/* Not the last of a burst, but the first, which has been there for longest. */
static void the_first_of_what_waits_is_timed(void **state)
{
	assert_int_equal(ask("count", "receive", "time", "late"), BURSTS);
	assert_true(ask("sum", "receive", "time", "late") >=
		    BURSTS * (LATE_NS + (BURST - 1) * GAP_NS));
	expect_within(ask("sum", "receive", "time", "late"), "bursts");
	assert_int_equal(ask("sum", "receive", "queued", "late"), BURSTS * (BURST - 1) * BYTES);
}

static void connections_have_names_and_each_is_in_the_histogram_of_its_port(void **state)
{
	assert_int_equal(trial__ask(recording,
				    "select count(*) from signal_sums where signal = 'delivery'"
				    " and object not like '127.0.0.1:% ↔ 127.0.0.1:%'"),
			 0);
	assert_int_equal(trial__ask(recording,
				    "select count(distinct place) from signal_sums where signal ="
				    " 'delivery' and place like 'port %'"),
			 1);
	assert_int_equal(trial__ask(recording,
				    "select (select sum(count) from signal_histograms where"
				    " signal = 'delivery') - (select sum(count) from signal_sums"
				    " where signal = 'delivery')"),
			 0);
	assert_int_equal(trial__ask(recording,
				    "select count(*) from events where signal = 'delivery' and"
				    " comm = 'reader' and operation = 'receive' and duration_ns"
				    " >= 5000000"),
			 MESSAGES);
	assert_int_equal(trial__ask(recording, "select coalesce(sum(value), 0) from quality where"
					       " name in ('delivery_events_lost',"
					       " 'delivery_sums_unnamed', 'delivery_untracked',"
					       " 'delivery_not_in_histograms',"
					       " 'delivery_malformed')"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_late_has_been_there_as_long),
		cmocka_unit_test(what_is_sent_ends_with_its_acknowledgement),
		cmocka_unit_test(the_first_of_what_waits_is_timed),
		cmocka_unit_test(connections_have_names_and_each_is_in_the_histogram_of_its_port),
	};

	return cmocka_run_group_tests(tests, record_once, release);
}
