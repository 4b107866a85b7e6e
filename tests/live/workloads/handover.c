/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * handover: servers in which not the thread that reads a request answers it, or not the connection
 * of the request that asked for one is used for it. Requests have a number in their path, which is
 * sent on, so that a link between two requests shows whether it is right.
 *
 *   pool CONNECTIONS REQUESTS     a reader and 4 workers, each of which sleeps 2 ms
 *   proxy CONNECTIONS REQUESTS    a loop with 2 connections to another server; whoever waits for
 * one gets it after the answer eager CONNECTIONS REQUESTS    the same; whoever waits gets it before
 * the answer is sent on
 *
 * Clients, and the other server, are processes of their own. The pool logs how long requests were
 * in its queue and how long a worker had them, by its own clock.
 */
#include "workload.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WORKERS    4
#define MOST       64 /* connections */
#define UPSTREAM   2
#define WORK_NS    (2 * MS)
#define TEXT_BYTES 64
#define ANSWER     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static struct sockaddr_in address;
static int connections, requests;

static int listen_anywhere(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (void *)ret, size) || listen(fd, MOST) ||
	    getsockname(fd, (void *)ret, &size))
		die("listen");
	return fd;
}

static int call(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (const void *)to, sizeof(*to)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("connect");
	return fd;
}

static void ask(int fd, long number)
{
	char text[TEXT_BYTES];
	int size = snprintf(text, sizeof(text), "GET /id/%ld HTTP/1.1\r\n\r\n", number);

	if (send(fd, text, (size_t)size, MSG_NOSIGNAL) != size)
		die("send");
}

static void answer(int fd)
{
	if (send(fd, ANSWER, sizeof(ANSWER) - 1, MSG_NOSIGNAL) != sizeof(ANSWER) - 1)
		die("send");
}

/* The number of the request that was read; -1: there is no more. */
static long read_request(int fd)
{
	char text[TEXT_BYTES + 1];
	ssize_t size = read(fd, text, TEXT_BYTES);
	long number;

	if (size <= 0)
		return -1;
	text[size] = '\0';
	if (sscanf(text, "GET /id/%ld", &number) != 1)
		exit(1);
	return number;
}

/* --- clients --- */

static void *be_client(void *arg)
{
	long first = (long)arg * 1000000;
	int fd = call(&address);
	char text[TEXT_BYTES];

	set_name("client");
	for (long i = 0; i < requests; i++) {
		ask(fd, first + i);
		if (read(fd, text, sizeof(text)) <= 0)
			die("read");
	}
	close(fd);
	return NULL;
}

static pid_t start_clients(void)
{
	pthread_t threads[MOST];
	pid_t pid = fork();

	if (pid)
		return pid;
	for (long i = 0; i < connections; i++)
		threads[i] = start_thread(be_client, (void *)i);
	for (int i = 0; i < connections; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* --- a reader and workers --- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct {
		int fd;
		uint64_t at_ns;
	} items[MOST];
	unsigned begin, end;
	bool is_over;
	uint64_t count, queue_ns, work_ns;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };

static void *be_worker(void *arg)
{
	set_name("worker");
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		uint64_t put_ns, begin_ns, end_ns;
		int fd;

		while (queue.begin == queue.end && !queue.is_over)
			pthread_cond_wait(&queue.filled, &queue.lock);
		if (queue.begin == queue.end)
			break;
		fd = queue.items[queue.begin % MOST].fd;
		put_ns = queue.items[queue.begin++ % MOST].at_ns;
		begin_ns = now_ns();
		pthread_mutex_unlock(&queue.lock);
		sleep_ns(WORK_NS);
		end_ns = now_ns();
		answer(fd);
		pthread_mutex_lock(&queue.lock);
		queue.queue_ns += begin_ns - put_ns;
		queue.work_ns += end_ns - begin_ns;
		queue.count++;
	}
	pthread_mutex_unlock(&queue.lock);
	return NULL;
}

static void put(int fd)
{
	pthread_mutex_lock(&queue.lock);
	queue.items[queue.end % MOST].fd = fd;
	queue.items[queue.end++ % MOST].at_ns = now_ns();
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static void read_all(int listener)
{
	struct epoll_event event = { EPOLLIN, { .fd = listener } };
	int epoll = epoll_create1(EPOLL_CLOEXEC), left = connections;

	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	while (left) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == listener) {
			event.data.fd = accept(listener, NULL, NULL);
			event.events = EPOLLIN;
			epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
		} else if (read_request(event.data.fd) >= 0) {
			put(event.data.fd);
		} else {
			close(event.data.fd);
			left--;
		}
	}
}

