/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions to the store: times, SQL, rows, periods, and what is said about them. */
#include "../harness.h"

#include "base/cleanup.h"
#include "fleet.h"
#include "fleet/moment.h"
#include "fleet/where.h"
#include "fleet/where_words.h"

#define NOW    UINT64_C(1794943980) /* 2026-11-17 19:33:00 */
#define HOUR_S UINT64_C(3600)
#define HOUR   (NOW / HOUR_S * HOUR_S)
#define SECOND UINT64_C(1000000000)

/* --- times ------------------------------------------------------------------------------------ */

static void moment_is(const char *text, const char *expected)
{
	uint64_t at_s = 0;

	assert_int_equal(moment__parse(text, NOW, &at_s), 0);
	assert_string_equal(moment__words(at_s).text, expected);
}

static void moment_fails(const char *text)
{
	uint64_t at_s = 7;

	assert_int_not_equal(moment__parse(text, NOW, &at_s), 0);
	assert_int_equal(at_s, 7);
}

static void moments_are_durations_times_of_day_and_dates(void **state)
{
	moment_is("now", "2026-11-17 19:33");
	moment_is("3h", "2026-11-17 16:33");
	moment_is("90s", "2026-11-17 19:31:30");
	moment_is("2d", "2026-11-15 19:33");
	moment_is("14:20", "2026-11-17 14:20");
	moment_is("23:00", "2026-11-16 23:00");
	moment_is("2026-11-17", "2026-11-17 00:00");
	moment_is("2026-11-17 03:00", "2026-11-17 03:00");
	moment_is("2026-11-17T03:00:05Z", "2026-11-17 03:00:05");
	moment_is("2026-11-17 03:00+01:00", "2026-11-17 02:00");
	moment_is("2026-11-17 03:00-0230", "2026-11-17 05:30");
	moment_is("@1794943980", "2026-11-17 19:33");
}

static void moments_refuse_what_is_none(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "3",
					   "0d",
					   "-3h",
					   "25:00",
					   "2026-02-30",
					   "2026-13-01",
					   "2026-11-17 03:00+1",
					   "2026-11-17 03:00Zx",
					   "2026-11-17x",
					   "1960-01-01",
					   "@x",
					   "@",
					   "9999999999d",
					   "2026-11-17 00000000000000000000000000000000000:00" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		moment_fails(bad[i]);
}

static void spans_repeat_the_date_only_if_it_differs(void **state)
{
	assert_string_equal(moment__span(HOUR, HOUR + HOUR_S).text,
			    "2026-11-17 19:00 to 20:00 UTC");
	assert_string_equal(moment__span(HOUR, HOUR + 10 * HOUR_S).text,
			    "2026-11-17 19:00 to 2026-11-18 05:00 UTC");
}

/* --- SQL -------------------------------------------------------------------------------------- */

static void quoted_texts_cannot_end_their_quotes(void **state)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__quote(&query, "x' OR 1=1 --");
	query__quote(&query, "\\' \n\t\x01\x7f ü");
	assert_string_equal(query__finish(&query),
			    "'x\\' OR 1=1 --''\\\\\\' \\x0A\\x09\\x01\\x7F ü'");
}

static void tables_of_a_cluster_are_those_over_all_shards(void **state)
{
	const struct query_tables one = { "gapless", false }, many = { "fleet", true };
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__table(&query, &one, "ledger");
	query__add(&query, " ");
	query__table(&query, &many, "ledger");
	assert_string_equal(query__finish(&query), "gapless.ledger fleet.ledger_all");
}

/* --- rows ------------------------------------------------------------------------------------- */

struct seen {
	char text[512];
};

static int note_row(void *context, char *const *fields)
{
	struct seen *seen = context;
	size_t length = strlen(seen->text);

	snprintf(seen->text + length, sizeof(seen->text) - length, "<%s|%s>", fields[0], fields[1]);
	return 0;
}

static int read_rows(const char *bytes, size_t size, size_t part, struct seen *seen)
{
	struct tsv tsv = { .columns = 2, .take = note_row, .context = seen };
	int err = 0;

	*seen = (struct seen) {};
	for (size_t at = 0; at < size && !err; at += part)
		err = tsv__feed(&tsv, bytes + at, part < size - at ? part : size - at);
	err = err ?: tsv__end(&tsv);
	tsv__release(&tsv);
	return err;
}

