/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sender against a simulated server, in simulated time. */
#include "../harness.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store.h"
#include "store/schema.h"
#include "store/sender.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define START_S   (STORE_MINUTE + 60)
#define MOST_SEEN 4096

/* What the server does with inserts. */
enum mood {
	GOOD,
	EMPTY,
	POISON,
	TOO_LARGE,
	AWAY,
	SILENT,
	STORES_SILENTLY,
	FULL,
	REDIRECTS,
	DENIES,
	REFUSES,
	PAGE
};

struct sim {
	uint64_t now_ns, random;
	enum mood mood;
	const char *version, *schema; /* answers; schema NULL: no such table */
	unsigned int retry_after_s;
	uint64_t count; /* answer to count() */
	char last_insert[8192];
	struct answer answer;
	bool has_answer;
	/* What it saw: */
	unsigned int requests, inserts, counts;
	uint64_t settled_ns; /* from the last insert to the last count */
	uint64_t insert_ns[MOST_SEEN];
	char tokens[MOST_SEEN][BATCH_TEXT_BYTES];
	unsigned int stored;
};

static char folder[64];
static struct sim sim;
static struct spool *spool;
static struct sender *sender;
static unsigned int window_s; /* for the next sender; 0: the default */

static uint64_t sim_now(void *context)
{
	return ((struct sim *)context)->now_ns;
}

static uint64_t sim_unix(void *context)
{
	return START_S + ((struct sim *)context)->now_ns / SECOND_NS;
}

static uint64_t sim_random(void *context)
{
	struct sim *of = context;

	of->random = of->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return of->random >> 11;
}

static void unescape(const char *text, char ret[static 8192])
{
	size_t length = 0;

	for (; *text && length + 1 < 8192; text++) {
		unsigned int c = (unsigned char)*text;

		if (c == '%') {
			assert_int_equal(sscanf(text + 1, "%2x", &c), 1);
			text += 2;
		}
		ret[length++] = (char)c;
	}
	ret[length] = '\0';
}

static void say(struct sim *of, int status, const char *body)
{
	of->answer.status = status;
	assert_int_equal(answer__body(&of->answer, body, strlen(body)), 0);
}

static void store_token(struct sim *of)
{
	const char *at = strstr(of->last_insert, "insert_deduplication_token=");
	char *token = of->tokens[of->stored];

	if (at)
		sscanf(at, "insert_deduplication_token=%191[^&]", token);
	for (unsigned int i = 0; i < of->stored; i++)
		if (*token && !strcmp(of->tokens[i], token))
			return;
	of->stored++;
}

static void answer_insert(struct sim *of)
{
	assert_in_range(of->inserts, 0, MOST_SEEN - 1);
	of->insert_ns[of->inserts++] = of->now_ns;
	switch (of->mood) {
	case EMPTY:
		of->answer.is_clickhouse = false;
		say(of, 200, "");
		break;
	case POISON:
		if (strstr(of->last_insert, "ledger")) {
			say(of, 500, "Code: 49. DB::Exception: Logical error");
		} else {
			store_token(of);
			say(of, 200, "");
		}
		break;
	case TOO_LARGE:
		say(of, 413, "too large");
		break;
	case GOOD:
		store_token(of);
		say(of, 200, "");
		break;
	case STORES_SILENTLY:
		store_token(of);
		of->answer.error = -ETIMEDOUT;
		break;
	case SILENT:
		of->answer.error = -ETIMEDOUT;
		break;
	case FULL:
		say(of, 503, "later");
		break;
	case REDIRECTS:
		say(of, 302, "");
		break;
	case DENIES:
		say(of, 403, "Code: 497. DB::Exception: no");
		break;
	case REFUSES:
		say(of, 400, "Code: 33. DB::Exception: Cannot read all data");
		break;
	default:
		say(of, 200, "<html>Please log in</html>");
	}
}

