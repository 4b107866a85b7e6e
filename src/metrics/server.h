/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves finished pages by HTTP, from a thread of its own: GET /metrics, /healthz and /readyz,
 * nothing else, and nothing that changes anything. A request for the metrics only sends a page that
 * was made before.
 *
 * An address that other machines can reach needs TLS (1.2 or later), and a client CA or a token.
 * What is given is required: with both, a client needs both. /healthz and /readyz need neither,
 * because probes have neither; the reasons why an agent is not ready are only for clients that may
 * read the metrics.
 *
 * A connection serves one request and ends after `timeout_ms` at the latest, whatever the client
 * does. While there are `most_connections`, further ones wait in the kernel, and a connection ends
 * after a second. So whoever keeps connections open delays a probe, but cannot keep it away. Of
 * another machine, there are at most half as many connections; further ones are closed.
 *
 * server__publish(), server__set_reasons(), server__reload(), server__counts() and
 * server__problem() can be called from any thread.
 */
#pragma once

#include <stdint.h>

#include "metrics/credentials.h"
#include "metrics/pages.h"

/* 0 in a number is its default. The strings must outlive the server. */
struct server_options {
	const char *address; /* listener__parse(); NULL: "127.0.0.1:9474" */
	struct credentials_files files;
	unsigned int most_connections;        /* 8, at most 64 */
	unsigned int most_scrapes_per_minute; /* 256; beyond: 429 */
	unsigned int timeout_ms;              /* 10000, of a connection */
	unsigned int reload_ms;               /* 10000: how often files are looked at */
	unsigned int stale_ms;                /* 90000 without a page: /healthz says 503 */
};

#define SERVER_DEFAULT_ADDRESS "127.0.0.1:9474"
#define SERVER_MESSAGE_BYTES   CREDENTIALS_MESSAGE_BYTES

struct server;

/* -errno, and `message` says why. */
int server__new(const struct server_options *options, char message[SERVER_MESSAGE_BYTES],
		struct server **ret);
void server__free(struct server *server);

/*
 * Serves these pages from now on; takes a reference. Makes those in advance that clients asked for
 * in the last five minutes; another is made when it is first asked for.
 */
void server__publish(struct server *server, struct pages *pages);
/* Why the agent is not ready, one reason per line; "" or NULL: it is. Before the first call: "". */
int server__set_reasons(struct server *server, const char *reasons);

/* Reads changed files soon. The server also does so by itself, every reload_ms. */
void server__reload(struct server *server);
/*
 * Why files that changed cannot be used, in which case the earlier ones stay in use, or that the
 * certificate has expired, as of the last look. "": there is no problem. The same text is a reason
 * of /readyz.
 */
void server__problem(struct server *server, char ret[SERVER_MESSAGE_BYTES]);

struct server_counts {
	uint64_t served;  /* requests for the metrics */
	uint64_t refused; /* without the right token or certificate, or too many */
	uint64_t cut;     /* connections that took too long */
};
struct server_counts server__counts(struct server *server);
/* The port it listens on; 0: a UNIX socket. */
uint16_t server__port(const struct server *server);
