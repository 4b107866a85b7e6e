/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "store/schema.h"

#define DATABASE "gapless"
#define WAIT_MS  1000
#define COLUMNS  200 /* of a server's message */

struct connection {
	struct http *http; /* NULL: another transport */
	struct http_transport transport;
	struct query_tables tables;
	char *database, *url;
	char problem[CONNECTION_PROBLEM_BYTES];
	struct answer answer;
};

DEFINE_CLEANUP(struct connection *, connection__free)

void connection__free(struct connection *connection)
{
	if (!connection)
		return;
	http__free(connection->http);
	free(connection->database);
	free(connection->url);
	free(connection);
}

const struct query_tables *connection__tables(const struct connection *connection)
{
	return &connection->tables;
}

const char *connection__problem(const struct connection *connection)
{
	return connection->problem;
}

/* Sets the problem. */
__attribute__((format(printf, 2, 3))) static void note(struct connection *connection,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(connection->problem, sizeof(connection->problem), format, args);
	va_end(args);
}

/* The server's own words, without what a terminal must not see. */
static void note_refusal(struct connection *connection, const char *what)
{
	struct answer *answer = &connection->answer;

	note(connection, "the store '%s' %s", words__clean(connection->url, 80).text, what);
	answer->body[strcspn(answer->body, "\r\n")] = '\0';
	if (answer->status)
		words__say(connection->problem, sizeof(connection->problem), " (HTTP %d)",
			   answer->status);
	if (answer->body[0])
		words__say(connection->problem, sizeof(connection->problem), ": %s",
			   words__clean(answer->body, COLUMNS).text);
}

static int judge(struct connection *connection, bool is_insert)
{
	static const char *const words[ANSWER_MEANINGS] = {
		[ANSWER_UNREACHED] = "cannot be reached",
		[ANSWER_LOST] = "did not answer",
		[ANSWER_BUSY] = "could not answer",
		[ANSWER_DENIED] = "refuses this user, password or certificate",
		[ANSWER_NO_TABLE] = "has not the tables [gapless fleet schema]",
		[ANSWER_REFUSED] = "refuses the question",
		[ANSWER_STRANGE] = "does not answer like ClickHouse",
	};
	enum answer_means means = answer__means(&connection->answer, is_insert);

	if (means == ANSWER_OK)
		return 0;
	note_refusal(connection, words[means] ? words[means] : "failed");
	if (connection->answer.error)
		words__say(connection->problem, sizeof(connection->problem), ": %s",
			   strerror(-connection->answer.error));
	return -EIO;
}

static int travel(struct connection *connection, const struct http_request *request)
{
	struct http_transport *transport = &connection->transport;
	int err = transport->start(transport->context, request);

	if (err) {
		note(connection, "the question cannot be sent: %s", strerror(-err));
		return err;
	}
	while ((err = transport->poll(transport->context, &connection->answer)) == -EAGAIN)
		if (connection->http)
			http__wait(connection->http, WAIT_MS);
	return err;
}

/* A reading of rows, with the error that ended it. */
struct reading {
	struct tsv tsv;
	uint64_t bytes;
	int err;
};

static int feed(void *context, const void *bytes, size_t size)
{
	struct reading *reading = context;

	reading->bytes += size;
	reading->err = tsv__feed(&reading->tsv, bytes, size);
	if (!reading->err &&
	    (reading->bytes > CONNECTION_MOST_BYTES || reading->tsv.rows > CONNECTION_MOST_ROWS))
		reading->err = -EOVERFLOW;
	return reading->err;
}

static int note_bad_answer(struct connection *connection, int err)
{
	if (err == -EBADMSG || err == -EFBIG)
		note_refusal(connection, "sent rows that are not understood");
	else if (err == -EOVERFLOW)
		note_refusal(connection, "sent more than was asked for");
	else if (err)
		note(connection, "%s", strerror(-err));
	return err;
}