static int sim_start(void *context, const struct http_request *request)
{
	struct sim *of = context;
	char query[8192], number[32];

	unescape(request->query, query);
	of->requests++;
	memset(&of->answer, 0, sizeof(of->answer));
	of->answer.retry_after_s = of->retry_after_s;
	of->answer.is_clickhouse = true;
	of->has_answer = true;
	if (of->mood == AWAY) {
		of->answer.error = -ECONNREFUSED;
		of->answer.unreached = true;
	} else if (strstr(query, "version()")) {
		say(of, 200, of->version);
	} else if (strstr(query, ".meta") && of->schema) {
		say(of, 200, of->schema);
	} else if (strstr(query, ".meta")) {
		say(of, 404, "Code: 60. DB::Exception: Unknown table");
	} else if (strstr(query, "count()")) {
		of->counts++;
		of->settled_ns = of->now_ns - of->insert_ns[of->inserts - 1];
		snprintf(number, sizeof(number), "%" PRIu64 "\n", of->count);
		say(of, 200, number);
	} else {
		assert_non_null(strstr(query, "INSERT INTO gapless."));
		memcpy(of->last_insert, query, sizeof(query));
		answer_insert(of);
	}
	return 0;
}

static int sim_poll(void *context, struct answer *ret)
{
	struct sim *of = context;

	if (!of->has_answer)
		return -EAGAIN;
	*ret = of->answer;
	of->has_answer = false;
	return 0;
}

static struct sender *make_sender(struct sim *of, struct spool *its_spool, uint64_t host_id,
				  bool no_spread)
{
	const struct sender_options options = { .host_id = host_id,
						.no_spread = no_spread,
						.window_s = window_s };
	const struct sender_clock clock = { sim_now, sim_unix, sim_random, of };
	const struct http_transport transport = { sim_start, sim_poll, of };
	struct sender *made = NULL;

	assert_int_equal(sender__new(&options, &clock, &transport, its_spool, &made), 0);
	return made;
}

static int begin(void **state)
{
	const struct spool_options options = { .folder = folder };

	store_make_folder(folder);
	memset(&sim, 0, sizeof(sim));
	sim.version = "26.7.2.1\n";
	sim.schema = "1\n";
	sim.now_ns = SECOND_NS;
	assert_int_equal(spool__open(&options, &spool), 0);
	sender = make_sender(&sim, spool, 1, true);
	return 0;
}

static int end(void **state)
{
	sender__free(sender);
	spool__free(spool);
	store_remove_folder(folder);
	return 0;
}

static void restart(void)
{
	const struct spool_options options = { .folder = folder };

	sender__free(sender);
	spool__free(spool);
	assert_int_equal(spool__open(&options, &spool), 0);
	sender = make_sender(&sim, spool, 1, true);
}

static void add_to(struct sender *to, enum fact_table table, uint64_t minute_s)
{
	struct batch_id id = store_id(table, minute_s, 0);
	size_t bytes;
	void *content = store_content(100, &bytes);

	assert_int_equal(sender__add(to, &id, content, bytes), 0);
}

static void add(enum fact_table table, uint64_t minute)
{
	add_to(sender, table, STORE_MINUTE + minute * 60);
}

static void run_until(struct sender *of, struct sim *its, uint64_t until_ns)
{
	while (its->now_ns < until_ns) {
		uint64_t next_ns = sender__step(of);

		if (!next_ns)
			next_ns = its->now_ns + SECOND_NS / 100;
		its->now_ns = next_ns < until_ns ? next_ns : until_ns;
	}
}

static void run_for(uint64_t ns)
{
	run_until(sender, &sim, sim.now_ns + ns);
}

static struct spool_status spool_now(void)
{
	struct spool_status status;

	spool__status(spool, &status);
	return status;
}

static struct sender_status sender_now(void)
{
	struct sender_status status;

	sender__status(sender, &status);
	return status;
}

static void a_batch_is_sent_with_its_token_and_then_removed(void **state)
{
	add(FACT_LEDGER, 0);
	run_for(SECOND_NS);
	assert_int_equal(sim.requests, 3);
	assert_int_equal(sim.stored, 1);
	assert_string_equal(sim.tokens[0], "0000000000001234:abc0:ledger:1795000020:7");
	assert_non_null(strstr(sim.last_insert, "INSERT INTO gapless.ledger (bucket, name) FORMAT "
						"Native"));
	assert_non_null(strstr(sim.last_insert, "&async_insert=1&wait_for_async_insert=1"
						"&async_insert_deduplicate=1"));
	assert_non_null(
		strstr(sim.last_insert, "&deduplicate_blocks_in_dependent_materialized_views=1"));
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(sender_now().results[ANSWER_OK], 1);
	assert_string_equal(sender_now().problem, "");
}

