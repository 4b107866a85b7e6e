/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the thread of the server and its answers share. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "metrics/listener.h"
#include "metrics/server.h"

#define SERVER_MOST_CONNECTIONS 64

struct server_connection {
	int fd; /* -1: none */
	uint64_t since_ns;
	bool is_cut;
};

struct server {
	struct server_options options;
	struct listener_address address;
	int listen_fd, wake_fd;
	pthread_t thread;
	bool has_thread;
	atomic_bool stop, reload;
	uint64_t start_ns;

	/* Used by the thread alone. */
	struct MHD_Daemon *daemon;
	struct MHD_Daemon *ending; /* with the last credentials; serves its open connections */
	uint64_t ending_ns;        /* when to stop it */
	struct credentials *credentials, *ending_credentials;
	uint64_t tended_ns, looked_ns;
	uint64_t minute_ns; /* begin of the minute in which scrapes are counted */
	unsigned int scrapes;
	bool has_closed; /* a connection, in this run */
	struct server_connection connections[2 * SERVER_MOST_CONNECTIONS];

	/* The rest is shared. */
	pthread_mutex_t lock;
	struct pages *pages;
	uint64_t published_ns;
	uint64_t asked_ns[PAGES_COUNT];
	char *reasons;
	char problem[SERVER_MESSAGE_BYTES];
	struct server_counts counts;
};

/* The handler of libmicrohttpd; `cls` is the server. */
enum MHD_Result server__answer(void *cls, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **request);
