/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tcp: what gapless counts of connections is what the kernel says of them itself. */
#include "../harness.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"

#define CONNECTIONS 4
#define MANY        1500
#define MOST_NOTED  1000
#define DELAY_NS    (60 * MS)
#define BULK        (4 << 20)

static char path[64];

/* Records a talker from its begin to its end; what it logged. */
static json_t *record(const char *const *talker)
{
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "tcp", "--level", "full", "--no-stacks"), talker,
			 &log);
	return log;
}

/* Asked of the file itself: a process for each of so many questions takes minutes in a VM. */
__attribute__((format(printf, 1, 2))) static int64_t query(const char *format, ...)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *file = NULL;
	char sql[1024];
	int64_t number;
	va_list args;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	if (sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(file, sql, -1, &statement, NULL) ||
	    sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("'%s': %s", sql, sqlite3_errmsg(file));
	number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(file);
	return number;
}

#define FROM_SUMS " FROM signal_sums WHERE signal = 'tcp' AND operation = '%s' AND measure = '%s'"

static int64_t count_of(const char *operation)
{
	return query("SELECT sum(count)" FROM_SUMS, operation, "time");
}

static int64_t sum_of(const char *operation, const char *measure)
{
	return query("SELECT sum(sum)" FROM_SUMS, operation, measure);
}

static int64_t sum_by(const char *operation, const char *measure, const char *object)
{
	return query("SELECT sum(sum)" FROM_SUMS " AND object = '%s'", operation, measure, object);
}

static int64_t events_of(const char *operation)
{
	return query("SELECT count(*) FROM events WHERE signal = 'tcp' AND operation = '%s'",
		     operation);
}

static json_t *logged(json_t *log, const char *key, const char *value)
{
	size_t i;
	json_t *line;

	json_array_foreach (log, i, line) {
		const char *text = json_string_value(json_object_get(line, key));

		if (json_object_get(line, key) && (!value || (text && !strcmp(text, value))))
			return line;
	}
	fail_msg("no '%s' in the log", key);
	return NULL;
}

static void assert_nothing_lost(void)
{
	static const char *const losses[] = { "events_lost",     "sums_unnamed", "unpaired",
					      "malformed",       "stale",        "untracked",
					      "recursion_misses" };

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		int64_t lost = query("SELECT value FROM quality WHERE name = 'tcp_%s'", losses[i]);

		/* Emulated programs are slow enough for packets to come in the midst of them. */
		if (is_emulated() && !strcmp(losses[i], "recursion_misses"))
			continue;
		if (lost)
			fail_msg("tcp_%s is %lld", losses[i], (long long)lost);
	}
}

static void end(json_t *log)
{
	assert_nothing_lost();
	json_decref(log);
	trial__remove(path);
}

/* What follows the look of the talker: a FIN each way, what answers it, and what is repeated. */
#define LATER_MOST 6

static void check_closed(json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "name"));
	int64_t out = number_at(line, "segments_out"), in = number_at(line, "segments_in");

	assert_int_equal(sum_by("send", "bytes", name), number_at(line, "sent"));
	assert_int_equal(sum_by("receive", "bytes", name), number_at(line, "received"));
	assert_in_range(sum_by("send", "segments", name), out + 1, out + LATER_MOST);
	assert_in_range(sum_by("receive", "segments", name), in + 1, in + LATER_MOST);
	assert_in_range(sum_by("retransmit", "segments", name), number_at(line, "retransmits"),
			number_at(line, "retransmits") + 2);
	/* Its timeline ends with the same totals. */
	assert_int_equal(query("SELECT fields ->> 'sent' FROM events WHERE signal = 'tcp' AND"
			       " operation = 'lifetime' AND object = '%s'",
			       name),
			 number_at(line, "sent"));
}

static void connections_have_the_bytes_and_segments_that_the_kernel_says(void **state)
{
	const int all = 2 * CONNECTIONS; /* of IPv4 and IPv6 */
	json_t *log = record(WORKLOAD("talker", "ipv4", "ipv6")), *line;
	size_t i;

	json_array_foreach (log, i, line)
		if (json_object_get(line, "name"))
			check_closed(line);
	assert_int_equal(json_array_size(log), 2 * all + 1);
	assert_int_equal(sum_of("retransmit", "segments"),
			 number_at(logged(log, "counters", NULL), "retransmits"));
	assert_int_equal(sum_of("send", "bytes"), 2 * (100004 + 10028));
	assert_int_equal(sum_of("receive", "bytes"), 2 * (100004 + 10028));
	assert_int_equal(count_of("connect"), all);
	assert_int_equal(count_of("accept"), all);
	assert_int_equal(count_of("lifetime"), 2 * all);
	/* Each waited to be accepted, which whoever connects does not notice. */
	assert_true(sum_of("accept", "time") >= all * DELAY_NS);
	assert_true(query("SELECT min(duration_ns) FROM events WHERE operation = 'accept'") >=
		    DELAY_NS);
	assert_true(sum_of("connect", "time") < sum_of("accept", "time"));
	assert_true(query("SELECT min(duration_ns) FROM events WHERE operation = 'lifetime'") >=
		    DELAY_NS);
	assert_int_equal(events_of("connect"), all);
	assert_int_equal(events_of("accept"), all);
	assert_int_equal(events_of("lifetime"), 2 * all);
	/* Somebody owns each of them. */
	assert_int_equal(query("SELECT count(*) FROM events WHERE signal = 'tcp' AND"
			       " comm IS NOT 'talker'"),
			 0);
	end(log);
}

