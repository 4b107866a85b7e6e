/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program in two versions: changed FILE ROUNDS [cpu] [fsync=KB] [lock]. Three functions run, one
 * file is written and synced, two threads work under a lock each. With the words it is the worse
 * version: compute() takes 5 % of all CPU time more, a sync has so many KB more to write, both
 * threads have one lock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOPS   UINT64_C(1000000)
#define PARSE   9 /* × LOOPS a round */
#define COMPUTE 12
#define RENDER  9
#define LOGS    5 /* a round */
#define HOLD_NS 2000000

#define KEPT __attribute__((noinline))

static volatile unsigned long sink;
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t both;
static bool one_lock;
static int rounds;

/* All loops cost the same, so that functions' shares are known. */
#define LOOP(n)                                                                                    \
	for (unsigned long i = 0; i < (n); i++)                                                    \
	sink = sink + i

KEPT static void parse(unsigned long loops)
{
	LOOP(loops);
}

KEPT static void compute(unsigned long loops)
{
	LOOP(loops);
}

KEPT static void render(unsigned long loops)
{
	LOOP(loops);
}

KEPT static void add_to_log(pthread_mutex_t *lock)
{
	const struct timespec hold = { .tv_nsec = HOLD_NS };

	pthread_mutex_lock(lock);
	nanosleep(&hold, NULL);
	pthread_mutex_unlock(lock);
}

/* Both at once, so that one lock is surely in somebody's way. */
static void *work(void *arg)
{
	pthread_barrier_wait(&both);
	for (int i = 0; i < rounds * LOGS; i++)
		add_to_log(one_lock ? &locks[0] : arg);
	return NULL;
}

KEPT static void store(int fd, size_t kilobytes)
{
	static char block[1024];

	for (size_t i = 0; i < kilobytes; i++)
		if (pwrite(fd, block, sizeof(block), (off_t)(i * sizeof(block))) < 0)
			exit(1);
	if (fsync(fd))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long more = 0;
	size_t kilobytes = 4;
	pthread_t threads[2];
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0)
		return 1;
	rounds = atoi(argv[2]);
	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "cpu"))
			more = (PARSE + COMPUTE + RENDER) * LOOPS / 20;
		else if (!strncmp(argv[i], "fsync=", 6))
			kilobytes += (size_t)atol(argv[i] + 6);
		else if (!strcmp(argv[i], "lock"))
			one_lock = true;
		else
			return 2;
	}
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, &locks[i]))
			return 1;
	for (int i = 0; i < rounds; i++) {
		parse(PARSE * LOOPS);
		compute(COMPUTE * LOOPS + more);
		render(RENDER * LOOPS);
		store(fd, kilobytes);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
