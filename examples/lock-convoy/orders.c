/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orders [--cured] [SECONDS]: a shop's order service and its clients in one. Every 40 ms, eight
 * orders come in at once, one for each worker. A worker computes the price and writes a line to
 * the audit log. It answers only when the log's collector has confirmed the line.
 *
 * The workers share one connection to the collector, protected by a mutex. A worker holds the mutex
 * until the collector has answered, so eight orders take eight round trips, one after the other.
 * With --cured, each worker has its own connection, and there is nothing to lock.
 *
 * The collector is a thread of this process. It answers all pending lines after 2 ms, which
 * simulate the network and the disk of a remote collector.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORKERS      8
#define EVERY_NS     40000000L
#define COLLECTOR_NS 2000000L
#define SECOND_NS    1000000000L
#define REPORT_EVERY 2 /* seconds */

static struct worker {
	unsigned number;
	int log; /* its connection to the collector */
} workers[WORKERS];
static struct pollfd collected[WORKERS]; /* the collector's ends */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static bool cured;
static uint64_t start_ns;
static atomic_ulong orders, answered_ns, priced_ns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static unsigned work_out_price(unsigned order)
{
	uint64_t start = now_ns();
	unsigned price = order;

	for (unsigned i = 0; i < 200000; i++)
		price = price * 1664525 + 1013904223;
	priced_ns += now_ns() - start;
	return price;
}

static void send_line(int fd, unsigned order, unsigned price)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "order %u, price %u\n", order, price);

	if (write(fd, line, (size_t)length) != length)
		die("write");
	if (read(fd, line, sizeof(line)) <= 0)
		die("read");
}

static void write_audit_log(const struct worker *worker, unsigned order, unsigned price)
{
	if (cured) {
		send_line(worker->log, order, price);
		return;
	}
	pthread_mutex_lock(&log_lock);
	send_line(workers[0].log, order, price);
	pthread_mutex_unlock(&log_lock);
}

static void *serve(void *arg)
{
	const struct worker *worker = arg;
	uint64_t came_ns = start_ns;

	for (unsigned order = worker->number;; order += WORKERS) {
		/* A late worker takes its next order at once, because that order is waiting. */
		sleep_until(came_ns);
		write_audit_log(worker, order, work_out_price(order));
		answered_ns += now_ns() - came_ns;
		orders++;
		came_ns += EVERY_NS;
	}
	return NULL;
}

static void *collect(void *arg)
{
	char line[128];

	while (poll(collected, WORKERS, -1) > 0) {
		sleep_until(now_ns() + COLLECTOR_NS);
		for (unsigned i = 0; i < WORKERS; i++)
			if (recv(collected[i].fd, line, sizeof(line), MSG_DONTWAIT) > 0 &&
			    write(collected[i].fd, "ok\n", 3) != 3)
				die("write");
	}
	return NULL;
}

static void start_thread(const char *name, void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		die("pthread_create");
	pthread_setname_np(thread, name);
}

static void start(void)
{
	char name[16];
	int pair[2];

	start_ns = now_ns() + EVERY_NS;
	for (unsigned i = 0; i < WORKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			die("socketpair");
		workers[i] = (struct worker) { .number = i + 1, .log = pair[0] };
		collected[i] = (struct pollfd) { .fd = pair[1], .events = POLLIN };
	}
	start_thread("collector", collect, NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "worker-%u", i + 1);
		start_thread(name, serve, &workers[i]);
	}
}

static void report(void)
{
	unsigned long count = atomic_exchange(&orders, 0);
	double all = (double)atomic_exchange(&answered_ns, 0) / 1e6;
	double own = (double)atomic_exchange(&priced_ns, 0) / 1e6;

	if (count)
		printf("orders: %lu answered after %.2f ms on average; the handler took %.2f\n",
		       count, all / (double)count, own / (double)count);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long seconds;

	cured = argc > 1 && !strcmp(argv[1], "--cured");
	seconds = argc > 1 + cured ? strtoul(argv[1 + cured], NULL, 10) : 60;
	if (!seconds) {
		fprintf(stderr, "usage: orders [--cured] [SECONDS]\n");
		return 2;
	}
	start();
	for (unsigned long past = 0; past < seconds; past += REPORT_EVERY) {
		sleep(REPORT_EVERY);
		report();
	}
	return 0;
}
