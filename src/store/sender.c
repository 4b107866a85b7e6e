/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request at a time, so an agent is never more than one insert ahead of what is known. Before
 * the first insert, and again after each failure, the server is asked for its version, which
 * decides the settings that it understands, and for the version of the schema.
 *
 *   from 26.1  asynchronous inserts, many hosts in one part, with tokens
 *   from 22.2  synchronous inserts with tokens
 *   before     synchronous inserts; replicated tables recognise equal blocks, others do not. So
 *              the rows of a batch of unknown fate are always counted first.
 */
#include "store/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/pace.h"
#include "store/schema.h"
#include "store/url_query.h"

#define SECOND_NS      UINT64_C(1000000000)
#define FRESH_S        600
#define WINDOW_S       600
#define SETTLE_S       60
#define MOST_REFUSALS  3
#define MOST_DELAY_S   300
#define REFUSED_WAIT_S 60
#define ASK_AGAIN_S    3600
#define ASYNC_VERSION  2601
#define TOKEN_VERSION  2202
#define ZSTD_VERSION   2202
#define MARK_VERSION   2202 /* answers have X-ClickHouse-Summary */

enum doing { DOING_NOTHING, ASKING_VERSION, ASKING_SCHEMA, COUNTING, INSERTING };

struct sender {
	struct sender_options options;
	struct sender_clock clock;
	struct http_transport transport;
	struct spool *spool;
	struct pace pace;
	struct sender_status status;
	uint64_t asked_ns; /* when the server was asked for its versions; 0: ask */
	/* The request under way: */
	enum doing doing;
	struct batch_id id;
	struct batch_head head;
	void *body;
	struct url_query query;
	struct answer answer;
};

static uint64_t now_ns(const struct sender *sender)
{
	return sender->clock.now_ns(sender->clock.context);
}

static uint64_t unix_s(const struct sender *sender)
{
	return sender->clock.unix_s(sender->clock.context);
}

__attribute__((format(printf, 2, 3))) static void report(struct sender *sender, const char *format,
							 ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sender->status.problem, sizeof(sender->status.problem), format, args);
	va_end(args);
}

/* --- requests --- */

static int send_request(struct sender *sender, enum doing doing, const void *body, size_t bytes,
			bool is_zstd)
{
	struct http_request request = { sender->query.text, body, bytes, is_zstd };
	int err = sender->transport.start(sender->transport.context, &request);

	sender->status.requests++;
	if (err) {
		sender->status.results[ANSWER_DENIED]++;
		report(sender, "no request can be made: %s", strerror(-err));
		pace__failed(&sender->pace, now_ns(sender), 0);
		return err;
	}
	sender->doing = doing;
	return 0;
}

static const char *database(const struct sender *sender)
{
	return sender->options.database ?: "gapless";
}

static void ask_version(struct sender *sender)
{
	url_query__begin(&sender->query, "SELECT version() FORMAT TabSeparated");
	send_request(sender, ASKING_VERSION, NULL, 0, false);
}

static void ask_schema(struct sender *sender)
{
	url_query__begin(&sender->query, "SELECT max(version) FROM %s.meta FORMAT TabSeparated",
			 database(sender));
	send_request(sender, ASKING_SCHEMA, NULL, 0, false);
}

/* Of the rows of a host and minute. Another start of the agent may have as many, but others. */
static uint64_t fingerprint(uint64_t rows, uint64_t sum)
{
	return rows + UINT64_C(1000003) * sum;
}

static void ask_count(struct sender *sender)
{
	url_query__begin(&sender->query,
			 "SELECT count() + 1000003 * sum(%s) FROM %s.%s WHERE host_id = %" PRIu64
			 " AND bucket = toDateTime(%" PRIu64 ") FORMAT TabSeparated",
			 fact__table(sender->id.table)->sum_of, database(sender),
			 fact__table(sender->id.table)->name, sender->id.host_id,
			 sender->id.minute_s);
	send_request(sender, COUNTING, NULL, 0, false);
}

