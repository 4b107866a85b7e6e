/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * halves SECONDS: two threads wait 10 ms at a time. After half of SECONDS they begin to wait under
 * one lock, so that one of them waits for the other nearly all the time.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PAUSE_NS 10000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double seconds;
static struct timespec start;

static double passed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
}

static void *work(void *context)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	pthread_setname_np(pthread_self(), context);
	while (passed() < seconds / 2)
		nanosleep(&pause, NULL);
	while (passed() < seconds) {
		pthread_mutex_lock(&lock);
		nanosleep(&pause, NULL);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *const names[] = { "half-1", "half-2" };
	pthread_t threads[2];

	seconds = argc > 1 ? strtod(argv[1], NULL) : 4;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, names[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
