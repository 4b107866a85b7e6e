/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves known numbers of HTTP requests to a client of its own.
 *
 * `counted tcp|unix CONNECTIONS COUNT DEPTH`: each connection has a thread on both sides, and sends
 * COUNT requests, DEPTH at a time. `counted ongoing`: has requests all the time; says how many were
 * answered when it is told to go, and at the end, which is half a second later.
 */
#include <stdatomic.h>

#include "peers.h"

static union address address;
static int listener;
static unsigned int connections, count, depth;
static atomic_ulong answered;
static atomic_bool is_over;

static void *serve(void *arg)
{
	int fd = accept_from(listener);
	char text[MESSAGE_BYTES];

	while (hear(fd, text))
		for (unsigned int i = count_in(text, "\r\n\r\n"); i; i--) {
			say(fd, ANSWER);
			atomic_fetch_add(&answered, 1);
		}
	close(fd);
	return arg;
}

static void ask_at_once(int fd)
{
	char text[MESSAGE_BYTES] = "";
	unsigned int heard = 0;

	for (unsigned int i = 0; i < depth; i++)
		strcat(text, "GET /counted HTTP/1.1\r\nHost: here\r\n\r\n");
	say(fd, text);
	while (heard < depth) {
		if (!hear(fd, text))
			die("the server closed");
		heard += count_in(text, "\nok\n");
	}
}

static void *ask_all(void *arg)
{
	int fd = connect_to(&address);

	for (unsigned int i = 0; i < count && !atomic_load(&is_over); i += depth)
		ask_at_once(fd);
	close(fd);
	return arg;
}

static void run_all(void *(*body)(void *))
{
	pthread_t threads[64];

	for (unsigned int i = 0; i < connections; i++)
		threads[i] = start_thread(body, NULL);
	for (unsigned int i = 0; i < connections; i++)
		pthread_join(threads[i], NULL);
}

static void run_counted(void)
{
	pid_t client = fork();

	if (!client) {
		run_all(ask_all);
		_exit(0);
	}
	run_all(serve);
	await_child(client);
	log_line("{\"phase\": \"counted\", \"comm\": \"counted\", \"count\": %lu}\n",
		 atomic_load(&answered));
}

static void *run_servers(void *arg)
{
	run_all(serve);
	return arg;
}

static void *run_clients(void *arg)
{
	run_all(ask_all);
	return arg;
}

static void run_ongoing(void)
{
	pthread_t servers = start_thread(run_servers, NULL);
	pthread_t clients = start_thread(run_clients, NULL);
	unsigned long before;

	await_go();
	before = atomic_load(&answered);
	sleep_ns(500 * MS);
	atomic_store(&is_over, true);
	pthread_join(clients, NULL);
	pthread_join(servers, NULL);
	log_line("{\"phase\": \"before\", \"comm\": \"counted\", \"count\": %lu}\n", before);
	log_line("{\"phase\": \"all\", \"comm\": \"counted\", \"count\": %lu}\n",
		 atomic_load(&answered));
	/* The recording ends before the program, so that what it has is complete. */
	await_token(STDIN_FILENO);
}

int main(int argc, char **argv)
{
	bool is_ongoing = argc == 2 && !strcmp(argv[1], "ongoing");

	if (!is_ongoing && argc != 5)
		return 2;
	connections = is_ongoing ? 4 : (unsigned int)atoi(argv[2]);
	count = is_ongoing ? 1U << 30 : (unsigned int)atoi(argv[3]);
	depth = is_ongoing ? 1 : (unsigned int)atoi(argv[4]);
	if (connections > 64 || !depth || depth > 32)
		return 2;
	listener = listen_at(!strcmp(argv[1], "unix"), &address);
	if (is_ongoing)
		run_ongoing();
	else
		run_counted();
	return 0;
}