static void old_servers_get_only_settings_that_they_know(void **state)
{
	sim.version = "24.8.1.1\n";
	add(FACT_LEDGER, 0);
	run_for(SECOND_NS);
	assert_non_null(strstr(sim.last_insert, "&async_insert=0"));
	assert_non_null(strstr(sim.last_insert, "insert_deduplication_token="));
	restart();
	sim.version = "18.16.1\n";
	add(FACT_LEDGER, 1);
	run_for(SECOND_NS);
	assert_null(strchr(sim.last_insert, '&'));
	assert_int_equal(spool_now().batches, 0);
}

static void failures_are_repeated_with_the_same_token_until_it_is_stored(void **state)
{
	static const enum mood moods[] = { AWAY, SILENT, FULL, REDIRECTS, DENIES, PAGE };

	add(FACT_LEDGER, 0);
	for (size_t i = 0; i < sizeof(moods) / sizeof(*moods); i++) {
		sim.mood = moods[i];
		run_for(6 * MINUTE_NS);
		assert_int_equal(spool_now().batches, 1);
		assert_string_not_equal(sender_now().problem, "");
	}
	sim.mood = GOOD;
	run_for(6 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(sim.stored, 1);
	assert_int_equal(spool_now().dropped + spool_now().refused, 0);
	assert_true(sender_now().results[ANSWER_LOST] > 0);
	assert_true(sender_now().results[ANSWER_DENIED] > 0);
	assert_true(sender_now().results[ANSWER_STRANGE] > 1);
}

static void an_answer_that_is_lost_after_the_commit_stores_once(void **state)
{
	sim.mood = STORES_SILENTLY;
	add(FACT_LEDGER, 0);
	run_for(5 * SECOND_NS);
	assert_true(sim.inserts > 0);
	restart();
	sim.mood = GOOD;
	run_for(2 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(sim.stored, 1);
	assert_int_equal(sim.counts, 0);
}

static void waits_grow_from_a_second_to_five_minutes_and_are_random(void **state)
{
	uint64_t longest = 0, last = 0, sum = 0;
	unsigned int failures = 0;

	sim.mood = AWAY;
	add(FACT_LEDGER, 0);
	run_for(SECOND_NS);
	for (last = sim.requests; failures < 200;) {
		uint64_t from = sim.now_ns, wait;

		while (sim.requests == last)
			run_for(SECOND_NS / 10);
		wait = sim.now_ns - from;
		last = sim.requests;
		if (failures < 3)
			assert_true(wait <= (SECOND_NS << (failures + 2)));
		longest = wait > longest ? wait : longest;
		sum += failures >= 20 ? wait : 0;
		failures++;
	}
	assert_true(longest <= 301 * SECOND_NS);
	assert_true(longest > 270 * SECOND_NS);
	/* The mean of numbers between 0 and 300. */
	assert_in_range(sum / 180 / SECOND_NS, 120, 180);
}

static void retry_after_is_the_least_wait_but_not_forever(void **state)
{
	sim.mood = FULL;
	sim.retry_after_s = 30;
	add(FACT_LEDGER, 0);
	run_for(29 * SECOND_NS);
	assert_int_equal(sim.inserts, 1);
	run_for(10 * SECOND_NS);
	assert_int_equal(sim.inserts, 2);
	sim.retry_after_s = UINT32_MAX;
	run_for(5 * MINUTE_NS);
	sim.mood = GOOD;
	run_for(70 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 0);
}

static void an_old_schema_is_named_and_nothing_is_sent(void **state)
{
	sim.schema = NULL;
	add(FACT_LEDGER, 0);
	run_for(MINUTE_NS);
	assert_int_equal(sim.inserts, 0);
	assert_string_equal(sender_now().problem,
			    "the store's schema has version 0, this agent needs 1: apply the "
			    "migration from 0 to 1");
	sim.schema = "garbage\n";
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.inserts, 0);
	/* A newer store has defaults for columns that this agent does not know. */
	sim.schema = "2\n";
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.stored, 1);
}

