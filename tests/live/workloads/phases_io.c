/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases that wait for somebody at the other end of a descriptor, or for nobody. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "phases.h"

/* A phase with two ends: one thread asks and waits, the other answers late. */
struct ends {
	const char *phase;
	const char *waiter;
	const char *answerer;
	int ask;
	int answer;
};

static void *asker(void *arg)
{
	const struct ends *ends = arg;
	struct phase phase = phase_begin(ends->phase, ends->waiter);

	for (int i = 0; i < ROUNDS; i++) {
		char answer;

		if (send(ends->ask, "?", 1, 0) != 1)
			die("send");
		call_begins(&phase);
		if (recv(ends->ask, &answer, 1, 0) != 1)
			die("recv");
		call_ends(&phase);
	}
	phase_end(&phase);
	return NULL;
}

static void *answerer(void *arg)
{
	const struct ends *ends = arg;
	char question;

	set_name(ends->answerer);
	for (int i = 0; i < ROUNDS; i++) {
		if (recv(ends->answer, &question, 1, 0) != 1)
			die("recv");
		sleep_ns(WAIT_NS);
		if (send(ends->answer, "!", 1, 0) != 1)
			die("send");
	}
	return NULL;
}

static void ask_and_answer(struct ends *ends)
{
	pthread_t a = start_thread(asker, ends), b = start_thread(answerer, ends);

	pthread_join(a, NULL);
	pthread_join(b, NULL);
	close(ends->ask);
	close(ends->answer);
}

/* A listening socket on a free port of the loopback device, and its address. */
static int listen_somewhere(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, size) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)ret, &size))
		die("listen");
	return fd;
}

static int connect_to(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

void phase_tcp(void)
{
	struct ends ends = { "tcp", "tcp-waiter", "tcp-answerer", -1, -1 };
	struct sockaddr_in address;
	int listener = listen_somewhere(&address);

	ends.ask = connect_to(&address);
	ends.answer = accept(listener, NULL, NULL);
	if (ends.answer < 0)
		die("accept");
	ask_and_answer(&ends);
	close(listener);
}

void phase_unix(void)
{
	struct ends ends = { "unix", "unix-waiter", "unix-answerer", -1, -1 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	ends.ask = pair[0];
	ends.answer = pair[1];
	ask_and_answer(&ends);
}

/*
 * A phase whose other end does its part a while after it was asked to, over a pipe of its own: a
 * thread that a busy machine starts late would find everything done.
 */
struct late {
	int asked[2];
	int fds[2];
	int listener;
	struct sockaddr_in address;
};

static void play(struct late *late, void *(*first)(void *), void *(*second)(void *))
{
	pthread_t a, b;

	make_pipe(late->asked);
	a = start_thread(first, late);
	b = start_thread(second, late);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	close(late->asked[0]);
	close(late->asked[1]);
}

static void *connector(void *arg)
{
	const struct late *late = arg;

	set_name("connector");
	for (int i = 0; i < ROUNDS; i++) {
		await_token(late->asked[0]);
		sleep_ns(WAIT_NS);
		close(connect_to(&late->address));
	}
	return NULL;
}

static void *acceptor(void *arg)
{
	struct phase phase = phase_begin("accept", "acceptor");
	const struct late *late = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		send_token(late->asked[1]);
		call_begins(&phase);
		fd = accept(late->listener, NULL, NULL);
		call_ends(&phase);
		if (fd < 0)
			die("accept");
		close(fd);
	}
	phase_end(&phase);
	return NULL;
}

void phase_accept(void)
{
	struct late late = { 0 };

	late.listener = listen_somewhere(&late.address);
	play(&late, acceptor, connector);
	close(late.listener);
}

static void *pipe_writer(void *arg)
{
	const struct late *late = arg;

	set_name("pipe-writer");
	for (int i = 0; i < ROUNDS; i++) {
		await_token(late->asked[0]);
		sleep_ns(WAIT_NS);
		send_token(late->fds[1]);
	}
	return NULL;
}

static void *pipe_reader(void *arg)
{
	const struct late *late = arg;
	struct phase phase = phase_begin("pipe", "pipe-reader");

	for (int i = 0; i < ROUNDS; i++) {
		send_token(late->asked[1]);
		call_begins(&phase);
		await_token(late->fds[0]);
		call_ends(&phase);
	}
	phase_end(&phase);
	return NULL;
}

void phase_pipe(void)
{
	struct late late = { 0 };

	make_pipe(late.fds);
	play(&late, pipe_reader, pipe_writer);
	close(late.fds[0]);
	close(late.fds[1]);
}

static void *poller(void *arg)
{
	struct phase phase = phase_begin("poll", "poller");
	struct pollfd fd = { .fd = eventfd(0, 0), .events = POLLIN };

	for (int i = 0; i < ROUNDS; i++) {
		call_begins(&phase);
		if (poll(&fd, 1, WAIT_NS / MS))
			die("poll");
		call_ends(&phase);
	}
	phase_end(&phase);
	close(fd.fd);
	return NULL;
}

void phase_poll(void)
{
	pthread_join(start_thread(poller, NULL), NULL);
}

static void *epoller(void *arg)
{
	struct phase phase = phase_begin("epoll", "epoller");
	struct epoll_event event = { .events = EPOLLIN };
	int fd = eventfd(0, 0), set = epoll_create1(0);

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
	for (int i = 0; i < ROUNDS; i++) {
		call_begins(&phase);
		if (epoll_wait(set, &event, 1, WAIT_NS / MS))
			die("epoll_wait");
		call_ends(&phase);
	}
	phase_end(&phase);
	close(set);
	close(fd);
	return NULL;
}

void phase_epoll(void)
{
	pthread_join(start_thread(epoller, NULL), NULL);
}