static void connections_open_before_and_after_count_what_they_did_meanwhile(void **state)
{
	struct workload talker = workload__start(WORKLOAD("talker", "open"));
	char pid[16], text[512];
	struct trial trial;
	json_t *line;
	const char *name;

	workload__await_ready(&talker);
	snprintf(pid, sizeof(pid), "%d", talker.pid);
	trial = trial__start(ARGS("--signals", "tcp", "-p", pid));
	snprintf(path, sizeof(path), "%s", trial.path);
	workload__go(&talker);
	assert_non_null(fgets(text, sizeof(text), talker.log));
	line = json_loads(text, 0, NULL);
	assert_non_null(fgets(text, sizeof(text), talker.log));
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&talker);
	name = json_string_value(json_object_get(line, "name"));
	assert_int_equal(number_at(line, "sent"), 305000);
	assert_int_equal(sum_by("send", "bytes", name), 300000);
	assert_int_equal(sum_by("receive", "bytes", name), 70000);
	assert_int_equal(sum_of("send", "bytes"), 370000);
	assert_int_equal(sum_of("receive", "bytes"), 370000);
	assert_true(query("SELECT max FROM signal_sums WHERE operation = 'send' AND measure = 'rtt'"
			  " AND object = '%s'",
			  name) >= number_at(line, "rtt_ns"));
	assert_int_equal(count_of("lifetime"), 0);
	end(line);
}

static int64_t count_at(const char *operation, const char *place)
{
	return query("SELECT sum(count)" FROM_SUMS " AND place = '%s'", operation, "time", place);
}

static void check_unix(void)
{
	assert_int_equal(count_of("unix_send"), 100);
	assert_int_equal(sum_of("unix_send", "bytes"), 100000);
	/* Looking is not receiving. What starts the command is a byte through such a socket. */
	assert_in_range(count_of("unix_receive"), 100, 101);
	assert_int_equal(sum_of("unix_receive", "bytes") - 100000, count_of("unix_receive") - 100);
	assert_int_equal(query("SELECT sum(count) FROM signal_histograms WHERE signal = 'tcp' AND"
			       " operation = 'unix_send' AND measure = 'bytes'"),
			 100);
}

/* Three are refused, with a reset each; two are reset by the side that connected. */
static void failures_have_their_error_and_resets_their_sender(void **state)
{
	json_t *log = record(WORKLOAD("talker", "refused", "reset", "unix"));

	assert_int_equal(query("SELECT sum(count)" FROM_SUMS " AND errno = %d", "connect", "time",
			       ECONNREFUSED),
			 3);
	assert_int_equal(count_of("connect"), 5);
	assert_int_equal(count_of("lifetime"), 4);
	assert_int_equal(query("SELECT count(*) FROM events WHERE operation = 'connect' AND"
			       " errno = %d",
			       ECONNREFUSED),
			 3);
	assert_int_equal(number_at(logged(log, "counters", NULL), "resets"), 5);
	assert_int_equal(count_at("reset", "ours"), 2);
	assert_int_equal(count_at("reset", "theirs"), 5);
	assert_int_equal(events_of("reset"), 7);
	check_unix();
	end(log);
}

static int64_t limited_by(const char *place)
{
	return query("SELECT coalesce(sum(sum), 0)" FROM_SUMS " AND place = '%s'", "limited",
		     "time", place);
}

/*
 * The kernel's own numbers; on an emulated machine the connection can be busy for some more
 * milliseconds after its client has read them.
 */
static void assert_is_of_kernel(int64_t ns, int64_t read_ns)
{
	assert_in_range(ns, read_ns, read_ns + (is_emulated() ? 100 * MS : 0));
}

/* The only connection that sends so much: the parts are the kernel's, and so is the whole. */
static void check_limits(json_t *client)
{
	int64_t window_ns = limited_by("window"), buffer_ns = limited_by("buffer");

	assert_is_of_kernel(window_ns, number_at(client, "limited_ns"));
	assert_is_of_kernel(buffer_ns, number_at(client, "buffer_ns"));
	assert_is_of_kernel(limited_by("network") + window_ns + buffer_ns,
			    number_at(client, "busy_ns"));
}

