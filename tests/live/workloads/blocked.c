/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocked: two threads that wait before anybody looks and never return; the test ends them with
 * SIGKILL, in the middle of their calls.
 *
 * blocked KIND: the same, and "first" and "second" hold a mutex each and wait for the other's. KIND
 * is "normal", "inherits" or "robust".
 */
#include <stdbool.h>

#include "workload.h"

static void *in_pipe(void *arg)
{
	set_name("blocked-pipe");
	await_token(*(int *)arg);
	return NULL;
}

static void *in_futex(void *arg)
{
	set_name("blocked-futex");
	pthread_mutex_lock(arg);
	return NULL;
}

static pthread_mutex_t crossed[2];
static pthread_barrier_t both_hold;

static void *in_deadlock(void *arg)
{
	bool is_second = arg != NULL;

	set_name(is_second ? "second" : "first");
	pthread_mutex_lock(&crossed[is_second]);
	pthread_barrier_wait(&both_hold);
	pthread_mutex_lock(&crossed[!is_second]);
	return NULL;
}

static void make_deadlock(const char *kind)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	if (!strcmp(kind, "inherits"))
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < 2; i++)
		pthread_mutex_init(&crossed[i], &attributes);
	pthread_barrier_init(&both_hold, NULL, 2);
	start_thread(in_deadlock, NULL);
	start_thread(in_deadlock, crossed);
}

int main(int argc, char **argv)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int fds[2];

	set_name("blocked-main");
	make_pipe(fds);
	pthread_mutex_lock(&mutex);
	start_thread(in_pipe, &fds[0]);
	start_thread(in_futex, &mutex);
	if (argc > 1)
		make_deadlock(argv[1]);
	/* Long enough for both to be where they stay. */
	sleep_ns(200 * MS);
	await_go();
	for (;;)
		pause();
}
