/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time is measured and not the time of day, because other processes want this CPU too. The
 * kernel accounts the hooks of a switch to one of the two threads.
 */
#include "agent/switching.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"

/* Of a batch; each way is a switch. On a busy CPU, only short batches are undisturbed. */
#define ROUNDS 8

struct pair {
	int there[2], back[2];
};

static bool pass(int from, int to)
{
	char byte = 0;

	return read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1;
}

/* The other thread, until its pipe is closed. */
static void *answer(void *context)
{
	const struct pair *pair = context;

	while (pass(pair->there[0], pair->back[1]))
		;
	return NULL;
}

static double batch_ns(const struct pair *pair)
{
	uint64_t begin_ns = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < ROUNDS; i++) {
		char byte = 0;

		if (write(pair->there[1], &byte, 1) != 1 || read(pair->back[0], &byte, 1) != 1)
			return 0;
	}
	return (double)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / (2 * ROUNDS);
}

static double least_batch_ns(const struct pair *pair, uint64_t most_ns)
{
	uint64_t end_ns = clock__now_ns() + most_ns;
	double least_ns = 0;

	do {
		double ns = batch_ns(pair);

		if (ns <= 0)
			return 0;
		least_ns = least_ns <= 0 || ns < least_ns ? ns : least_ns;
	} while (clock__now_ns() < end_ns);
	return least_ns;
}

static double measure(struct pair *pair, uint64_t most_ns)
{
	pthread_t thread;
	double ns;

	if (threads__start(answer, pair, &thread))
		return 0;
	ns = least_batch_ns(pair, most_ns);
	close(pair->there[1]);
	pair->there[1] = -1;
	pthread_join(thread, NULL);
	return ns;
}

double switching__ns(int cpu, uint64_t most_ns)
{
	struct pair pair = { { -1, -1 }, { -1, -1 } };
	cpu_set_t before, one;
	double ns = 0;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before))
		return 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* The other thread inherits it. */
	if (sched_setaffinity(0, sizeof(one), &one))
		return 0;
	if (!pipe2(pair.there, O_CLOEXEC) && !pipe2(pair.back, O_CLOEXEC))
		ns = measure(&pair, most_ns);
	sched_setaffinity(0, sizeof(before), &before);
	close_p(&pair.there[0]);
	close_p(&pair.there[1]);
	close_p(&pair.back[0]);
	close_p(&pair.back[1]);
	return ns;
}
