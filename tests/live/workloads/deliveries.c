/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deliveries: threads with a TCP connection over loopback. First one sends and another reads each
 * message some time later; then several messages lie there when the reader comes. Logs the
 * least and the most that the time of each can be, by its own clock around its calls.
 */
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "workload.h"

#define MESSAGES 40
#define BYTES    100
#define BURSTS   5
#define BURST    10
#define LATE_NS  (5 * MS)
#define GAP_NS   (2 * MS)

struct bounds {
	uint64_t least_ns;
	uint64_t most_ns;
};

static int from[2], to[2]; /* pipes: tokens of the reader and to it */
static int reader_fd, sender_fd;
static uint64_t before_ns, after_ns; /* around the last send, or the first of a burst */
static struct bounds received, sent, bursts;

static void connect_both(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	socklen_t size = sizeof(address);

	if (listener < 0 || bind(listener, (void *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &size))
		die("listen");
	sender_fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(sender_fd, (void *)&address, size))
		die("connect");
	reader_fd = accept(listener, NULL, NULL);
	if (reader_fd < 0)
		die("accept");
	setsockopt(sender_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}

/* Adds what has passed since the send, if it ended between the two times. */
static void add(struct bounds *bounds, uint64_t least_ns, uint64_t most_ns)
{
	bounds->least_ns += least_ns > after_ns ? least_ns - after_ns : 0;
	bounds->most_ns += most_ns - before_ns;
}

static void send_one(void)
{
	static const char message[BYTES];

	before_ns = now_ns();
	if (send(sender_fd, message, BYTES, 0) != BYTES)
		die("send");
	after_ns = now_ns();
}

static void read_one(void)
{
	char message[BYTES];

	if (recv(reader_fd, message, BYTES, MSG_WAITALL) != BYTES)
		die("recv");
}

static void *read_messages(void *arg)
{
	uint64_t begin_ns;

	set_name("reader");
	for (int i = 0; i < MESSAGES; i++) {
		await_token(to[0]);
		sleep_ns(LATE_NS);
		begin_ns = now_ns();
		read_one();
		add(&received, begin_ns, now_ns());
		send_token(from[1]);
	}
	return NULL;
}

static void *read_bursts(void *arg)
{
	uint64_t begin_ns;

	set_name("late");
	for (int i = 0; i < BURSTS; i++) {
		await_token(to[0]);
		sleep_ns(LATE_NS);
		begin_ns = now_ns();
		read_one();
		add(&bursts, begin_ns, now_ns());
		for (int j = 1; j < BURST; j++)
			read_one();
		send_token(from[1]);
	}
	return NULL;
}

/* Sends one, and looks until the peer has acknowledged it. */
static void send_and_look(void)
{
	uint64_t last_ns = 0, begin_ns, end_ns;
	int left;

	send_one();
	send_token(to[1]);
	do {
		begin_ns = now_ns();
		if (ioctl(sender_fd, SIOCOUTQ, &left))
			die("SIOCOUTQ");
		end_ns = now_ns();
		if (left) {
			last_ns = begin_ns;
			sleep_ns(MS / 10);
		}
	} while (left);
	add(&sent, last_ns, end_ns);
	await_token(from[0]);
}

static void *send_messages(void *arg)
{
	set_name("sender");
	for (int i = 0; i < MESSAGES; i++)
		send_and_look();
	return NULL;
}

static void *send_bursts(void *arg)
{
	uint64_t first_before_ns, first_after_ns;

	set_name("bursting");
	for (int i = 0; i < BURSTS; i++) {
		send_one();
		first_before_ns = before_ns;
		first_after_ns = after_ns;
		for (int j = 1; j < BURST; j++) {
			sleep_ns(GAP_NS);
			send_one();
		}
		before_ns = first_before_ns;
		after_ns = first_after_ns;
		send_token(to[1]);
		await_token(from[0]);
	}
	return NULL;
}

static void run_both(void *(*send)(void *), void *(*receive)(void *))
{
	pthread_t receiver = start_thread(receive, NULL);

	pthread_join(start_thread(send, NULL), NULL);
	pthread_join(receiver, NULL);
}

static void log_bounds(const char *name, const struct bounds *bounds)
{
	log_line("{\"%s\": 1, \"least_ns\": %lu, \"most_ns\": %lu}\n", name, bounds->least_ns,
		 bounds->most_ns);
}

int main(void)
{
	connect_both();
	make_pipe(from);
	make_pipe(to);
	run_both(send_messages, read_messages);
	run_both(send_bursts, read_bursts);
	log_bounds("received", &received);
	log_bounds("sent", &sent);
	log_bounds("bursts", &bursts);
	return 0;
}
