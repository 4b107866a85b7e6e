/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocked: two threads that wait before anybody looks and never return; the test ends them with
 * SIGKILL, in the middle of their calls.
 */
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

int main(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int fds[2];

	set_name("blocked-main");
	make_pipe(fds);
	pthread_mutex_lock(&mutex);
	start_thread(in_pipe, &fds[0]);
	start_thread(in_futex, &mutex);
	/* Long enough for both to be where they stay. */
	sleep_ns(200 * MS);
	await_go();
	for (;;)
		pause();
}
