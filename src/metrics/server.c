/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread drives libmicrohttpd by its epoll descriptor, so the server can do two things between
 * requests that the library does not offer. It closes connections by their age: the library's own
 * timeout starts again with every byte, and a client that sends one byte a second would keep its
 * connection for ever. And it changes certificates: it starts a second daemon on the same socket
 * with the new ones, while the first one finishes its connections.
 */
#include "metrics/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"
#include "metrics/server_internal.h"

#define MS_NS        UINT64_C(1000000)
#define ASKED_NS     (300 * UINT64_C(1000000000)) /* pages asked for since then are made */
#define MEMORY_BYTES 16384                        /* of a connection: limits its headers */
#define TEND_MS      250
#define CROWDED_NS   (1000 * MS_NS) /* of a connection, while others wait for one */
#define PRIORITIES   "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static int check_address(const struct server_options *options,
			 const struct listener_address *address, char *message)
{
	const struct credentials_files *files = &options->files;
	const char *lacks = NULL;

	if (!files->certificate != !files->key)
		lacks = "a certificate needs a key, and a key a certificate";
	else if (files->client_ca && !files->certificate)
		lacks = "a client CA needs a certificate and a key of the server";
	if (lacks) {
		snprintf(message, SERVER_MESSAGE_BYTES, "%s", lacks);
		return -EINVAL;
	}
	if (address->is_local || (files->certificate && (files->client_ca || files->token)))
		return 0;
	snprintf(message, SERVER_MESSAGE_BYTES,
		 "other machines can reach '%s', so it needs %s [or listen on 127.0.0.1]",
		 options->address,
		 files->certificate ? "a client CA or a token file" : "a certificate and a key");
	return -EACCES;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct server *server = cls;
	int from = code == MHD_CONNECTION_NOTIFY_STARTED ? -1 : info->connect_fd;
	int to = code == MHD_CONNECTION_NOTIFY_STARTED ? info->connect_fd : -1;

	server->has_closed |= to < 0;
	for (size_t i = 0; i < 2 * SERVER_MOST_CONNECTIONS; i++)
		if (server->connections[i].fd == from) {
			server->connections[i] =
				(struct server_connection) { to, clock__now_ns(), false };
			return;
		}
}

/*
 * One machine cannot take all connections; further ones are closed at once. On this machine, all
 * users have the same address, so there is no such limit. 0: none.
 */
static unsigned int most_per_address(const struct server *server)
{
	return server->address.is_local ? 0 : (server->options.most_connections + 1) / 2;
}

/* -errno, and a message. */
static int start_daemon(struct server *server, const struct credentials *credentials, char *message,
			struct MHD_Daemon **ret)
{
	int fd = fcntl(server->listen_fd, F_DUPFD_CLOEXEC, 0);
	const char *ca = credentials__client_ca(credentials);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)credentials__certificate(credentials) },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)credentials__key(credentials) },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, PRIORITIES },
		{ ca ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, (void *)ca },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	struct MHD_Daemon *daemon;
	bool has_tls = credentials__certificate(credentials);

	if (fd < 0)
		return -errno;
	errno = 0;
	daemon = MHD_start_daemon(
		MHD_USE_EPOLL | (has_tls ? MHD_USE_TLS : 0), 0, NULL, NULL, server__answer, server,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		server->options.most_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		most_per_address(server), MHD_OPTION_CONNECTION_TIMEOUT,
		(server->options.timeout_ms + 999) / 1000, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
		MHD_OPTION_ARRAY, has_tls ? tls : none, MHD_OPTION_END);
	if (!daemon) {
		int err = errno ? -errno : -EINVAL;

		snprintf(message, SERVER_MESSAGE_BYTES, "cannot start the HTTP server: %s",
			 errno ? strerror(errno) : "libmicrohttpd refuses");
		close(fd);
		return err;
	}
	/* MHD_stop_daemon() closes the descriptor. */
	*ret = daemon;
	return 0;
}

static void set_problem(struct server *server, const char *message)
{
	pthread_mutex_lock(&server->lock);
	snprintf(server->problem, sizeof(server->problem), "%s", message);
	pthread_mutex_unlock(&server->lock);
}

static void stop_ending(struct server *server)
{
	if (server->ending)
		MHD_stop_daemon(server->ending);
	credentials__free(server->ending_credentials);
	server->ending = NULL;
	server->ending_credentials = NULL;
}

/* The files are in use. */
static void look_at_expiry(struct server *server)
{
	int64_t expires_s = credentials__expires_s(server->credentials);
	bool has_expired = expires_s && expires_s < (int64_t)time(NULL);

	set_problem(server, has_expired ? "the certificate of the server has expired" : "");
}