int connection__ask(struct connection *connection, struct query *query, size_t columns,
		    tsv_take_fn take, void *context)
{
	struct reading reading = { .tsv = {
					   .columns = columns, .take = take, .context = context } };
	const char *sql = query__finish(query);
	/* The status of the answer is known only when the query is complete. */
	const struct http_request request = { .query = "wait_end_of_query=1",
					      .body = sql,
					      .body_bytes = sql ? strlen(sql) : 0,
					      .take = feed,
					      .take_context = &reading };
	int err;

	if (!sql)
		return note_bad_answer(connection, -ENOMEM);
	err = travel(connection, &request);
	if (!err && !reading.err)
		err = judge(connection, false);
	if (!err)
		err = note_bad_answer(connection, reading.err ?: tsv__end(&reading.tsv));
	tsv__release(&reading.tsv);
	return err;
}

int connection__tell(struct connection *connection, struct query *query)
{
	const char *sql = query__finish(query);
	const struct http_request request = { .query = "wait_end_of_query=1",
					      .body = sql,
					      .body_bytes = sql ? strlen(sql) : 0 };
	int err;

	if (!sql)
		return note_bad_answer(connection, -ENOMEM);
	err = travel(connection, &request);
	return err ?: judge(connection, true);
}

/* --- open ------------------------------------------------------------------------------------- */

struct about {
	uint64_t version, clusters;
};

static int take_about(void *context, char *const *fields)
{
	struct about *about = context;

	return tsv__number(fields[0], &about->version) ?: tsv__number(fields[1], &about->clusters);
}

static int look(struct connection *connection)
{
	cleanup(query__release) struct query query = {};
	struct about about = {};
	int err;

	query__begin(&query);
	query__add(&query,
		   "SELECT max(version), (SELECT count() FROM system.tables WHERE database = ");
	query__quote(&query, connection->tables.database);
	query__add(&query, " AND name = 'ledger_all') FROM ");
	query__table(&query, &connection->tables, "meta");
	query__add(&query, " FORMAT TabSeparated");
	err = connection__ask(connection, &query, 2, take_about, &about);
	if (err)
		return err;
	connection->tables.is_cluster = about.clusters > 0;
	if (about.version >= STORE_VERSION)
		return 0;
	note(connection,
	     "the store has schema version %" PRIu64 ", this program needs %d [gapless fleet "
	     "schema --from-version %" PRIu64 "]",
	     about.version, STORE_VERSION, about.version);
	return -EPROTO;
}

static int prepare(struct connection *connection, const struct connection_options *options)
{
	const char *database = options->database ? options->database : DATABASE;
	int err = 0;

	if (!store__is_name(database)) {
		note(connection, "'%s' is not a name of a database",
		     words__clean(database, 40).text);
		return -EINVAL;
	}
	connection->database = strdup(database);
	connection->url = strdup(options->http.url ? options->http.url : "");
	if (!connection->database || !connection->url)
		return -ENOMEM;
	connection->tables.database = connection->database;
	if (options->transport)
		connection->transport = *options->transport;
	else
		err = http__new(&options->http, &connection->http);
	if (!err && connection->http)
		connection->transport = http__transport(connection->http);
	if (err == -EPERM)
		note(connection, "%s", http__problem(err));
	if (err == -EINVAL)
		note(connection,
		     "'%s' is not the URL of a store [http://HOST:8123 or https://HOST:8443]",
		     words__clean(connection->url, 80).text);
	return err;
}

int connection__open(const struct connection_options *options, struct connection **ret,
		     char ret_problem[CONNECTION_PROBLEM_BYTES])
{
	cleanup(connection__free_p) struct connection *connection = calloc(1, sizeof(*connection));
	int err = connection ? prepare(connection, options) : -ENOMEM;

	if (!err)
		err = look(connection);
	if (err) {
		snprintf(ret_problem, CONNECTION_PROBLEM_BYTES, "%s",
			 connection && *connection->problem ? connection->problem : strerror(-err));
		return err;
	}
	*ret = TAKE(connection);
	return 0;
}
