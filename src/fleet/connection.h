/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the store, one after the other. Each waits for its answer.
 *
 * One thread only.
 */
#pragma once

#include "store/http.h"
#include "store/query.h"
#include "store/tsv.h"

struct connection;

struct connection_options {
	struct http_options http;
	const char *database; /* NULL: "gapless" */
	/* Instead of `http`: how requests travel. For tests. */
	const struct http_transport *transport;
};

/*
 * Asks for the version of the store and whether it is a cluster. On an error, *ret_problem says in
 * words what is wrong. -EINVAL: URL or database; -EPROTO: no store of this version; errors of
 * connection__ask().
 */
#define CONNECTION_PROBLEM_BYTES 512
int connection__open(const struct connection_options *options, struct connection **ret,
		     char ret_problem[CONNECTION_PROBLEM_BYTES]);
void connection__free(struct connection *connection);

/* A question must ask for less than this. */
#define CONNECTION_MOST_BYTES (64u << 20)
#define CONNECTION_MOST_ROWS  1000000

const struct query_tables *connection__tables(const struct connection *connection);

/*
 * Sends the query, which must end with what it asks for in format TabSeparated, and calls `take`
 * for each row of `columns` fields. Finishes the query. -EIO: no answer, or a refusal; -EBADMSG:
 * the answer is not understood; -EOVERFLOW: it is longer than any that is asked for; -ENOMEM; or
 * the error of `take`. connection__problem() says why.
 */
int connection__ask(struct connection *connection, struct query *query, size_t columns,
		    tsv_take_fn take, void *context);
/* The same for a statement without an answer: INSERT. */
int connection__tell(struct connection *connection, struct query *query);
/* What the last error was, in words. */
const char *connection__problem(const struct connection *connection);