static void read_again(struct server *server)
{
	char message[SERVER_MESSAGE_BYTES] = "out of memory";
	struct credentials *credentials = NULL;
	struct MHD_Daemon *daemon = NULL;
	int fd;

	if (!credentials__changed(server->credentials, &server->options.files)) {
		look_at_expiry(server);
		return;
	}
	if (credentials__read(&server->options.files, message, &credentials) ||
	    start_daemon(server, credentials, message, &daemon)) {
		credentials__free(credentials);
		set_problem(server, message);
		return;
	}
	stop_ending(server);
	fd = MHD_quiesce_daemon(server->daemon);
	if (fd >= 0)
		close(fd);
	server->ending = server->daemon;
	server->ending_credentials = server->credentials;
	server->ending_ns = clock__now_ns() + server->options.timeout_ms * MS_NS;
	server->daemon = daemon;
	server->credentials = credentials;
	look_at_expiry(server);
}

/*
 * Whether all connections are in use and another client waits. The library cannot tell, because it
 * does not look at the socket then.
 */
static bool is_awaited(const struct server *server)
{
	struct pollfd next = { server->listen_fd, POLLIN, 0 };
	size_t count = 0;

	for (size_t i = 0; i < 2 * SERVER_MOST_CONNECTIONS; i++)
		count += server->connections[i].fd >= 0 && !server->connections[i].is_cut;
	return count >= server->options.most_connections && poll(&next, 1, 0) > 0;
}

static void cut_old(struct server *server, uint64_t now)
{
	uint64_t most_ns = server->options.timeout_ms * MS_NS;

	if (most_ns > CROWDED_NS && is_awaited(server))
		most_ns = CROWDED_NS;
	for (size_t i = 0; i < 2 * SERVER_MOST_CONNECTIONS; i++) {
		struct server_connection *connection = &server->connections[i];

		if (connection->fd < 0 || connection->is_cut ||
		    now - connection->since_ns < most_ns)
			continue;
		connection->is_cut = true;
		pthread_mutex_lock(&server->lock);
		server->counts.cut++;
		pthread_mutex_unlock(&server->lock);
		/* The library sees the end of the stream and closes the connection. */
		shutdown(connection->fd, SHUT_RDWR);
	}
}

static void tend(struct server *server)
{
	uint64_t now = clock__now_ns();

	if (now - server->tended_ns >= TEND_MS * MS_NS) {
		server->tended_ns = now;
		cut_old(server, now);
		if (server->ending && now >= server->ending_ns)
			stop_ending(server);
	}
	if (atomic_exchange(&server->reload, false) ||
	    now - server->looked_ns >= server->options.reload_ms * MS_NS) {
		server->looked_ns = now;
		read_again(server);
	}
}

static int epoll_of(struct MHD_Daemon *daemon)
{
	return daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd : -1;
}

static bool has_connections(const struct server *server)
{
	for (size_t i = 0; i < 2 * SERVER_MOST_CONNECTIONS; i++)
		if (server->connections[i].fd >= 0)
			return true;
	return false;
}

/* How long poll() may wait; without a connection, until the files are due. */
static int wait_ms(const struct server *server)
{
	struct MHD_Daemon *const daemons[] = { server->daemon, server->ending };
	unsigned long long ms =
		has_connections(server) || server->ending ? TEND_MS : server->options.reload_ms;
	MHD_UNSIGNED_LONG_LONG daemon_ms;

	for (int i = 0; i < 2; i++)
		if (daemons[i] && MHD_get_timeout(daemons[i], &daemon_ms) == MHD_YES &&
		    daemon_ms < ms)
			ms = daemon_ms;
	return (int)ms;
}

/*
 * At the limit of connections, the library does not watch the listening socket. It does so again at
 * the beginning of the first run after the end of a connection.
 */
static void run_daemon(struct server *server)
{
	server->has_closed = false;
	MHD_run(server->daemon);
	if (server->has_closed)
		MHD_run(server->daemon);
}

static void *serve(void *context)
{
	struct server *server = context;
	uint64_t woken;

	while (!server->stop) {
		struct pollfd fds[] = {
			{ server->wake_fd, POLLIN, 0 },
			{ epoll_of(server->daemon), POLLIN, 0 },
			{ epoll_of(server->ending), POLLIN, 0 },
		};

		if (poll(fds, 3, wait_ms(server)) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && read(server->wake_fd, &woken, sizeof(woken)) < 0 &&
		    errno != EAGAIN)
			break;
		run_daemon(server);
		if (server->ending)
			MHD_run(server->ending);
		tend(server);
	}
	return NULL;
}

static void wake(struct server *server)
{
	uint64_t one = 1;

	/* It fails only if the counter is at its end, and then it is awake. */
	if (write(server->wake_fd, &one, sizeof(one)) < 0)
		return;
}

