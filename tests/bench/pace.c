/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace PORT RATE SECONDS CONNECTIONS REQUEST: sends the request to a server on 127.0.0.1, RATE
 * times a second, whether or not the server keeps up. Prints the replies per second and p50, p99
 * and the maximum of the latency in microseconds. A latency begins when its request was due, so a
 * delay counts for all requests that were due in it. All replies must be as long as the first one.
 * In REQUEST, '~' means CR LF.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST 64 /* connections */

static struct pollfd sockets[MOST];
static size_t replied[MOST], bytes[MOST]; /* bytes: of the current reply */
static size_t connections, reply_size, replies, request_size;
static char request[1024], buffer[65536];
static double gap_ns, *latency_us;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void connect_all(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int on = 1;

	for (size_t i = 0; i < connections; i++) {
		sockets[i] =
			(struct pollfd) { .fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN };
		setsockopt(sockets[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connect(sockets[i].fd, (struct sockaddr *)&to, sizeof(to)))
			fail("connect");
	}
}

static void set_request(const char *text)
{
	for (; *text && request_size < sizeof(request) - 2; text++) {
		if (*text == '~')
			request[request_size++] = '\r';
		request[request_size++] = *text == '~' ? '\n' : *text;
	}
}

static void send_request(size_t i)
{
	if (write(sockets[i].fd, request, request_size) != (ssize_t)request_size)
		fail("write");
}

static size_t receive(size_t i)
{
	ssize_t size = read(sockets[i].fd, buffer, sizeof(buffer));

	if (size <= 0)
		fail("read");
	return (size_t)size;
}

/* Request number n of connection i is number n * connections + i of all, and due at that multiple
 * of the gap. */
static void take_replies(size_t i, uint64_t begin_ns)
{
	for (bytes[i] += receive(i); bytes[i] >= reply_size; bytes[i] -= reply_size) {
		double due_ns = (double)(replied[i]++ * connections + i) * gap_ns;

		latency_us[replies++] = ((double)(now_ns() - begin_ns) - due_ns) / 1000;
	}
}

static void run(size_t count)
{
	uint64_t begin_ns = now_ns();

	for (size_t next = 0; replies < count;) {
		double wait_ns = (double)next * gap_ns - (double)(now_ns() - begin_ns);
		struct timespec wait = { .tv_nsec = wait_ns > 0 ? (long)wait_ns : 0 };

		if (next < count && wait_ns <= 0) {
			send_request(next % connections);
			next++;
		}
		if (ppoll(sockets, connections, next < count ? &wait : NULL, NULL) <= 0)
			continue;
		for (size_t i = 0; i < connections; i++)
			if (sockets[i].revents)
				take_replies(i, begin_ns);
	}
	printf("%.1f ", (double)replies / ((double)(now_ns() - begin_ns) / 1e9));
}

static int compare(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	size_t count;

	if (argc != 6 || atof(argv[2]) < 2 || atoi(argv[4]) < 1 || atoi(argv[4]) > MOST) {
		fprintf(stderr, "usage: pace PORT RATE SECONDS CONNECTIONS REQUEST\n");
		return 2;
	}
	gap_ns = 1e9 / atof(argv[2]);
	count = (size_t)(atof(argv[2]) * atof(argv[3]));
	connections = (size_t)atoi(argv[4]);
	latency_us = calloc(count + 1, sizeof(*latency_us));
	set_request(argv[5]);
	connect_all(atoi(argv[1]));
	send_request(0);
	usleep(20000); /* the whole first reply */
	reply_size = receive(0);
	run(count);
	qsort(latency_us, count, sizeof(*latency_us), compare);
	printf("%.1f %.1f %.1f\n", latency_us[count / 2], latency_us[count * 99 / 100],
	       latency_us[count - 1]);
	return 0;
}