/* All settings are explicit, because their defaults differ between versions. */
static void add_settings(struct sender *sender)
{
	char token[BATCH_TEXT_BYTES];

	if (sender->status.server_version < TOKEN_VERSION)
		return;
	batch__token(&sender->id, token);
	url_query__add(&sender->query, "&insert_deduplicate=1"
				       "&deduplicate_blocks_in_dependent_materialized_views=1"
				       "&insert_deduplication_token=");
	url_query__escape(&sender->query, token);
	if (sender->status.server_version >= ASYNC_VERSION)
		url_query__add(&sender->query, "&async_insert=1&wait_for_async_insert=1"
					       "&async_insert_deduplicate=1");
	else
		url_query__add(&sender->query, "&async_insert=0");
}

/* A batch that fails again and again must not keep the others waiting. */
static void postpone(const struct sender *sender, struct spool_entry *entry)
{
	uint64_t delay_s = entry->failures < 8 ? UINT64_C(1) << entry->failures : MOST_DELAY_S;

	entry->failures++;
	entry->not_before_ns = now_ns(sender) + delay_s * SECOND_NS;
}

/* Takes ownership of `content`. */
static void insert(struct sender *sender, struct spool_entry *entry, void *content,
		   const struct batch_view *view)
{
	bool is_zstd = sender->status.server_version >= ZSTD_VERSION;
	size_t bytes = is_zstd ? view->zstd_bytes : view->head.raw_bytes;
	cleanup(free_p) void *packed = content;
	int err = 0;

	free(TAKE(sender->body));
	if (is_zstd)
		sender->body = TAKE(packed);
	else
		err = batch__unpack(view, &sender->body);
	if (err) {
		report(sender, "a batch cannot be read: %s", strerror(-err));
		postpone(sender, entry);
		pace__failed(&sender->pace, now_ns(sender), 0);
		return;
	}
	url_query__begin(&sender->query, "INSERT INTO %s.%s (%s) FORMAT Native", database(sender),
			 fact__table(sender->id.table)->name, view->head.columns);
	add_settings(sender);
	spool__mark_tried(sender->spool, entry, unix_s(sender));
	entry->sent_s = unix_s(sender);
	entry->is_busy = true;
	pace__inserting(&sender->pace, now_ns(sender));
	if (send_request(sender, INSERTING, is_zstd ? view->zstd : sender->body, bytes, is_zstd))
		entry->is_busy = false;
	else
		sender->status.sent_bytes += bytes;
}

/* --- answers --- */

static void say_failure(struct sender *sender, enum answer_means means)
{
	const struct answer *answer = &sender->answer;

	if (answer->error == -EKEYREJECTED)
		report(sender, "the store's or the agent's certificate is not accepted");
	else if (answer->error)
		report(sender, "the store %s: %s",
		       answer->unreached ? "cannot be reached" : "did not answer",
		       strerror(-answer->error));
	else if (means == ANSWER_STRANGE)
		report(sender, "the store's address answers with %d, but not as ClickHouse does",
		       answer->status);
	else
		report(sender, "the store answers with %d (%s), code %d", answer->status,
		       answer__word(means), answer__exception(answer));
}

static void fail(struct sender *sender, enum answer_means means)
{
	sender->asked_ns = 0;
	say_failure(sender, means);
	pace__failed(&sender->pace, now_ns(sender), sender->answer.retry_after_s);
}

static void on_version(struct sender *sender, enum answer_means means)
{
	unsigned int version;

	if (means == ANSWER_OK && answer__version(&sender->answer, &version))
		means = ANSWER_STRANGE;
	if (means != ANSWER_OK) {
		sender->status.results[means]++;
		fail(sender, means);
		return;
	}
	sender->status.server_version = version;
	ask_schema(sender);
}

static void on_schema(struct sender *sender, enum answer_means means)
{
	uint64_t version = 0;

	/* A store without the table is one of version 0. */
	if (means == ANSWER_OK && answer__number(&sender->answer, &version))
		means = ANSWER_STRANGE;
	if (means != ANSWER_OK && means != ANSWER_NO_TABLE) {
		sender->status.results[means]++;
		fail(sender, means);
		return;
	}
	sender->status.schema_version = version;
	if (version >= STORE_VERSION) {
		sender->asked_ns = now_ns(sender);
		return;
	}
	sender->status.results[ANSWER_NO_TABLE]++;
	fail(sender, ANSWER_NO_TABLE);
	report(sender,
	       "the store's schema has version %" PRIu64
	       ", this agent needs %d: apply the migration from %" PRIu64 " to %d",
	       version, STORE_VERSION, version, STORE_VERSION);
}

