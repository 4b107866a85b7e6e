/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: threads of known names that do known things until they are killed. One runs in a
 * function of its own and calls getppid now and then, one holds a lock most of the time, one waits
 * for it, and one has a name that would steer a terminal.
 */
#include "workload.h"

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void spin_here(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

static void *runs(void *arg)
{
	set_name("svc-runs");
	for (;;) {
		spin_here();
		syscall(SYS_getppid);
	}
	return NULL;
}

static void *holds(void *arg)
{
	set_name("svc-holds");
	for (;;) {
		pthread_mutex_lock(&mutex);
		sleep_ns(20 * MS);
		pthread_mutex_unlock(&mutex);
		sleep_ns(5 * MS);
	}
	return NULL;
}

static void *waits(void *arg)
{
	set_name("svc-waits");
	for (;;) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		sleep_ns(2 * MS);
	}
	return NULL;
}

static void *steers(void *arg)
{
	set_name("\033[7mbad");
	for (;;)
		sleep_ns(10 * MS);
	return NULL;
}

int main(void)
{
	start_thread(runs, NULL);
	start_thread(holds, NULL);
	start_thread(waits, NULL);
	start_thread(steers, NULL);
	/* Long enough for all to have their names. */
	sleep_ns(50 * MS);
	await_go();
	for (;;)
		pause();
}
