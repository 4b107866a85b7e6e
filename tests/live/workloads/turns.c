/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns: clients that wait for answers, in each way in which one can, and threads that wait in the
 * same calls for something else. Servers answer DELAY_NS after a request; nagler's
 * at once, asker's after LONG_DELAY_NS.
 *
 *   c-recv, c-poll, c-epoll, c-select, c-unix  ask ROUNDS times and wait for the answer
 *   s-…                   their servers
 *   piper                 sends three requests at once, and reads three answers
 *   resolver, resolver2   datagrams to a port that never answers; connected, and not
 *   logger, unixlog       datagrams that nobody answers, beside an epoll wait with them in it
 *   asker, reader         one connection: one thread sends, the other one waits
 *   dialler, dialler2     connect to a full listener: blocking, and with poll()
 *   proxy                 asks a server for the answer that its own client waits for
 *   scraper               asks, and waits for a while in poll() on the same socket
 *   nagler                sends each request in two small parts
 *   tls                   speaks as TLS 1.3 does: its first request is followed by two tickets, and
 * then by the answer pair-a, pair-b        the two ends of a socketpair; pair-a asks
 */
#include "workload.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ROUNDS        5
#define DELAY_NS      (20 * MS)
#define LONG_DELAY_NS (200 * MS)
#define IDLE_MS       30

struct end {
	const char *name;
	int fd;
	int request_bytes;
	uint64_t delay_ns;
};

static struct sockaddr_in any_port(void)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int listen_at(struct sockaddr_in *address, int backlog)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = any_port();
	if (fd < 0 || bind(fd, (void *)address, size) || listen(fd, backlog) ||
	    getsockname(fd, (void *)address, &size))
		die("listen");
	return fd;
}

static int call(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const void *)address, sizeof(*address)))
		die("connect");
	return fd;
}

/* --- servers --- */

/* Reads one request of `size` bytes; false at the end. */
static bool read_request(int fd, int size)
{
	char buffer[16];

	while (size > 0) {
		ssize_t got = read(fd, buffer, (size_t)size);

		if (got <= 0)
			return false;
		size -= (int)got;
	}
	return true;
}

static void *serve(void *arg)
{
	const struct end *end = arg;
	int fd = accept(end->fd, NULL, NULL);

	set_name(end->name);
	while (read_request(fd, end->request_bytes)) {
		if (end->delay_ns)
			sleep_ns(end->delay_ns);
		send_token(fd);
	}
	close(fd);
	return NULL;
}

/* A connection to a new server of that name. */
static int new_server(const char *name, int request_bytes, uint64_t delay_ns,
		      struct sockaddr_in *ret_address, pthread_t *ret_server)
{
	struct end *end = calloc(1, sizeof(*end));

	end->name = name;
	end->request_bytes = request_bytes;
	end->delay_ns = delay_ns;
	end->fd = listen_at(ret_address, 8);
	*ret_server = start_thread(serve, end);
	return call(ret_address);
}

/* --- clients --- */

static void await_recv(int fd)
{
}

static void await_poll(int fd)
{
	struct pollfd set[] = { { STDIN_FILENO, 0, 0 }, { fd, POLLIN, 0 } };

	if (poll(set, 2, 5000) != 1)
		die("poll");
}

static void await_epoll(int fd)
{
	static int epoll = -1;
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll < 0) {
		epoll = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
	if (epoll_wait(epoll, &event, 1, 5000) != 1)
		die("epoll_wait");
}

static void await_select(int fd)
{
	struct timeval most = { .tv_sec = 5 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	if (select(fd + 1, &set, NULL, NULL, &most) != 1)
		die("select");
}

static void ask(const char *name, const char *server_name, void (*await)(int))
{
	struct sockaddr_in address;
	pthread_t server;
	int fd = new_server(server_name, 1, DELAY_NS, &address, &server);

	set_name(name);
	for (int i = 0; i < ROUNDS; i++) {
		send_token(fd);
		await(fd);
		await_token(fd);
		sleep_ns(DELAY_NS / 2);
	}
	close(fd);
	pthread_join(server, NULL);
}

static void *recv_client(void *arg)
{
	ask("c-recv", "s-recv", await_recv);
	return NULL;
}

static void *poll_client(void *arg)
{
	ask("c-poll", "s-poll", await_poll);
	return NULL;
}

static void *epoll_client(void *arg)
{
	ask("c-epoll", "s-epoll", await_epoll);
	return NULL;
}

static void *select_client(void *arg)
{
	ask("c-select", "s-select", await_select);
	return NULL;
}

static void *unix_client(void *arg)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "\0turns-client" };
	struct end end = { "s-unix", socket(AF_UNIX, SOCK_STREAM, 0), 1, DELAY_NS };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t server;

	set_name("c-unix");
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "turns-%d", getpid());
	if (bind(end.fd, (void *)&address, sizeof(address)) || listen(end.fd, 1) ||
	    connect(fd, (void *)&address, sizeof(address)))
		die("unix");
	server = start_thread(serve, &end);
	for (int i = 0; i < ROUNDS; i++) {
		send_token(fd);
		await_token(fd);
		sleep_ns(DELAY_NS / 2);
	}
	close(fd);
	pthread_join(server, NULL);
	return NULL;
}