static void send_without_answer(void)
{
	sim.mood = SILENT;
	add(FACT_LEDGER, 0);
	run_for(3 * SECOND_NS);
	assert_true(sim.inserts > 0);
	sim.mood = AWAY;
	run_for(11 * MINUTE_NS);
	sim.mood = GOOD;
}

static void a_batch_of_unknown_fate_is_counted_when_its_token_is_forgotten(void **state)
{
	send_without_answer();
	sim.count = STORE_PRINT;
	restart();
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.counts, 1);
	assert_int_equal(sim.stored, 0);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(sender_now().results[SENDER_FOUND], 1);
}

static void a_batch_that_is_not_there_is_sent(void **state)
{
	send_without_answer();
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.counts, 1);
	assert_int_equal(sim.stored, 1);
	assert_int_equal(spool_now().batches, 0);
}

static void a_batch_that_is_there_in_part_is_set_aside(void **state)
{
	send_without_answer();
	sim.count = 2;
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.stored, 0);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(spool_now().refused, 1);
	assert_int_equal(sender_now().results[SENDER_UNCLEAR], 1);
}

static void as_many_rows_of_another_start_are_not_taken_for_the_batch(void **state)
{
	send_without_answer();
	/* Three rows, but others. */
	sim.count = 3 + UINT64_C(1000003) * (STORE_SUM + 1);
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.counts, 1);
	assert_int_equal(sim.stored, 0);
	assert_int_equal(sender_now().results[SENDER_FOUND], 0);
	assert_int_equal(sender_now().results[SENDER_UNCLEAR], 1);
	assert_int_equal(spool_now().refused, 1);
}

static void a_batch_that_never_reached_the_server_is_not_counted(void **state)
{
	sim.mood = AWAY;
	add(FACT_LEDGER, 0);
	run_for(30 * MINUTE_NS);
	sim.mood = GOOD;
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.counts, 0);
	assert_int_equal(sim.stored, 1);
}

static void servers_without_tokens_are_always_asked(void **state)
{
	sim.version = "18.16.1\n";
	sim.mood = SILENT;
	add(FACT_LEDGER, 0);
	run_for(SECOND_NS);
	sim.mood = GOOD;
	run_for(50 * SECOND_NS);
	/* The insert may still be under way. */
	assert_int_equal(sim.counts, 0);
	run_for(20 * SECOND_NS);
	assert_int_equal(sim.counts, 1);
	assert_int_equal(spool_now().batches, 0);
}

static void a_batch_that_always_fails_does_not_stop_the_others(void **state)
{
	sim.mood = POISON;
	for (uint64_t minute = 0; minute < 20; minute++) {
		add(FACT_QUALITY, minute);
		if (minute == 3)
			add(FACT_LEDGER, minute);
	}
	run_for(30 * MINUTE_NS);
	assert_int_equal(sim.stored, 20);
	assert_int_equal(spool_now().batches, 1);
	sim.mood = GOOD;
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.stored, 21);
}