static void rows_are_read_however_they_arrive(void **state)
{
	static const char text[] = "a\tb\n\\\\n\\t\\n\\'\\0\t\\N\n\t\n";
	struct seen seen;

	for (size_t part = 1; part < sizeof(text); part++) {
		assert_int_equal(read_rows(text, sizeof(text) - 1, part, &seen), 0);
		assert_string_equal(seen.text, "<a|b><\\n\t\n'?|><|>");
	}
}

static void rows_that_are_none_are_refused(void **state)
{
	struct seen seen;

	assert_int_equal(read_rows("a\n", 2, 9, &seen), -EBADMSG);
	assert_int_equal(read_rows("a\tb\tc\n", 6, 9, &seen), -EBADMSG);
	assert_int_equal(read_rows("a\tb", 3, 9, &seen), -EBADMSG);
	assert_int_equal(read_rows("a\tb\\\n", 5, 9, &seen), -EBADMSG);
	assert_int_equal(read_rows("a\0\tb\n", 5, 9, &seen), -EBADMSG);
	assert_int_equal(read_rows("Code: 241. DB::Exception\n", 25, 99, &seen), -EBADMSG);
}

static void a_row_without_end_does_not_fill_the_memory(void **state)
{
	struct tsv tsv = { .columns = 2, .take = note_row };
	char block[4096];
	int err = 0;

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 4096 && !err; i++)
		err = tsv__feed(&tsv, block, sizeof(block));
	assert_int_equal(err, -EFBIG);
	tsv__release(&tsv);
}

