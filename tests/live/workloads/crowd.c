/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd PROCESSES PAIRS RATE SECONDS: processes with pairs of threads. RATE times a second, the
 * first thread of a pair wakes from a sleep and writes to a pipe, and the second one reads from it.
 * So a round has two wakeups, and up to four context switches.
 */
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

#define STACK_BYTES (32 * 1024)
#define SECOND_NS   (1000 * MS)

static unsigned long processes, pairs, rate, seconds;
static uint64_t begin_ns;

struct pair {
	uint64_t offset_ns;
	int pipe[2];
};

static void *reads(void *arg)
{
	const struct pair *pair = arg;

	set_name("crowd-reader");
	for (unsigned long i = 0; i < rate * seconds; i++)
		await_token(pair->pipe[0]);
	return NULL;
}

static void *writes(void *arg)
{
	const struct pair *pair = arg;

	set_name("crowd-writer");
	for (unsigned long i = 0; i < rate * seconds; i++) {
		sleep_until(begin_ns + pair->offset_ns + i * SECOND_NS / rate);
		send_token(pair->pipe[1]);
	}
	return NULL;
}

static void run_process(unsigned long number)
{
	struct pair *all = calloc(pairs, sizeof(*all));
	pthread_t *threads = calloc(2 * pairs, sizeof(*threads));
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (unsigned long i = 0; i < pairs; i++) {
		all[i].offset_ns = (number * pairs + i) * SECOND_NS / rate / (processes * pairs);
		make_pipe(all[i].pipe);
		errno = pthread_create(&threads[2 * i], &attributes, reads, &all[i]);
		if (!errno)
			errno = pthread_create(&threads[2 * i + 1], &attributes, writes, &all[i]);
		if (errno)
			die("pthread_create");
	}
	for (unsigned long i = 0; i < 2 * pairs; i++)
		pthread_join(threads[i], NULL);
	exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: crowd PROCESSES PAIRS RATE SECONDS\n");
		return 2;
	}
	processes = strtoul(argv[1], NULL, 10);
	pairs = strtoul(argv[2], NULL, 10);
	rate = strtoul(argv[3], NULL, 10);
	seconds = strtoul(argv[4], NULL, 10);
	set_name("crowd-main");
	/* Time to start them all. */
	begin_ns = now_ns() + processes * pairs * 400000;
	for (unsigned long i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_process(i);
		}
	}
	sleep_until(begin_ns);
	log_line("{\"ready\": %d, \"threads\": %lu}\n", getpid(), 2 * processes * pairs);
	while (wait(NULL) > 0)
		;
	return 0;
}