static void an_empty_answer_of_something_else_is_not_believed(void **state)
{
	sim.mood = EMPTY;
	add(FACT_LEDGER, 0);
	run_for(5 * SECOND_NS);
	assert_int_equal(spool_now().batches, 1);
	assert_non_null(strstr(sender_now().problem, "not as ClickHouse does"));
	sim.mood = GOOD;
	run_for(6 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(sim.stored, 1);
}

static void limits_and_settings_of_the_server_cost_no_batch(void **state)
{
	sim.mood = TOO_LARGE;
	add(FACT_LEDGER, 0);
	run_for(30 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 1);
	assert_int_equal(spool_now().refused, 0);
	sim.mood = GOOD;
	run_for(6 * MINUTE_NS);
	assert_int_equal(sim.stored, 1);
	assert_int_equal(sim.counts, 0);
}

static void an_insert_settles_after_its_last_try(void **state)
{
	window_s = 10;
	restart();
	window_s = 0;
	sim.mood = SILENT;
	add(FACT_LEDGER, 0);
	while (!sim.counts && sim.now_ns < 5 * MINUTE_NS)
		run_for(SECOND_NS / 10);
	assert_int_equal(sim.counts, 1);
	assert_true(sim.inserts > 1);
	assert_true(sim.settled_ns >= 59 * SECOND_NS);
}

static void a_refused_batch_does_not_stop_the_others(void **state)
{
	sim.mood = REFUSES;
	add(FACT_LEDGER, 0);
	run_for(SECOND_NS);
	sim.mood = GOOD;
	add(FACT_QUALITY, 0);
	run_for(20 * SECOND_NS);
	assert_int_equal(sim.stored, 1);
	assert_int_equal(spool_now().batches, 1);
	sim.mood = REFUSES;
	run_for(10 * MINUTE_NS);
	assert_int_equal(spool_now().batches, 0);
	assert_int_equal(spool_now().refused, 1);
	assert_int_equal(sender_now().results[ANSWER_REFUSED], 3);
}

/* The most inserts that began within any stretch of this length. */
static unsigned int most_within(const uint64_t *times, unsigned int count, uint64_t length)
{
	unsigned int most = 0;

	for (unsigned int first = 0, i = 0; i < count; i++) {
		while (times[first] + length <= times[i])
			first++;
		if (i - first + 1 > most)
			most = i - first + 1;
	}
	return most;
}

static void a_backlog_is_drained_at_four_times_the_rate_newest_first(void **state)
{
	unsigned int minutes = 0;
	char newest[BATCH_TEXT_BYTES];

	/* Half an hour without a server, two tables a minute. */
	sim.mood = AWAY;
	for (; minutes < 30; minutes++) {
		add(FACT_LEDGER, minutes);
		add(FACT_QUALITY, minutes);
		run_for(MINUTE_NS);
	}
	assert_int_equal(spool_now().batches, 60);
	sim.mood = GOOD;
	for (; spool_now().batches > 2 && minutes < 60; minutes++) {
		add(FACT_LEDGER, minutes);
		add(FACT_QUALITY, minutes);
		run_for(MINUTE_NS);
	}
	/* 5 minutes for the backoff at most, 10 for 30 minutes at 3 more than come. */
	assert_in_range(minutes, 39, 47);
	assert_in_range(most_within(sim.insert_ns, sim.inserts, MINUTE_NS), 7, 8);
	assert_int_equal(spool_now().dropped, 0);
	snprintf(newest, sizeof(newest), "%d", (int)(STORE_MINUTE + 25 * 60));
	assert_true(strcmp(strstr(sim.tokens[0], ":179"), newest) > 0);
}

static void batches_wait_for_the_offset_of_their_host(void **state)
{
	unsigned int seen = 0;

	for (uint64_t host = 1; host <= 40; host++) {
		struct sim its = { .version = "26.7\n",
				   .schema = "1\n",
				   .now_ns = 100 * MINUTE_NS };
		struct sender *one = make_sender(&its, spool, host, false);
		uint64_t minute_s = START_S + 99 * 60 + 60 * host, end_ns;

		its.now_ns = (minute_s + 60 - START_S) * SECOND_NS;
		end_ns = its.now_ns;
		add_to(one, FACT_LEDGER, minute_s);
		run_until(one, &its, its.now_ns + MINUTE_NS);
		assert_int_equal(its.stored, 1);
		assert_true(its.insert_ns[0] - end_ns < 50 * SECOND_NS);
		seen |= 1U << ((its.insert_ns[0] - end_ns) / SECOND_NS / 10);
		sender__free(one);
	}
	/* All five sixths of a minute are in use. */
	assert_int_equal(seen, 0x1f);
}

struct agent {
	char folder[64];
	struct sim *sim;
	struct spool *spool;
	struct sender *sender;
};

static void agent_begin(struct agent *agent, uint64_t host)
{
	struct spool_options options = { .folder = agent->folder };

	store_make_folder(agent->folder);
	agent->sim = calloc(1, sizeof(*agent->sim));
	agent->sim->version = "26.7\n";
	agent->sim->schema = "1\n";
	agent->sim->random = host * 977;
	agent->sim->mood = AWAY;
	assert_int_equal(spool__open(&options, &agent->spool), 0);
	agent->sender = make_sender(agent->sim, agent->spool, host * 31, false);
}

static void agent_end(struct agent *agent)
{
	sender__free(agent->sender);
	spool__free(agent->spool);
	store_remove_folder(agent->folder);
	free(agent->sim);
}

/* 30 minutes away, then back, as seen by one agent; adds its inserts to bins of 10 s. */
static void live_through_outage(struct agent *agent, unsigned int *bins, unsigned int bin_count)
{
	for (uint64_t minute = 0; minute < 60; minute++) {
		if (minute == 30)
			agent->sim->mood = GOOD;
		add_to(agent->sender, FACT_LEDGER, START_S + minute * 60);
		run_until(agent->sender, agent->sim, (minute + 2) * MINUTE_NS);
	}
	for (unsigned int i = 0; i < agent->sim->inserts; i++) {
		uint64_t bin = (agent->sim->insert_ns[i] - 31 * MINUTE_NS) / (10 * SECOND_NS);

		if (bin < bin_count)
			bins[bin]++;
	}
	assert_int_equal(agent->sim->stored + 2 >= 60, 1);
}

static void a_hundred_agents_do_not_start_together(void **state)
{
	unsigned int bins[12 * 6] = { 0 }, total = 0, peak = 0, first = 0;

	for (uint64_t host = 1; host <= 100; host++) {
		struct agent agent;

		agent_begin(&agent, host);
		live_through_outage(&agent, bins, 72);
		agent_end(&agent);
	}
	/* The 12 minutes after the server is back. */
	for (unsigned int i = 0; i < 72; i++) {
		total += bins[i];
		peak = bins[i] > peak ? bins[i] : peak;
	}
	first = bins[0];
	print_message("# inserts in 10 s: mean %u, peak %u, first %u\n", total / 72, peak, first);
	assert_true(total > 2000);
	assert_true(peak * 72 <= 2 * total);
	assert_true(first * 72 <= total);
}

static int fail_to_start(void *context, const struct http_request *request)
{
	return -EACCES;
}

static void a_secret_that_cannot_be_read_is_reported(void **state)
{
	const struct sender_options options = { .host_id = 1, .no_spread = true };
	const struct sender_clock clock = { sim_now, sim_unix, sim_random, &sim };
	const struct http_transport transport = { fail_to_start, sim_poll, &sim };

	sender__free(sender);
	assert_int_equal(sender__new(&options, &clock, &transport, spool, &sender), 0);
	add(FACT_LEDGER, 0);
	run_for(MINUTE_NS);
	assert_int_equal(spool_now().batches, 1);
	assert_non_null(strstr(sender_now().problem, "Permission denied"));
	assert_in_range(sender_now().requests, 3, 60);
}

static void every_result_has_a_word(void **state)
{
	for (unsigned int i = 0; i < SENDER_RESULTS; i++)
		assert_true(strlen(sender__word(i)) > 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_batch_is_sent_with_its_token_and_then_removed),
		TEST(old_servers_get_only_settings_that_they_know),
		TEST(failures_are_repeated_with_the_same_token_until_it_is_stored),
		TEST(an_answer_that_is_lost_after_the_commit_stores_once),
		TEST(waits_grow_from_a_second_to_five_minutes_and_are_random),
		TEST(retry_after_is_the_least_wait_but_not_forever),
		TEST(an_old_schema_is_named_and_nothing_is_sent),
		TEST(a_batch_of_unknown_fate_is_counted_when_its_token_is_forgotten),
		TEST(a_batch_that_is_not_there_is_sent),
		TEST(a_batch_that_is_there_in_part_is_set_aside),
		TEST(as_many_rows_of_another_start_are_not_taken_for_the_batch),
		TEST(a_batch_that_never_reached_the_server_is_not_counted),
		TEST(servers_without_tokens_are_always_asked),
		TEST(a_batch_that_always_fails_does_not_stop_the_others),
		TEST(an_empty_answer_of_something_else_is_not_believed),
		TEST(limits_and_settings_of_the_server_cost_no_batch),
		TEST(an_insert_settles_after_its_last_try),
		TEST(a_refused_batch_does_not_stop_the_others),
		TEST(a_backlog_is_drained_at_four_times_the_rate_newest_first),
		TEST(batches_wait_for_the_offset_of_their_host),
		TEST(a_hundred_agents_do_not_start_together),
		TEST(a_secret_that_cannot_be_read_is_reported),
		TEST(every_result_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