static void *piper(void *arg)
{
	struct sockaddr_in address;
	pthread_t server;
	int fd = new_server("s-piper", 1, DELAY_NS, &address, &server);

	set_name("piper");
	for (int i = 0; i < ROUNDS; i++) {
		if (write(fd, "xxx", 3) != 3 || !read_request(fd, 3))
			die("write");
	}
	close(fd);
	pthread_join(server, NULL);
	return NULL;
}

/* --- datagrams --- */

static int bind_datagram(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*address = any_port();
	if (fd < 0 || bind(fd, (void *)address, size) || getsockname(fd, (void *)address, &size))
		die("bind");
	return fd;
}

static void *resolver(void *arg)
{
	struct sockaddr_in *address = arg;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd set = { fd, POLLIN, 0 };

	set_name("resolver");
	if (connect(fd, (void *)address, sizeof(*address)))
		die("connect");
	for (int i = 0; i < ROUNDS; i++) {
		if (send(fd, "?", 1, MSG_NOSIGNAL) != 1)
			die("send");
		poll(&set, 1, IDLE_MS);
	}
	close(fd);
	return NULL;
}

static void *resolver2(void *arg)
{
	struct timeval most = { .tv_usec = IDLE_MS * 1000 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char answer;

	set_name("resolver2");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	for (int i = 0; i < ROUNDS; i++) {
		if (sendto(fd, "?", 1, 0, arg, sizeof(struct sockaddr_in)) != 1)
			die("sendto");
		if (recv(fd, &answer, 1, 0) >= 0)
			die("an answer");
	}
	close(fd);
	return NULL;
}

static void log_on(const char *name, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	set_name(name);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	for (int i = 0; i < ROUNDS; i++) {
		send_token(fd);
		epoll_wait(epoll, &event, 1, IDLE_MS);
	}
	close(epoll);
	close(fd);
}

static void *logger(void *arg)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	set_name("logger");
	if (connect(fd, arg, sizeof(struct sockaddr_in)))
		die("connect");
	log_on("logger", fd);
	return NULL;
}

static void *unixlog(void *arg)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sink = socket(AF_UNIX, SOCK_DGRAM, 0), fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	set_name("unixlog");
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "turns-log-%d", getpid());
	if (bind(sink, (void *)&address, sizeof(address)) ||
	    connect(fd, (void *)&address, sizeof(address)))
		die("unixlog");
	log_on("unixlog", fd);
	close(sink);
	return NULL;
}

/* --- several threads --- */

static int answers; /* that the reader has read */