static void closed_windows_and_full_queues_are_what_the_kernel_says(void **state)
{
	json_t *log = record(WORKLOAD("talker", "window", "overflow"));
	json_t *client = logged(log, "side", "client"), *counters = logged(log, "counters", NULL);

	assert_true(number_at(client, "limited_ns") > 0);
	check_limits(client);
	assert_int_equal(
		query("SELECT sum(sum)" FROM_SUMS " AND place = 'theirs'", "zero_window", "time"),
		number_at(client, "limited_ns"));
	assert_true(events_of("zero_window") >= 1);
	/* A look each second saw the reader's side. */
	assert_true(count_at("zero_window", "ours") >= 1);
	assert_int_equal(sum_of("send", "bytes"), BULK);
	assert_true(number_at(counters, "drops") >= 4);
	assert_int_equal(count_of("overflow"), number_at(counters, "drops"));
	assert_int_equal(query("SELECT count(*) FROM series WHERE operation = 'overflow'"), 1);
	assert_int_equal(sum_of("retransmit", "segments"), number_at(counters, "retransmits"));
	end(log);
}

/* Of `senders` connections that lost something on their way. */
static void check_retransmits(json_t *log, int senders)
{
	json_t *line;
	int64_t all = number_at(logged(log, "counters", NULL), "retransmits"), clients = 0;
	size_t i;

	json_array_foreach (log, i, line) {
		const char *name = json_string_value(json_object_get(line, "name"));

		if (!name || !number_at(line, "sent"))
			continue;
		assert_true(number_at(line, "retransmits") > 0);
		/* Its end may be repeated too, on a slow machine more than once. */
		assert_in_range(sum_by("retransmit", "segments", name),
				number_at(line, "retransmits"), all);
		clients++;
	}
	assert_int_equal(clients, senders);
	assert_int_equal(sum_of("retransmit", "segments"), all);
	assert_int_equal(count_of("retransmit"), all);
	assert_in_range(events_of("retransmit"), 1, all);
	assert_int_equal(sum_of("send", "bytes"), senders * BULK);
	assert_int_equal(sum_of("receive", "bytes"), senders * BULK);
	end(log);
}

/* IPv4, then IPv6. */
static void retransmits_are_those_of_the_kernel(void **state)
{
	check_retransmits(record(WORKLOAD("talker", "lossy", "lossy6")), 2);
}

static void retransmits_under_netem_are_those_of_the_kernel(void **state)
{
	if (!is_emulated()) {
		print_message("# skip: netem is in the VMs' kernels only\n");
		skip();
	}
	check_retransmits(record(WORKLOAD("talker", "netem")), 1);
}

/*
 * What was missed because a packet came in the midst of a program is known, and is the most that
 * may be missing. Only in an emulated machine is that ever more than nothing.
 */
static void assert_all_but_missed(int64_t is, int64_t should, int64_t unit)
{
	int64_t missed = query("SELECT value FROM quality WHERE name = 'tcp_recursion_misses'");

	if (is > should || is < should - missed * unit)
		fail_msg("%lld instead of %lld, %lld were missed", (long long)is, (long long)should,
			 (long long)missed);
}

static void many_short_connections_are_counted_each_but_few_are_objects(void **state)
{
	json_t *log = record(WORKLOAD("talker", "churn"));
	int64_t objects = query("SELECT count(*) FROM object WHERE kind = 'connection'");

	assert_all_but_missed(count_of("connect"), MANY, 1);
	assert_all_but_missed(count_of("accept"), MANY, 1);
	assert_all_but_missed(count_of("lifetime"), 2 * MANY, 1);
	assert_all_but_missed(sum_of("send", "bytes"), 10 * MANY, 10);
	assert_all_but_missed(sum_of("receive", "bytes"), 10 * MANY, 10);
	assert_int_equal(query("SELECT sum(count) FROM signal_histograms WHERE signal = 'tcp' AND"
			       " operation = 'lifetime' AND measure = 'time'"),
			 count_of("lifetime"));
	assert_true(objects >= MOST_NOTED);
	assert_true(objects < 2 * MANY);
	/* One side connected to it, the other accepted at it. */
	assert_int_equal(query("SELECT count(*) FROM object WHERE kind = 'service'"), 2);
	assert_all_but_missed(count_of("connect") + count_of("accept") + count_of("lifetime"),
			      events_of("connect") + events_of("accept") + events_of("lifetime") +
				      query("SELECT value FROM quality"
					    " WHERE name = 'tcp_events_unsent'"),
			      1);
	end(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_have_the_bytes_and_segments_that_the_kernel_says),
		cmocka_unit_test(connections_open_before_and_after_count_what_they_did_meanwhile),
		cmocka_unit_test(failures_have_their_error_and_resets_their_sender),
		cmocka_unit_test(closed_windows_and_full_queues_are_what_the_kernel_says),
		cmocka_unit_test(retransmits_are_those_of_the_kernel),
		cmocka_unit_test(retransmits_under_netem_are_those_of_the_kernel),
		HERE(many_short_connections_are_counted_each_but_few_are_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
