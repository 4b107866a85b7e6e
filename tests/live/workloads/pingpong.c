/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pingpong COUNT: two threads that wake each other through pipes, each on a CPU of its own where
 * there are two. Each logs what the scheduler has of it in the end: time on CPUs, time in queues,
 * and how often it got a CPU.
 */
#include <sched.h>

#include "workload.h"

static int there[2], back[2];
static unsigned long count;

static void stay_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* without it, they share one */
}

static void log_sums(const char *comm)
{
	unsigned long run_ns = 0, delay_ns = 0, times = 0;
	char text[128] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
	    sscanf(text, "%lu %lu %lu", &run_ns, &delay_ns, &times) != 3)
		die("schedstat");
	close(fd);
	log_line("{\"phase\": \"sums\", \"comm\": \"%s\", \"run_ns\": %lu, \"delay_ns\": %lu,"
		 " \"times\": %lu}\n",
		 comm, run_ns, delay_ns, times);
}

static void *pong(void *arg)
{
	set_name("pong");
	stay_on(1);
	for (unsigned long i = 0; i < count; i++) {
		await_token(there[0]);
		send_token(back[1]);
	}
	log_sums("pong");
	return NULL;
}

static void *ping(void *arg)
{
	set_name("ping");
	stay_on(0);
	for (unsigned long i = 0; i < count; i++) {
		send_token(there[1]);
		await_token(back[0]);
	}
	log_sums("ping");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 2) {
		fprintf(stderr, "usage: pingpong COUNT\n");
		return 2;
	}
	count = strtoul(argv[1], NULL, 10);
	make_pipe(there);
	make_pipe(back);
	threads[0] = start_thread(ping, NULL);
	threads[1] = start_thread(pong, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