static void *read_answers(void *arg)
{
	int fd = *(int *)arg;

	set_name("reader");
	for (int i = 0; i < ROUNDS; i++) {
		await_token(fd);
		__atomic_add_fetch(&answers, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* The reader is in its call when the request is sent, but not for long. */
static void *asker(void *arg)
{
	struct sockaddr_in address;
	pthread_t server, reader;
	int fd = new_server("s-asker", 1, LONG_DELAY_NS, &address, &server);

	set_name("asker");
	reader = start_thread(read_answers, &fd);
	for (int i = 0; i < ROUNDS; i++) {
		sleep_ns(DELAY_NS / 2);
		send_token(fd);
		while (__atomic_load_n(&answers, __ATOMIC_SEQ_CST) <= i)
			sleep_ns(DELAY_NS / 4);
	}
	pthread_join(reader, NULL);
	close(fd);
	pthread_join(server, NULL);
	return NULL;
}

static void pass_on(int epoll, int client, int upstream)
{
	struct epoll_event event = {};

	for (int left = 2 * ROUNDS; left > 0; left--) {
		if (epoll_wait(epoll, &event, 1, 5000) != 1)
			die("proxy");
		await_token(event.data.fd);
		send_token(event.data.fd == client ? upstream : client);
	}
}

static void *proxy_thread(void *arg)
{
	struct sockaddr_in address;
	int listener = *(int *)arg, epoll = epoll_create1(EPOLL_CLOEXEC), client, upstream;
	pthread_t server;

	upstream = new_server("s-upstream", 1, DELAY_NS, &address, &server);
	log_line("{\"upstream\": %d}\n", ntohs(address.sin_port));
	set_name("proxy");
	client = accept(listener, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		int fd = i ? upstream : client;
		struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	}
	pass_on(epoll, client, upstream);
	close(client);
	close(upstream);
	pthread_join(server, NULL);
	return NULL;
}

static void *proxied(void *arg)
{
	struct sockaddr_in address;
	int listener = listen_at(&address, 8), fd;
	pthread_t proxy = start_thread(proxy_thread, &listener);

	fd = call(&address);
	set_name("c-proxy");
	for (int i = 0; i < ROUNDS; i++) {
		send_token(fd);
		await_token(fd);
		sleep_ns(DELAY_NS / 2);
	}
	pthread_join(proxy, NULL);
	return NULL;
}

/* --- others --- */

/* One connection fills the queue of a listener with backlog 0; further SYNs are dropped. */
static void *dialler(void *arg)
{
	struct timeval most = { .tv_usec = 200 * 1000 };
	struct sockaddr_in address;
	int listener = listen_at(&address, 0), first = call(&address), fd;

	set_name("dialler");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (!connect(fd, (void *)&address, sizeof(address)))
		die("it is connected");
	close(fd);
	close(first);
	close(listener);
	return NULL;
}

static void *dialler2(void *arg)
{
	struct sockaddr_in address;
	int listener = listen_at(&address, 0), first = call(&address);
	struct pollfd set = { socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), POLLOUT, 0 };

	set_name("dialler2");
	if (!connect(set.fd, (void *)&address, sizeof(address)) || poll(&set, 1, 200))
		die("it is connected");
	close(set.fd);
	close(first);
	close(listener);
	return NULL;
}

static void *scraper(void *arg)
{
	struct sockaddr_in address;
	pthread_t server;
	int fd = new_server("s-scraper", 1, DELAY_NS, &address, &server);
	struct pollfd set = { fd, POLLIN, 0 };

	set_name("scraper");
	for (int i = 0; i < ROUNDS; i++) {
		send_token(fd);
		if (poll(&set, 1, 5000) != 1)
			die("poll");
		await_token(fd);
		poll(&set, 1, 2 * IDLE_MS);
	}
	close(fd);
	pthread_join(server, NULL);
	return NULL;
}

static void *nagler(void *arg)
{
	struct sockaddr_in address;
	pthread_t server;
	int fd = new_server("s-nagler", 2, 0, &address, &server);

	set_name("nagler");
	for (int i = 0; i < 3 * ROUNDS; i++) {
		send_token(fd);
		send_token(fd);
		await_token(fd);
	}
	close(fd);
	pthread_join(server, NULL);
	return NULL;
}

/* Writes the head of a TLS record and `bytes` bytes. */
static void send_record(int fd, char type, char bytes)
{
	char record[128] = { type, 3, 3, 0, bytes };

	if (write(fd, record, (size_t)bytes + 5) != bytes + 5)
		die("record");
}

static void read_record(int fd)
{
	char head[5], body[128];

	if (recv(fd, head, 5, MSG_WAITALL) != 5 ||
	    recv(fd, body, (size_t)head[4], MSG_WAITALL) != head[4])
		die("record");
}

static void *answer_tls(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	set_name("s-tls");
	read_record(fd); /* hello */
	send_record(fd, 0x16, 90);
	read_record(fd); /* finished */
	send_record(fd, 0x17, 100);
	send_record(fd, 0x17, 100);
	read_record(fd); /* request */
	sleep_ns(DELAY_NS);
	send_record(fd, 0x17, 70);
	await_token(fd);
	return NULL;
}

static void *tls(void *arg)
{
	struct sockaddr_in address;
	int listener = listen_at(&address, 8), fd = call(&address);
	pthread_t server = start_thread(answer_tls, &listener);
	struct pollfd set = { fd, POLLIN, 0 };

	set_name("tls");
	send_record(fd, 0x16, 120);
	read_record(fd);
	send_record(fd, 0x17, 50);
	send_record(fd, 0x17, 80);
	for (int i = 0; i < 3; i++)
		read_record(fd); /* two tickets, the answer */
	poll(&set, 1, IDLE_MS);
	send_token(fd);
	pthread_join(server, NULL);
	return NULL;
}

static void *answer_pair(void *arg)
{
	int fd = *(int *)arg;

	set_name("pair-b");
	while (read_request(fd, 1)) {
		sleep_ns(DELAY_NS);
		send_token(fd);
	}
	return NULL;
}

static void *pair(void *arg)
{
	pthread_t other;
	int ends[2];

	set_name("pair-a");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	other = start_thread(answer_pair, &ends[1]);
	for (int i = 0; i < ROUNDS; i++) {
		send_token(ends[0]);
		await_token(ends[0]);
	}
	close(ends[0]);
	pthread_join(other, NULL);
	return NULL;
}

int main(void)
{
	struct sockaddr_in silent;
	int sink = bind_datagram(&silent);
	void *(*const bodies[])(void *) = { recv_client, poll_client, epoll_client, select_client,
					    unix_client, piper,       resolver,     resolver2,
					    logger,      unixlog,     asker,        proxied,
					    dialler,     dialler2,    scraper,      nagler,
					    tls,         pair };
	pthread_t threads[sizeof(bodies) / sizeof(*bodies)];
	const int count = sizeof(bodies) / sizeof(*bodies);

	log_line("{\"silent\": %d}\n", ntohs(silent.sin_port));
	for (int i = 0; i < count; i++)
		threads[i] = start_thread(bodies[i], &silent);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	close(sink);
	return 0;
}