void server__free(struct server *server)
{
	if (!server)
		return;
	if (server->has_thread) {
		server->stop = true;
		wake(server);
		pthread_join(server->thread, NULL);
	}
	stop_ending(server);
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	credentials__free(server->credentials);
	if (server->listen_fd >= 0) {
		close(server->listen_fd);
		listener__remove(&server->address);
	}
	if (server->wake_fd >= 0)
		close(server->wake_fd);
	pages__unref(server->pages);
	free(server->reasons);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
DEFINE_CLEANUP(struct server *, server__free)

static struct server *make_server(const struct server_options *options)
{
	struct server *server = calloc(1, sizeof(*server));
	struct server_options *own;

	if (!server)
		return NULL;
	own = &server->options;
	*own = *options;
	own->address = own->address ? own->address : SERVER_DEFAULT_ADDRESS;
	own->most_connections = own->most_connections ? own->most_connections : 8;
	own->most_scrapes_per_minute =
		own->most_scrapes_per_minute ? own->most_scrapes_per_minute : 256;
	own->timeout_ms = own->timeout_ms ? own->timeout_ms : 10000;
	own->reload_ms = own->reload_ms ? own->reload_ms : 10000;
	own->stale_ms = own->stale_ms ? own->stale_ms : 90000;
	server->listen_fd = server->wake_fd = -1;
	server->start_ns = server->minute_ns = server->looked_ns = clock__now_ns();
	for (size_t i = 0; i < 2 * SERVER_MOST_CONNECTIONS; i++)
		server->connections[i].fd = -1;
	pthread_mutex_init(&server->lock, NULL);
	return server;
}

static int start_thread(struct server *server)
{
	int err = threads__start(serve, server, &server->thread);

	server->has_thread = !err;
	if (!err)
		pthread_setname_np(server->thread, "metrics");
	return err;
}

static int open_socket(struct server *server, char *message)
{
	int err = listener__open(&server->address, &server->listen_fd);

	if (err)
		snprintf(message, SERVER_MESSAGE_BYTES, "cannot listen on '%s': %s",
			 server->options.address, strerror(-err));
	return err;
}

int server__new(const struct server_options *options, char message[SERVER_MESSAGE_BYTES],
		struct server **ret)
{
	cleanup(server__free_p) struct server *server = make_server(options);
	int err;

	snprintf(message, SERVER_MESSAGE_BYTES, "out of memory");
	if (!server)
		return -ENOMEM;
	if (server->options.most_connections > SERVER_MOST_CONNECTIONS) {
		snprintf(message, SERVER_MESSAGE_BYTES, "at most %d connections",
			 SERVER_MOST_CONNECTIONS);
		return -EINVAL;
	}
	err = listener__parse(server->options.address, &server->address);
	if (err) {
		snprintf(message, SERVER_MESSAGE_BYTES,
			 "'%s' is not an address [127.0.0.1:9474, [::1]:9474 or unix:/PATH]",
			 server->options.address);
		return err;
	}
	err = check_address(&server->options, &server->address, message);
	if (!err)
		err = credentials__read(&options->files, message, &server->credentials);
	if (!err)
		err = open_socket(server, message);
	if (!err)
		err = start_daemon(server, server->credentials, message, &server->daemon);
	if (err)
		return err;
	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake_fd < 0)
		return -errno;
	look_at_expiry(server);
	err = start_thread(server);
	if (err)
		return err;
	*ret = TAKE(server);
	return 0;
}

void server__publish(struct server *server, struct pages *pages)
{
	uint64_t now = clock__now_ns();
	unsigned int set = 0;
	struct pages *last;

	pthread_mutex_lock(&server->lock);
	for (unsigned int i = 0; i < PAGES_COUNT; i++)
		if (server->asked_ns[i] && now - server->asked_ns[i] < ASKED_NS)
			set |= 1u << i;
	pthread_mutex_unlock(&server->lock);
	/* If one cannot be made, the request for it is answered with an error. */
	pages__prepare(pages, set);
	pthread_mutex_lock(&server->lock);
	last = server->pages;
	server->pages = pages__ref(pages);
	server->published_ns = now;
	pthread_mutex_unlock(&server->lock);
	pages__unref(last);
}

int server__set_reasons(struct server *server, const char *reasons)
{
	char *copy = strdup(reasons ? reasons : ""), *last;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&server->lock);
	last = server->reasons;
	server->reasons = copy;
	pthread_mutex_unlock(&server->lock);
	free(last);
	return 0;
}

void server__reload(struct server *server)
{
	server->reload = true;
	wake(server);
}

void server__problem(struct server *server, char ret[SERVER_MESSAGE_BYTES])
{
	pthread_mutex_lock(&server->lock);
	memcpy(ret, server->problem, SERVER_MESSAGE_BYTES);
	pthread_mutex_unlock(&server->lock);
}

struct server_counts server__counts(struct server *server)
{
	struct server_counts counts;

	pthread_mutex_lock(&server->lock);
	counts = server->counts;
	pthread_mutex_unlock(&server->lock);
	return counts;
}

uint16_t server__port(const struct server *server)
{
	return listener__port(server->listen_fd);
}