static void be_pool(void)
{
	int listener = listen_anywhere(&address);
	pid_t clients = start_clients();
	pthread_t workers[WORKERS];

	set_name("reader");
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start_thread(be_worker, NULL);
	read_all(listener);
	pthread_mutex_lock(&queue.lock);
	queue.is_over = true;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	waitpid(clients, NULL, 0);
	log_line("{\"requests\": %lu, \"queue_ns\": %lu, \"work_ns\": %lu}\n", queue.count,
		 queue.queue_ns, queue.work_ns);
}

/* --- a loop with connections to another server --- */

static void *serve_one(void *arg)
{
	int fd = (int)(long)arg;
	long number;

	while ((number = read_request(fd)) >= 0) {
		sleep_ns((uint64_t)(1 + number % 3) * MS / 2);
		answer(fd);
	}
	close(fd);
	return NULL;
}

static pid_t start_upstream(struct sockaddr_in *ret)
{
	int listener = listen_anywhere(ret);
	pthread_t threads[UPSTREAM];
	pid_t pid = fork();

	if (pid) {
		close(listener);
		return pid;
	}
	set_name("upstream");
	for (int i = 0; i < UPSTREAM; i++)
		threads[i] = start_thread(serve_one, (void *)(long)accept(listener, NULL, NULL));
	for (int i = 0; i < UPSTREAM; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static struct {
	struct pollfd fds[UPSTREAM + 1 + MOST];
	int client_of[UPSTREAM]; /* whose request is there; 0: nobody's */
	struct {
		int fd;
		long number;
	} waiting[MOST];
	unsigned begin, end;
} loop;

/* Whoever waits longest gets the connection. */
static void give_away(int upstream)
{
	loop.client_of[upstream] = 0;
	if (loop.begin == loop.end)
		return;
	loop.client_of[upstream] = loop.waiting[loop.begin % MOST].fd;
	ask(loop.fds[upstream].fd, loop.waiting[loop.begin++ % MOST].number);
}

static void is_answered(int upstream, bool is_eager)
{
	int client = loop.client_of[upstream];
	char text[TEXT_BYTES];

	if (read(loop.fds[upstream].fd, text, sizeof(text)) <= 0)
		die("read");
	if (is_eager)
		give_away(upstream);
	answer(client);
	if (!is_eager)
		give_away(upstream);
}

static void is_asked(int client, long number)
{
	loop.waiting[loop.end % MOST].fd = client;
	loop.waiting[loop.end++ % MOST].number = number;
	for (int i = 0; i < UPSTREAM; i++)
		if (!loop.client_of[i]) {
			give_away(i);
			return;
		}
}

static void be_proxy(bool is_eager)
{
	struct sockaddr_in upstream;
	pid_t server = start_upstream(&upstream), clients;
	int listener = listen_anywhere(&address), count = UPSTREAM + 1, left = connections;

	set_name("proxy");
	clients = start_clients();
	for (int i = 0; i < UPSTREAM; i++)
		loop.fds[i] = (struct pollfd) { call(&upstream), POLLIN, 0 };
	loop.fds[UPSTREAM] = (struct pollfd) { listener, POLLIN, 0 };
	while (left) {
		int now = count;

		poll(loop.fds, (nfds_t)count, -1);
		for (int i = 0; i < now; i++) {
			long number;

			if (!loop.fds[i].revents)
				continue;
			if (i < UPSTREAM) {
				is_answered(i, is_eager);
			} else if (i == UPSTREAM) {
				loop.fds[count++] =
					(struct pollfd) { accept(listener, NULL, NULL), POLLIN, 0 };
			} else if ((number = read_request(loop.fds[i].fd)) >= 0) {
				is_asked(loop.fds[i].fd, number);
			} else {
				close(loop.fds[i].fd);
				loop.fds[i].fd = -1;
				left--;
			}
		}
	}
	for (int i = 0; i < UPSTREAM; i++)
		close(loop.fds[i].fd);
	waitpid(clients, NULL, 0);
	waitpid(server, NULL, 0);
	log_line("{\"requests\": %d}\n", connections * requests);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	connections = atoi(argv[2]);
	requests = atoi(argv[3]);
	if (connections < 1 || connections > MOST)
		return 2;
	if (!strcmp(argv[1], "pool"))
		be_pool();
	else
		be_proxy(!strcmp(argv[1], "eager"));
	return 0;
}