/* Parts are sent in their order, so the fingerprint tells whether this one is there. */
static void on_count(struct sender *sender, enum answer_means means)
{
	struct spool_entry *entry = spool__find(sender->spool, &sender->id);
	const struct batch_head *head = &sender->head;
	uint64_t count;

	if (means == ANSWER_OK && answer__number(&sender->answer, &count))
		means = ANSWER_STRANGE;
	if (means != ANSWER_OK) {
		sender->status.results[means]++;
		if (entry)
			postpone(sender, entry);
		fail(sender, means);
		return;
	}
	if (!entry)
		return;
	if (count == fingerprint(head->rows_before, head->sum_before)) {
		/* Not there: the next insert is the first one again. */
		entry->is_unknown = false;
		entry->tried_s = 0;
	} else if (count ==
		   fingerprint(head->rows_before + head->rows, head->sum_before + head->sum)) {
		sender->status.results[SENDER_FOUND]++;
		spool__remove(sender->spool, &sender->id);
	} else {
		sender->status.results[SENDER_UNCLEAR]++;
		spool__refuse(sender->spool, &sender->id);
	}
}

static void on_refusal(struct sender *sender, struct spool_entry *entry)
{
	say_failure(sender, ANSWER_REFUSED);
	if (entry && ++entry->refusals >= MOST_REFUSALS)
		spool__refuse(sender->spool, &sender->id);
	else if (entry)
		entry->not_before_ns =
			now_ns(sender) + entry->refusals * REFUSED_WAIT_S * SECOND_NS;
}

/* Something else may answer with an empty 200: a proxy, for example. */
static bool is_from_elsewhere(const struct sender *sender)
{
	return sender->status.server_version >= MARK_VERSION && !sender->answer.is_clickhouse;
}

static void on_insert(struct sender *sender, enum answer_means means)
{
	struct spool_entry *entry = spool__find(sender->spool, &sender->id);

	if (means == ANSWER_OK && is_from_elsewhere(sender))
		means = ANSWER_STRANGE;
	sender->status.results[means]++;
	free(TAKE(sender->body));
	if (entry)
		entry->is_busy = false;
	if (means == ANSWER_OK) {
		sender->status.problem[0] = '\0';
		pace__succeeded(&sender->pace);
		spool__remove(sender->spool, &sender->id);
		return;
	}
	if (entry && !answer__is_certain(means, &sender->answer))
		entry->is_unknown = true;
	if (entry && (means == ANSWER_LOST || means == ANSWER_BUSY || means == ANSWER_STRANGE))
		postpone(sender, entry);
	if (means == ANSWER_REFUSED)
		on_refusal(sender, entry);
	else
		fail(sender, means);
}

/* Whether there was an answer. */
static bool take_answer(struct sender *sender)
{
	enum doing doing = sender->doing;
	enum answer_means means;

	if (sender->transport.poll(sender->transport.context, &sender->answer))
		return false;
	sender->doing = DOING_NOTHING;
	means = answer__means(&sender->answer, doing == INSERTING);
	switch (doing) {
	case ASKING_VERSION:
		on_version(sender, means);
		break;
	case ASKING_SCHEMA:
		on_schema(sender, means);
		break;
	case COUNTING:
		on_count(sender, means);
		break;
	default:
		on_insert(sender, means);
	}
	return true;
}

/* --- what is due --- */

static bool must_count(const struct sender *sender, const struct spool_entry *entry)
{
	bool has_tokens = sender->status.server_version >= TOKEN_VERSION;
	uint64_t window_s = has_tokens ? sender->options.window_s ?: WINDOW_S : 0;

	return entry->is_unknown && fact__can_be_counted(entry->id.table) &&
	       unix_s(sender) - entry->tried_s >= window_s;
}

