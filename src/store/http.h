/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to a server over HTTP, one at a time, with libcurl's multi interface: nothing here
 * waits, except http__wait().
 *
 * Redirects are not followed. Answers are bounded in size and time. By default each request has a
 * connection of its own: agents send once a minute, and a server has no room for idle connections
 * of 100,000 hosts. TLS sessions are resumed.
 *
 * Secrets come from files, which are read again for every request. If a certificate or a key has
 * changed, no session is resumed.
 *
 * One thread only, except http__wake().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/answer.h"

/* Files may be NULL. */
struct http_options {
	const char *url;           /* "https://store:8443" */
	const char *user;          /* NULL: none */
	const char *password_file; /* for `user` */
	const char *token_file;    /* sent as a bearer token */
	const char *ca_file;       /* the only certificates that are trusted; NULL: the system's */
	const char *certificate_file, *key_file; /* of the client */
	unsigned int timeout_s;                  /* of a request; 0: 30 */
	bool keeps_connection;                   /* for several requests one after the other */
	bool shows_secrets;                      /* without encryption to other machines, too */
};

struct http_request {
	const char *query; /* what follows '?' in the URL */
	const void *body;  /* NULL: GET. Must stay until the answer. */
	size_t body_bytes;
	bool is_zstd;     /* the body is compressed */
	bool is_gzip;     /* the same */
	const char *path; /* "/v1/metrics", instead of the query; NULL: the query */
	const char *type; /* of the body; NULL: the one of forms, which ClickHouse ignores */
	/*
	 * Takes the body of an answer with status 200 part by part; NULL: the answer has it, up to
	 * its limit. An error ends the request.
	 */
	int (*take)(void *context, const void *bytes, size_t size);
	void *take_context;
};

/*
 * What the sender needs: http.c has it for real servers, tests for simulated ones. start(): 0, or
 * -errno: nothing was sent. poll(): 0 and an answer, or -EAGAIN.
 */
struct http_transport {
	int (*start)(void *context, const struct http_request *request);
	int (*poll)(void *context, struct answer *ret);
	void *context;
};

struct http;

/*
 * -EINVAL: the URL is neither http nor https, or has a user, a password or a query. -EPERM: a
 * password or a token would be sent without encryption, to another machine, and shows_secrets is
 * not set.
 */
int http__new(const struct http_options *options, struct http **ret);
/* An error of http__new() in words. */
const char *http__problem(int err);
void http__free(struct http *http);
struct http_transport http__transport(struct http *http);

/* Waits until something happens to the request, or http__wake(), or the time is over. */
void http__wait(struct http *http, unsigned int timeout_ms);
/* From any thread. */
void http__wake(struct http *http);
