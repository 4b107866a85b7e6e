/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakers timeouts COUNT: waits that nothing but their time ends, on one CPU with threads that have
 * nothing to do with it: one writes to a file, one sends to a socket of its own over loopback.
 *
 * wakers senders COUNT: waits for data, each ended by a thread that sends it: "s-KIND" wakes
 * "w-KIND".
 */
#include "workload.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

static int count;
static volatile bool is_over;

static void stay_on_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* --- timeouts --- */

static void *poll_in_vain(void *arg)
{
	set_name("poller");
	stay_on_first_cpu();
	for (int i = 0; i < count; i++)
		if (poll(NULL, 0, 1))
			die("poll");
	return NULL;
}

static void *receive_in_vain(void *arg)
{
	struct timeval limit = { 0, 1000 };
	int ends[2];
	char byte;

	set_name("receiver");
	stay_on_first_cpu();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		die("socketpair");
	for (int i = 0; i < count / 3; i++)
		if (recv(ends[0], &byte, 1, 0) != -1 || errno != EAGAIN)
			die("recv");
	return NULL;
}

static void *lock_in_vain(void *arg)
{
	struct timespec limit = { 0, 1000000 };
	uint32_t word = 0;

	set_name("locker");
	stay_on_first_cpu();
	for (int i = 0; i < count; i++)
		if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0) != -1 ||
		    errno != ETIMEDOUT)
			die("futex");
	return NULL;
}

static void *write_file(void *arg)
{
	static char bytes[65536];
	FILE *file = tmpfile();

	set_name("logger");
	stay_on_first_cpu();
	while (file && !is_over)
		if (pwrite(fileno(file), bytes, sizeof(bytes), 0) < 0)
			die("pwrite");
	return NULL;
}

static int bound_socket(int type, struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, type, 0);

	*ret = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, size) ||
	    getsockname(fd, (struct sockaddr *)ret, &size))
		die("socket");
	return fd;
}

static void *send_to_itself(void *arg)
{
	static char bytes[16384];
	struct sockaddr_in self;
	int fd = bound_socket(SOCK_DGRAM, &self);

	set_name("sender");
	stay_on_first_cpu();
	while (!is_over)
		if (sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&self, sizeof(self)) <
			    0 ||
		    recv(fd, bytes, sizeof(bytes), 0) < 0)
			die("sendto");
	return NULL;
}

static void wait_in_vain(void)
{
	pthread_t busy[] = { start_thread(write_file, NULL), start_thread(send_to_itself, NULL) };
	pthread_t idle[] = { start_thread(poll_in_vain, NULL), start_thread(receive_in_vain, NULL),
			     start_thread(lock_in_vain, NULL) };

	for (int i = 0; i < 3; i++)
		pthread_join(idle[i], NULL);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(busy[i], NULL);
}

/* --- senders --- */

struct kind {
	const char *waiter, *sender;
	int in, out; /* the waiter's end, and the sender's */
	bool polls;
};

static void await_data(const struct kind *kind, int epoll)
{
	struct pollfd one = { kind->in, POLLIN, 0 };
	struct epoll_event event;
	char bytes[8];

	if (epoll >= 0 && epoll_wait(epoll, &event, 1, -1) != 1)
		die("epoll_wait");
	if (kind->polls && epoll < 0 && poll(&one, 1, -1) != 1)
		die("poll");
	if (read(kind->in, bytes, sizeof(bytes)) <= 0)
		die(kind->waiter);
}

static void *receive_data(void *arg)
{
	const struct kind *kind = arg;
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = strcmp(kind->waiter, "w-epoll") ? -1 : epoll_create1(0);

	set_name(kind->waiter);
	if (epoll >= 0)
		epoll_ctl(epoll, EPOLL_CTL_ADD, kind->in, &event);
	for (int i = 0; i < count; i++)
		await_data(kind, epoll);
	return NULL;
}

static void *send_data(void *arg)
{
	const struct kind *kind = arg;
	uint64_t one = 1;

	set_name(kind->sender);
	for (int i = 0; i < count; i++) {
		sleep_ns(2 * MS);
		if (write(kind->out, &one, sizeof(one)) != sizeof(one))
			die(kind->sender);
	}
	return NULL;
}

static void connect_pair(int type, int *ret_in, int *ret_out)
{
	struct sockaddr_in name;
	int fd = bound_socket(type, &name);

	*ret_out = socket(AF_INET, type, 0);
	if (type == SOCK_STREAM && listen(fd, 1))
		die("listen");
	if (*ret_out < 0 || connect(*ret_out, (struct sockaddr *)&name, sizeof(name)))
		die("connect");
	*ret_in = type == SOCK_STREAM ? accept(fd, NULL, NULL) : fd;
}

static void wait_for_senders(void)
{
	static struct kind kinds[] = {
		{ "w-tcp", "s-tcp" },     { "w-udp", "s-udp" },   { "w-unix", "s-unix" },
		{ "w-pipe", "s-pipe" },   { "w-poll", "s-poll" }, { "w-epoll", "s-epoll" },
		{ "w-event", "s-event" },
	};
	enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
	pthread_t threads[2 * KINDS];
	int ends[2];

	connect_pair(SOCK_STREAM, &kinds[0].in, &kinds[0].out);
	connect_pair(SOCK_DGRAM, &kinds[1].in, &kinds[1].out);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	kinds[2].in = ends[0];
	kinds[2].out = ends[1];
	make_pipe(ends);
	kinds[3].in = ends[0];
	kinds[3].out = ends[1];
	connect_pair(SOCK_STREAM, &kinds[4].in, &kinds[4].out);
	connect_pair(SOCK_STREAM, &kinds[5].in, &kinds[5].out);
	/* A semaphore: else one read takes what several writes left. */
	kinds[6].in = kinds[6].out = eventfd(0, EFD_SEMAPHORE);
	kinds[4].polls = kinds[6].polls = true;
	for (int i = 0; i < KINDS; i++) {
		threads[2 * i] = start_thread(receive_data, &kinds[i]);
		threads[2 * i + 1] = start_thread(send_data, &kinds[i]);
	}
	for (int i = 0; i < 2 * KINDS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	count = argc > 2 ? atoi(argv[2]) : 100;
	if (argc > 1 && !strcmp(argv[1], "timeouts"))
		wait_in_vain();
	else
		wait_for_senders();
	return 0;
}