/* An insert without an answer may be under way; that of an earlier process may be from just now. */
static bool must_settle(const struct sender *sender, struct spool_entry *entry)
{
	uint64_t settle_s = sender->options.settle_s ?: SETTLE_S;
	uint64_t age_s;

	if (!entry->sent_s)
		entry->sent_s = unix_s(sender);
	age_s = unix_s(sender) - entry->sent_s;
	if (age_s >= settle_s)
		return false;
	entry->not_before_ns = now_ns(sender) + (settle_s - age_s) * SECOND_NS;
	return true;
}

/* Sends the entry, or a question about it. */
static void send_entry(struct sender *sender, struct spool_entry *entry)
{
	cleanup(free_p) void *content = NULL;
	struct batch_view view;
	size_t bytes;
	int err;

	if (must_count(sender, entry) && must_settle(sender, entry))
		return;
	sender->id = entry->id;
	err = spool__load(sender->spool, entry, &content, &bytes);
	if (err == -EBADMSG)
		return;
	if (err) {
		report(sender, "a batch cannot be read: %s", strerror(-err));
		postpone(sender, entry);
		pace__failed(&sender->pace, now_ns(sender), 0);
		return;
	}
	batch__view(content, bytes, &view);
	sender->head = view.head;
	if (must_count(sender, entry))
		ask_count(sender);
	else
		insert(sender, entry, TAKE(content), &view);
}

static bool is_asked(const struct sender *sender)
{
	return sender->asked_ns && now_ns(sender) - sender->asked_ns < ASK_AGAIN_S * SECOND_NS;
}

uint64_t sender__step(struct sender *sender)
{
	for (;;) {
		uint64_t now = now_ns(sender), at_ns;
		struct spool_entry *entry;

		if (sender->doing != DOING_NOTHING && !take_answer(sender))
			return 0;
		if (sender->doing != DOING_NOTHING)
			return 0;
		entry = spool__pick(sender->spool, unix_s(sender) - FRESH_S, now);
		at_ns = is_asked(sender) ? pace__next_insert_ns(&sender->pace)
					 : pace__next_request_ns(&sender->pace);
		if (!entry || now < at_ns) {
			uint64_t earliest = entry ? at_ns : spool__earliest_ns(sender->spool);

			return earliest > at_ns ? earliest : at_ns;
		}
		if (!is_asked(sender))
			ask_version(sender);
		else
			send_entry(sender, entry);
	}
}

/* --- life --- */

int sender__new(const struct sender_options *options, const struct sender_clock *clock,
		const struct http_transport *transport, struct spool *spool, struct sender **ret)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	struct pace_options pace = { .host_id = options->host_id,
				     .random = clock->random,
				     .context = clock->context,
				     .spread_s = options->no_spread ? 0 : PACE_SPREAD_S };

	if (!sender)
		return -ENOMEM;
	sender->options = *options;
	sender->clock = *clock;
	sender->transport = *transport;
	sender->spool = spool;
	pace__begin(&sender->pace, &pace, now_ns(sender));
	*ret = sender;
	return 0;
}

void sender__free(struct sender *sender)
{
	if (!sender)
		return;
	free(sender->body);
	free(sender);
}

int sender__add(struct sender *sender, const struct batch_id *id, void *content, size_t bytes)
{
	uint64_t due_s = id->minute_s + 60 + pace__offset_s(&sender->pace);
	uint64_t now_s = unix_s(sender);
	struct spool_entry *entry;
	int err = spool__put(sender->spool, id, content, bytes);

	pace__added(&sender->pace, id->minute_s);
	entry = err ? NULL : spool__find(sender->spool, id);
	/* A minute that ends in the future comes from a clock that was set back since. */
	if (entry && !sender->options.no_spread && due_s > now_s && due_s - now_s <= 120)
		entry->not_before_ns = now_ns(sender) + (due_s - now_s) * SECOND_NS;
	return err;
}

void sender__status(const struct sender *sender, struct sender_status *ret)
{
	*ret = sender->status;
}

const char *sender__word(unsigned int result)
{
	if (result == SENDER_FOUND)
		return "found";
	return result == SENDER_UNCLEAR ? "unclear" : answer__word((enum answer_means)result);
}