static void lists_are_numbers_in_brackets(void **state)
{
	static const char *const bad[] = {
		"", "1", "[", "[1", "[1,", "[,1]", "[x]", "[1]x", "[99999999999999999999]", "[-1]"
	};
	const char *at = "[1,18446744073709551615]";
	uint64_t number;

	assert_int_equal(tsv__next(&at, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(tsv__next(&at, &number), 0);
	assert_true(number == UINT64_MAX);
	assert_int_equal(tsv__next(&at, &number), -ENOENT);
	at = "[]";
	assert_int_equal(tsv__next(&at, &number), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int err = 0;

		at = bad[i];
		while (!err)
			err = tsv__next(&at, &number);
		assert_int_equal(err, -EBADMSG);
	}
}

/* --- periods ---------------------------------------------------------------------------------- */

static void whole_hours_with_sums_are_read_from_them(void **state)
{
	const uint64_t hours[] = { HOUR - HOUR_S, HOUR, HOUR + 2 * HOUR_S, HOUR + 3 * HOUR_S };
	struct period period = {
		.tenant = "", .service = "x'", .from_s = HOUR - 60, .to_s = HOUR + 3 * HOUR_S + 60
	};
	cleanup(query__release) struct query query = {};

	assert_int_equal(period__divide(&period, hours, 4), 0);
	assert_int_equal(period.count, 5);
	assert_false(period.parts[0].is_hourly);
	assert_int_equal(period.parts[1].from_s, HOUR);
	assert_int_equal(period.parts[1].to_s, HOUR + HOUR_S);
	assert_true(period.parts[1].is_hourly);
	/* The hour without sums. */
	assert_false(period.parts[2].is_hourly);
	assert_true(period.parts[3].is_hourly);
	assert_int_equal(period.parts[4].from_s, HOUR + 3 * HOUR_S);
	query__begin(&query);
	period__condition(&period, true, &query);
	assert_string_equal(query__finish(&query),
			    "tenant = '' AND service = 'x\\'' AND ("
			    "hour >= toDateTime(1794942000) AND hour < toDateTime(1794945600) OR "
			    "hour >= toDateTime(1794949200) AND hour < toDateTime(1794952800))");
	period__release(&period);
}

static void a_period_without_sums_is_read_from_minutes(void **state)
{
	const struct query_tables tables = { "gapless", false };
	const struct period_source source = { "hours", "minutes", "ns" };
	struct period period = { .tenant = "t", .service = "s", .from_s = 60, .to_s = 120 };
	cleanup(query__release) struct query query = {};

	assert_int_equal(period__divide(&period, NULL, 0), 0);
	query__begin(&query);
	period__rows(&period, &tables, &source, &query);
	assert_string_equal(
		query__finish(&query),
		"(SELECT ns FROM gapless.minutes WHERE tenant = 't' AND service = 's' AND "
		"(bucket >= toDateTime(60) AND bucket < toDateTime(120)))");
	period__release(&period);
}

/* Three hours with sums, of which `rows` are left; the result is a letter for each part. */
static void parts_are(const char *total, const char *rows, uint64_t now_s, const char *expected,
		      uint64_t unchecked_s)
{
	const struct fleet_line lines[] = {
		FLEET_ABOUT,
		{ "sum(rows)", "1794942000\t10\n1794945600\t20\n1794949200\t30\n", 0 },
		{ "SELECT count()", total, 0 },
		{ "toStartOfHour(bucket)", rows, 0 },
		{},
	};
	struct fleet_store store = { .script = lines };
	struct connection *connection = fleet_open(&store);
	struct period period = {
		.tenant = "", .service = "x", .from_s = HOUR, .to_s = HOUR + 3 * HOUR_S
	};
	char text[16] = "";

	assert_int_equal(period__find(&period, connection, &service_account_source, now_s), 0);
	for (size_t i = 0; i < period.count; i++)
		strcat(text, period.parts[i].is_hourly ? "h" : "m");
	assert_string_equal(text, expected);
	assert_int_equal(period.unchecked_s, unchecked_s);
	period__release(&period);
	fleet_close(&store, connection);
}

static void an_hour_with_more_rows_than_its_sums_is_read_from_minutes(void **state)
{
	parts_are("60\n", "", NOW, "h", 0);
	/* Rows of the second hour came late, or a server left them out. */
	parts_are("65\n", "1794942000\t10\n1794945600\t25\n1794949200\t30\n", NOW, "hmh", 0);
	/* The rows of the first hour are being dropped, those of the last one came late. */
	parts_are("59\n", "1794942000\t2\n1794945600\t20\n1794949200\t37\n", NOW, "hm", 0);
}

static void hours_whose_rows_have_expired_are_not_compared(void **state)
{
	parts_are("not asked\n", "", HOUR + 15 * PERIOD_DAY_S, "h", 3 * HOUR_S);
	parts_are("50\n", "", HOUR + 14 * PERIOD_DAY_S + 60, "h", HOUR_S);
}

static uint64_t expired_of(const char *sums, uint64_t from_s, uint64_t to_s, uint64_t now_s)
{
	const struct fleet_line lines[] = { FLEET_ABOUT,
					    { "sum(rows)", sums, 0 },
					    { "SELECT count()", "0\n", 0 },
					    { "toStartOfHour(bucket)", "", 0 },
					    {} };
	struct fleet_store store = { .script = lines };
	struct connection *connection = fleet_open(&store);
	struct period period = { .tenant = "", .service = "x", .from_s = from_s, .to_s = to_s };

	assert_int_equal(period__find(&period, connection, &service_account_source, now_s), 0);
	period__release(&period);
	fleet_close(&store, connection);
	return period.expired_s;
}

static void time_with_neither_sums_nor_rows_is_counted(void **state)
{
	const uint64_t old_s = HOUR + 20 * PERIOD_DAY_S;

	/* Of five hours, two have sums; ten minutes at the begin are no whole hour. */
	assert_int_equal(expired_of("1794942000\t10\n1794952800\t20\n", HOUR - 600,
				    HOUR + 5 * HOUR_S, old_s),
			 600 + 3 * HOUR_S);
	/* None of it has sums, and it is shorter than an hour. */
	assert_int_equal(expired_of("", HOUR, HOUR + 600, old_s), 600);
	/* Rows are kept for 14 days, from the second hour on. */
	assert_int_equal(expired_of("", HOUR, HOUR + 3 * HOUR_S, HOUR + HOUR_S + 14 * PERIOD_DAY_S),
			 HOUR_S);
	assert_int_equal(expired_of("", HOUR, HOUR + 3 * HOUR_S, NOW), 0);
}

static void minutes_that_may_still_come_are_not_expected(void **state)
{
	assert_int_equal(coverage__until_s(HOUR, NOW), HOUR);
	assert_int_equal(coverage__until_s(NOW, NOW + 30), NOW - 120);
	assert_int_equal(coverage__until_s(NOW, NOW + 3600), NOW);
	assert_int_equal(coverage__until_s(NOW, 1), 0);
}

static void what_was_reported_is_known_for_fourteen_days(void **state)
{
	assert_int_equal(coverage__since_s(HOUR, NOW), HOUR);
	assert_int_equal(coverage__since_s(60, NOW + 1), NOW - 14 * PERIOD_DAY_S + 60);
	assert_int_equal(coverage__since_s(60, 1), 60);
}

/* --- sentences -------------------------------------------------------------------------------- */

static struct service_row row_of(const char *state, const char *cause, enum kind kind, uint64_t s)
{
	return (struct service_row) { .threads = "main",
				      .state = state,
				      .cause = cause,
				      .kind = kind,
				      .object = "",
				      .by_service = "",
				      .by_threads = "",
				      .evidence = "none",
				      .ns = s * SECOND };
}

static struct where_words say_rows(const struct service_row *rows, size_t count, bool has_stacks)
{
	const struct period period = {
		.tenant = "", .service = "api", .from_s = HOUR - HOUR_S, .to_s = HOUR
	};
	struct service_account account = { .texts.clean = true };
	struct where_words words;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(service_account__add(&account, &rows[i]), 0);
	assert_int_equal(service_account__sum(&account), 0);
	where_words__say(&account, &period, has_stacks, &words);
	service_account__release(&account);
	return words;
}

static void a_quota_is_said_and_nobody_blamed(void **state)
{
	struct service_row rows[] = { row_of("ready", "throttled", KIND_READY, 75),
				      row_of("run", "any", KIND_RUN, 25) };
	struct where_words words = say_rows(rows, 2, false);

	assert_int_equal(words.count, 1);
	assert_string_equal(words.list[0].text,
			    "api spent 75.0 s held back by the CPU quota of its cgroup (threads "
			    "'main'), 75 % of the time that it certainly had work.");
	assert_non_null(strstr(words.list[0].next, "cpu.max"));
}

static void a_waker_is_not_called_a_holder(void **state)
{
	struct service_row rows[] = { row_of("wait", "lock", KIND_UNDECIDED, 80),
				      row_of("run", "any", KIND_RUN, 1) };
	struct where_words words;

	rows[0].object = "futex";
	rows[0].by_service = "api";
	rows[0].by_threads = "worker-*";
	rows[0].evidence = "waker";
	words = say_rows(rows, 2, false);
	assert_string_equal(
		words.list[0].text,
		"Unclear: api spent 80.0 s waiting for a lock or a condition variable (futex; threads "
		"'main'), 99 % of its thread time. The account alone cannot tell a lock that delays "
		"work from a queue that is empty. 100 % of it was ended by threads of api itself "
		"('worker-*'); whoever ends a wait did not necessarily cause it.");
	assert_non_null(strstr(words.list[0].next, "level stacks would tell"));
	assert_null(strstr(words.list[0].text, "held by"));
	words = say_rows(rows, 2, true);
	assert_string_equal(words.list[0].next,
			    "stacks of this time are in the store: gapless fleet flame api --from "
			    "'2026-11-17 18:00' --to '2026-11-17 19:00'");
}

static void an_owner_is_called_a_holder(void **state)
{
	struct service_row rows[] = { row_of("wait", "lock", KIND_DELAYING, 80) };
	struct where_words words;

	rows[0].by_service = "db";
	rows[0].evidence = "owner";
	words = say_rows(rows, 1, false);
	assert_non_null(strstr(words.list[0].text, "100 % of it was held by db."));
	assert_string_equal(words.list[0].next,
			    "what db did meanwhile: gapless fleet where db --from "
			    "'2026-11-17 18:00' --to '2026-11-17 19:00'");
}

static void a_disk_is_named_with_its_device(void **state)
{
	struct service_row rows[] = { row_of("wait", "disk", KIND_DELAYING, 60),
				      row_of("wait", "disk", KIND_DELAYING, 20),
				      row_of("run", "any", KIND_RUN, 20) };
	struct where_words words;

	rows[0].object = "file on sdb";
	rows[1].object = "file on sda";
	rows[1].threads = "log";
	words = say_rows(rows, 3, false);
	assert_string_equal(
		words.list[0].text,
		"api spent 80.0 s waiting for the disk (file on sdb, 75 % of it; threads "
		"'main', 75 % of it), 80 % of the time that it certainly had work.");
}

static void an_answer_from_elsewhere_has_a_port_but_no_culprit(void **state)
{
	struct service_row rows[] = { row_of("wait", "net", KIND_DELAYING, 60) };
	struct where_words words;

	rows[0].object = "tcp :8080";
	words = say_rows(rows, 1, false);
	assert_string_equal(
		words.list[0].text,
		"api spent 60.0 s waiting for the network (tcp :8080; threads 'main'), 100 "
		"% of the time that it certainly had work. Who is at the other end of tcp "
		":8080 is not known from these hosts.");
}

static void names_from_the_store_cannot_control_a_terminal(void **state)
{
	struct service_row rows[] = { row_of("wait", "disk\033[2J", KIND_DELAYING, 60) };
	struct where_words words;

	rows[0].object = "\033]0;x\a";
	rows[0].threads = "\033c";
	words = say_rows(rows, 1, false);
	assert_null(strchr(words.list[0].text, '\033'));
	assert_null(strchr(words.list[0].text, '\a'));
}

static void an_idle_service_was_not_held_up(void **state)
{
	struct service_row rows[] = { row_of("wait", "net", KIND_IDLE, 99) };

	assert_string_equal(
		say_rows(rows, 1, false).list[0].text,
		"No single cause stands out for api: ran 0 %, ready 0 %, held up 0 %, unclear 0 %, "
		"unseen 0 % of its thread time.");
}

static void a_lock_that_was_passed_on_has_no_single_holder(void **state)
{
	struct service_row rows[] = { row_of("wait", "lock", KIND_DELAYING, 80) };
	struct where_words words;

	rows[0].by_service = "db";
	rows[0].evidence = "handed";
	words = say_rows(rows, 1, false);
	assert_null(strstr(words.list[0].text, "held by"));
	assert_non_null(strstr(words.list[0].text, "the lock was passed on; of its holders, one is "
						   "known: db."));
}

static void a_kind_of_a_later_version_proves_nothing(void **state)
{
	assert_int_equal(service_account__kind("wait", "delaying"), KIND_DELAYING);
	assert_int_equal(service_account__kind("wait", "imaginary"), KIND_UNDECIDED);
	assert_int_equal(service_account__kind("run", "run"), KIND_RUN);
}

/* --- the whole -------------------------------------------------------------------------------- */

static const struct fleet_line script[] = {
	FLEET_ABOUT,
	{ "SELECT toUInt32(hour) AS h, sum(rows)", "1794938400\t120\n", 0 },
	{ "SELECT count() FROM gapless.ledger", "120\n", 0 },
	{ "SELECT any(threads), any(state)",
	  "httpd-*\twait\tnet\tdelaying\ttcp :5432\tpostgres\tbackend\twaker\t60000000000\t30\t"
	  "100000000000\t2000000\n"
	  "httpd-*\trun\tany\trun\t\t\t\tnone\t30000000000\t400\t0\t0\n"
	  "httpd-*\twait\tpoll\tundecided\tepoll\t\t\ttimeout\t10000000000\t4\t0\t0\n",
	  0 },
	{ "SELECT countIf(is_known)", "3\t180\t2\t117\t0\t1\t\t0\n", 0 },
	{ "SELECT name, sum(value)", "repaired_wakeups\t4\t1\nlost_map_full\t1200\t2\n", 0 },
	{ "SELECT toString(g)",
	  "7\twait.net\t50\t100\t30\t0\t60\t10\t0\t0\n8\t\t0\t100\t100\t0\t0\t0\t0\t0\n", 0 },
	{ "SELECT host_id, argMax(host", "7\tweb-1\n", 0 },
	{},
};

static const char golden[] =
	"api, 2026-11-17 18:00 to 19:00 UTC, tenant blue, whole hours from hourly sums\n"
	"\n"
	"in short\n"
	"1. api spent 60.0 s waiting for the network (tcp :5432; threads 'httpd-*'), 67 % of the time that it\n"
	"   certainly had work. 100 % of it was ended by postgres ('backend'); whoever ends a wait did not\n"
	"   necessarily cause it.\n"
	"   more: what postgres did meanwhile: gapless fleet where postgres --from '2026-11-17 18:00' --to\n"
	"         '2026-11-17 19:00' --tenant 'blue'\n"
	"\n"
	"where the time went                                        time    share  most of it by\n"
	"waiting for the network                     held up      60.0 s   60.0 %  httpd-* (100 %)\n"
	"running                                     running      30.0 s   30.0 %  httpd-* (100 %)\n"
	"waiting for events (poll)                   unclear      10.0 s   10.0 %  httpd-* (100 %)\n"
	"of 100 s of thread time\n"
	"\n"
	"what it waited for                                         time    share  by\n"
	"tcp :5432                       net         held up      60.0 s   60.0 %  ended by postgres (backend)\n"
	"epoll                           poll        unclear      10.0 s   10.0 %  ended by a timeout\n"
	"\n"
	"by host                             time  running    ready  held up  unclear  held up most\n"
	"web-1                             100 ns   30.0 %    0.0 %   60.0 %   10.0 %  wait.net\n"
	"8                                 100 ns  100.0 %    0.0 %    0.0 %    0.0 %\n"
	"\n"
	"coverage  2 of 3 hosts reported, for 117 of 180 minutes (65 %)\n"
	"nothing came from 1 host that had it in the period or in the hour before\n"
	"\n"
	"quality   unexplained 0.002 %; lost: lost_map_full 1,200 on 2 hosts\n";

static void where_prints_sentences_tables_coverage_and_quality(void **state)
{
	struct fleet_store store = { .script = script, .part = 7 };
	struct connection *connection = fleet_open(&store);
	struct where where = { .period = { .tenant = "blue",
					   .service = "api",
					   .from_s = HOUR - HOUR_S,
					   .to_s = HOUR } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_int_equal(where__load(connection, GROUPS_HOST, NOW, &where), 0);
	where__print(&where, out);
	fclose(out);
	assert_string_equal(text, golden);
	free(text);
	json = where__json(&where);
	assert_int_equal(json_integer_value(json_object_get(json, "ns")), 100000000000);
	assert_int_equal(json_array_size(json_object_get(json, "hosts")), 2);
	json_decref(json);
	assert_non_null(strstr(fleet_asked(&store, "any(threads)"), "gapless.ledger_1h FINAL"));
	/* Sums of stacks are kept when their minutes have expired. */
	assert_non_null(strstr(fleet_asked(&store, "countIf(is_known)"),
			       "FROM gapless.samples_1h WHERE tenant = 'blue' AND service = 'api' "
			       "AND hour >= "));
	where__release(&where);
	fleet_close(&store, connection);
}

/* What is printed from the heading "coverage" on. `again`: the answer if rows are asked, too. */
static char *print_coverage(const char *hosts, const char *again, uint64_t from_s, uint64_t now_s)
{
	struct fleet_line lines[16] = { FLEET_ABOUT,
					{ "ledger_host_1h", again, 0 },
					{ "SELECT countIf(is_known)", hosts, 0 },
					{ "SELECT name, sum(value)", "", 0 },
					{ "SELECT (SELECT count()", "0\n", 0 } };
	struct fleet_store store = { .script = lines };
	struct connection *connection;
	struct where where = {
		.period = { .tenant = "", .service = "api", .from_s = from_s, .to_s = HOUR }
	};
	cleanup(free_p) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	memcpy(lines + 5, script, sizeof(script));
	connection = fleet_open(&store);
	assert_int_equal(where__load(connection, GROUPS_NONE, now_s, &where), 0);
	where__print(&where, out);
	fclose(out);
	where__release(&where);
	fleet_close(&store, connection);
	return strdup(strstr(text, "coverage"));
}

static void coverage_is(const char *hosts, const char *again, uint64_t from_s, uint64_t now_s,
			const char *expected)
{
	cleanup(free_p) char *text = print_coverage(hosts, again, from_s, now_s);

	assert_string_equal(text, expected);
}

static void coverage_that_is_not_known_is_not_claimed(void **state)
{
	/* All of it is too old: nothing is asked. */
	coverage_is("", "", HOUR - HOUR_S, NOW + 15 * PERIOD_DAY_S,
		    "coverage  not known: which hosts reported is kept for 14 days\n\n"
		    "quality   unexplained 0.002 %; what was lost is not known any more\n");
	/* A part of it. */
	coverage_is(
		"3\t90\t3\t90\t0\t1\t\t0\n", "", HOUR - HOUR_S,
		HOUR - HOUR_S / 2 + 14 * PERIOD_DAY_S,
		"coverage  since 2026-11-17 18:30 UTC (not known before): 3 of 3 hosts reported, "
		"for 90 of 90 minutes (100 %)\n\n"
		"quality   unexplained 0.002 %; no loss reported since 2026-11-17 18:30 UTC\n");
	coverage_is("0\t0\t0\t0\t0\t0\t\t0\n", "", HOUR - HOUR_S, NOW,
		    "coverage  not known: the store has no hosts of this service\n\n"
		    "quality   unexplained 0.002 %; no loss reported\n");
}

static void hosts_whose_agents_restarted_are_found_by_their_rows(void **state)
{
	coverage_is("1\t60\t1\t60\t2\t1\t\t0\n", "3\t180\t3\t170\t2\t2\tblue, green\t0\n",
		    HOUR - HOUR_S, NOW,
		    "coverage  3 of 3 hosts reported, for 170 of 180 minutes (94 %)\n"
		    "the times of 2 namespaces are added up: blue, green\n\n"
		    "quality   unexplained 0.002 %; no loss reported\n");
}

static void hosts_of_long_ago_are_not_left_out_silently(void **state)
{
	struct fleet_store store = { .script = script };
	struct connection *connection = fleet_open(&store);
	struct period period = {
		.tenant = "", .service = "api", .from_s = HOUR - HOUR_S, .to_s = HOUR
	};
	struct groups groups = {};

	assert_int_equal(groups__load(connection, &period, GROUPS_HOST, NOW, &groups), 0);
	assert_int_equal(groups.since_s, 0);
	/* The hours that have sums by host are asked for. */
	assert_non_null(strstr(fleet_asked(&store, "sum(rows)"), "gapless.ledger_host_1h FINAL"));
	groups__release(&groups);
	assert_int_equal(
		groups__load(connection, &period, GROUPS_HOST, NOW + 35 * PERIOD_DAY_S, &groups),
		0);
	assert_int_equal(groups.since_s, NOW);
	groups__release(&groups);
	fleet_close(&store, connection);
}

static void stacks_of_long_ago_are_found_in_sums_of_hours(void **state)
{
	static const struct fleet_line lines[] = { FLEET_ABOUT,
						   { "SELECT (SELECT count() FROM (SELECT 1 FROM "
						     "gapless.samples ",
						     "1\n", 0 },
						   {} };
	struct fleet_store store = { .script = lines };
	struct connection *connection = fleet_open(&store);
	struct period period = {
		.tenant = "", .service = "api", .from_s = HOUR - HOUR_S, .to_s = HOUR
	};
	struct coverage coverage = {};

	assert_int_equal(coverage__load(connection, &period, NOW + 20 * PERIOD_DAY_S, &coverage),
			 0);
	assert_true(coverage.has_stacks);
	assert_non_null(fleet_asked(&store, "FROM gapless.samples_1h "));
	coverage__release(&coverage);
	fleet_close(&store, connection);
}

static void time_that_is_missing_is_said(void **state)
{
	struct where where = { .period = { .tenant = "",
					   .service = "api",
					   .from_s = HOUR - HOUR_S,
					   .to_s = HOUR,
					   .expired_s = 2 * HOUR_S } };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json = where__json(&where);

	where__print(&where, out);
	fclose(out);
	assert_non_null(strstr(text,
			       "\n120 min of this period has no hourly sums, and rows of minutes "
			       "are kept for 14 days: what was then, if anything, is missing "
			       "here\n"));
	assert_int_equal(json_integer_value(json_object_get(json, "expired_s")), 2 * HOUR_S);
	json_decref(json);
	free(text);
}

static void a_service_without_rows_is_no_answer(void **state)
{
	static const struct fleet_line nothing[] = { FLEET_ABOUT, { "SELECT", "", 0 }, {} };
	struct fleet_store store = { .script = nothing };
	struct connection *connection = fleet_open(&store);
	struct where where = {
		.period = { .tenant = "", .service = "api", .from_s = HOUR - HOUR_S, .to_s = HOUR }
	};

	assert_int_equal(where__load(connection, GROUPS_NONE, NOW, &where), -ENODATA);
	where__release(&where);
	fleet_close(&store, connection);
}

static void problem_is(const struct fleet_line *lines, int err, const char *words)
{
	struct fleet_store store = { .script = lines };
	struct connection *connection = NULL;
	char problem[CONNECTION_PROBLEM_BYTES];

	assert_int_equal(fleet_try(&store, &connection, problem), err);
	assert_null(connection);
	assert_non_null(strstr(problem, words));
	fleet_close(&store, connection);
}

static void problems_of_the_store_are_said(void **state)
{
	problem_is((struct fleet_line[]) { { "SELECT", "0\t0\n", 0 }, {} }, -EPROTO,
		   "schema version 0");
	problem_is((struct fleet_line[]) { { "SELECT", "Code: 60. DB::Exception: no\n", 404 }, {} },
		   -EIO, "gapless fleet schema");
	problem_is((struct fleet_line[]) { { "SELECT", "Code: 516. DB::Exception\n", 403 }, {} },
		   -EIO, "refuses this user");
	problem_is((struct fleet_line[]) { { "SELECT", "<html>\033[2J\n", 200 }, {} }, -EBADMSG,
		   "not understood");
	problem_is((struct fleet_line[]) { { "SELECT", "1\t0\n1", 200 }, {} }, -EBADMSG,
		   "not understood");
}

static int count_row(void *context, char *const *fields)
{
	(*(uint64_t *)context)++;
	return 0;
}

static void an_answer_that_is_too_long_ends(void **state)
{
	size_t length = 2 * (CONNECTION_MOST_ROWS + 4000), part = 1000;
	cleanup(free_p) char *answer = malloc(length + 1);
	const struct fleet_line lines[] = { FLEET_ABOUT, { "SELECT 1", answer, 0 }, {} };
	struct fleet_store store = { .script = lines, .part = part };
	struct connection *connection = fleet_open(&store);
	cleanup(query__release) struct query query = {};
	uint64_t rows = 0;

	for (size_t i = 0; i < length; i++)
		answer[i] = i % 2 ? '\n' : '1';
	answer[length] = '\0';
	query__begin(&query);
	query__add(&query, "SELECT 1");
	assert_int_equal(connection__ask(connection, &query, 1, count_row, &rows), -EOVERFLOW);
	assert_true(rows <= CONNECTION_MOST_ROWS + part);
	assert_non_null(strstr(connection__problem(connection), "more than was asked for"));
	fleet_close(&store, connection);
}

static void names_of_databases_are_names(void **state)
{
	const struct connection_options options = { .http = { .url = "http://store" },
						    .database = "x; DROP" };
	struct connection *connection = NULL;
	char problem[CONNECTION_PROBLEM_BYTES];

	assert_int_equal(connection__open(&options, &connection, problem), -EINVAL);
	assert_null(connection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_are_durations_times_of_day_and_dates),
		cmocka_unit_test(moments_refuse_what_is_none),
		cmocka_unit_test(spans_repeat_the_date_only_if_it_differs),
		cmocka_unit_test(quoted_texts_cannot_end_their_quotes),
		cmocka_unit_test(tables_of_a_cluster_are_those_over_all_shards),
		cmocka_unit_test(rows_are_read_however_they_arrive),
		cmocka_unit_test(rows_that_are_none_are_refused),
		cmocka_unit_test(a_row_without_end_does_not_fill_the_memory),
		cmocka_unit_test(lists_are_numbers_in_brackets),
		cmocka_unit_test(whole_hours_with_sums_are_read_from_them),
		cmocka_unit_test(a_period_without_sums_is_read_from_minutes),
		cmocka_unit_test(an_hour_with_more_rows_than_its_sums_is_read_from_minutes),
		cmocka_unit_test(hours_whose_rows_have_expired_are_not_compared),
		cmocka_unit_test(time_with_neither_sums_nor_rows_is_counted),
		cmocka_unit_test(minutes_that_may_still_come_are_not_expected),
		cmocka_unit_test(what_was_reported_is_known_for_fourteen_days),
		cmocka_unit_test(a_quota_is_said_and_nobody_blamed),
		cmocka_unit_test(a_waker_is_not_called_a_holder),
		cmocka_unit_test(an_owner_is_called_a_holder),
		cmocka_unit_test(a_disk_is_named_with_its_device),
		cmocka_unit_test(an_answer_from_elsewhere_has_a_port_but_no_culprit),
		cmocka_unit_test(names_from_the_store_cannot_control_a_terminal),
		cmocka_unit_test(an_idle_service_was_not_held_up),
		cmocka_unit_test(a_lock_that_was_passed_on_has_no_single_holder),
		cmocka_unit_test(a_kind_of_a_later_version_proves_nothing),
		cmocka_unit_test(where_prints_sentences_tables_coverage_and_quality),
		cmocka_unit_test(coverage_that_is_not_known_is_not_claimed),
		cmocka_unit_test(hosts_whose_agents_restarted_are_found_by_their_rows),
		cmocka_unit_test(hosts_of_long_ago_are_not_left_out_silently),
		cmocka_unit_test(stacks_of_long_ago_are_found_in_sums_of_hours),
		cmocka_unit_test(time_that_is_missing_is_said),
		cmocka_unit_test(a_service_without_rows_is_no_answer),
		cmocka_unit_test(problems_of_the_store_are_said),
		cmocka_unit_test(an_answer_that_is_too_long_ends),
		cmocka_unit_test(names_of_databases_are_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
