/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A store that answers from a script: the first line whose pattern is in the question. What was
 * asked is kept.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "fleet/connection.h"

#define FLEET_ABOUT { "system.tables", "1\t0\n", 0 }
#define FLEET_MOST  32

struct fleet_line {
	const char *pattern, *answer;
	int status; /* of HTTP; 0: 200 */
};

struct fleet_store {
	const struct fleet_line *script; /* ends with a pattern of NULL */
	size_t part;                     /* bytes that arrive at a time; 0: all */
	char *asked[FLEET_MOST];
	size_t count;
	int status;
	bool is_cut; /* the receiver wanted no more */
	const char *error;
};

static inline const struct fleet_line *fleet_find(const struct fleet_store *store, const char *sql)
{
	for (const struct fleet_line *line = store->script; line->pattern; line++)
		if (strstr(sql, line->pattern))
			return line;
	fail_msg("nobody expected: %s", sql);
	return NULL;
}

static inline int fleet_start(void *context, const struct http_request *request)
{
	struct fleet_store *store = context;
	const struct fleet_line *line;
	size_t left, part;

	assert_true(store->count < FLEET_MOST);
	store->asked[store->count] = strndup(request->body, request->body_bytes);
	line = fleet_find(store, store->asked[store->count++]);
	store->status = line->status ? line->status : 200;
	store->error = store->status == 200 ? "" : line->answer;
	store->is_cut = false;
	if (!request->take || store->status != 200)
		return 0;
	left = strlen(line->answer);
	for (const char *at = line->answer; left && !store->is_cut; at += part, left -= part) {
		part = store->part && store->part < left ? store->part : left;
		store->is_cut = request->take(request->take_context, at, part) != 0;
	}
	return 0;
}

static inline int fleet_poll(void *context, struct answer *ret)
{
	struct fleet_store *store = context;

	memset(ret, 0, sizeof(*ret));
	ret->error = store->is_cut ? -EFBIG : 0;
	ret->status = store->status;
	answer__body(ret, store->error, strlen(store->error));
	return 0;
}

static inline int fleet_try(struct fleet_store *store, struct connection **ret,
			    char problem[CONNECTION_PROBLEM_BYTES])
{
	const struct http_transport transport = { fleet_start, fleet_poll, store };
	const struct connection_options options = { .http = { .url = "http://store" },
						    .transport = &transport };

	return connection__open(&options, ret, problem);
}

static inline struct connection *fleet_open(struct fleet_store *store)
{
	char problem[CONNECTION_PROBLEM_BYTES];
	struct connection *connection = NULL;

	assert_int_equal(fleet_try(store, &connection, problem), 0);
	return connection;
}

static inline void fleet_close(struct fleet_store *store, struct connection *connection)
{
	connection__free(connection);
	for (size_t i = 0; i < store->count; i++)
		free(store->asked[i]);
	store->count = 0;
}

/* The question with these words. */
static inline const char *fleet_asked(const struct fleet_store *store, const char *words)
{
	for (size_t i = 0; i < store->count; i++)
		if (strstr(store->asked[i], words))
			return store->asked[i];
	fail_msg("nobody asked: %s", words);
	return "";
}
