/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * churn threads COUNT CONCURRENCY: threads that live about 1 ms each.
 * churn forks COUNT RATE: processes that do nothing but end, so many a second.
 */
#include <semaphore.h>
#include <sys/wait.h>

#include "workload.h"

#define LIFE_NS     (1 * MS)
#define STACK_BYTES (64 * 1024)

static sem_t places;
static _Atomic unsigned long slept; /* times that a thread really had to wait */

static void *short_life(void *arg)
{
	struct phase life = phase_begin("life", "churn-thread");

	call_begins(&life);
	sleep_ns(LIFE_NS);
	call_ends(&life);
	slept += life.waits;
	sem_post(&places);
	return NULL;
}

static unsigned long churn_threads(unsigned long count, unsigned long concurrency)
{
	pthread_attr_t attributes;
	unsigned long made = 0;

	sem_init(&places, 0, (unsigned int)concurrency);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	while (made < count) {
		pthread_t thread;

		sem_wait(&places);
		errno = pthread_create(&thread, &attributes, short_life, NULL);
		if (errno)
			die("pthread_create");
		made++;
	}
	for (unsigned long i = 0; i < concurrency; i++)
		sem_wait(&places);
	/* The last ones have posted, and may not have ended yet. */
	sleep_ns(50 * MS);
	return made;
}

static unsigned long churn_forks(unsigned long count, unsigned long rate)
{
	uint64_t begin_ns = now_ns();
	unsigned long made = 0;

	while (made < count) {
		pid_t child = fork();

		if (!child) {
			set_name("churn-child");
			_exit(0);
		}
		if (child < 0)
			die("fork");
		made++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sleep_until(begin_ns + made * (1000 * MS / rate));
	}
	while (wait(NULL) > 0)
		;
	return made;
}

int main(int argc, char **argv)
{
	struct phase phase;

	if (argc != 4) {
		fprintf(stderr, "usage: churn threads COUNT CONCURRENCY | forks COUNT RATE\n");
		return 2;
	}
	phase = phase_begin(argv[1], "churn-main");
	phase.count = (!strcmp(argv[1], "threads") ? churn_threads : churn_forks)(
		strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	phase.waits = slept;
	phase_end(&phase);
	return 0;
}
