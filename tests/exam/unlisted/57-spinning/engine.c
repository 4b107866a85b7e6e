/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A loader needs 50 ms for a stage; workers ask again and again whether it is there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_long stage, yields;

__attribute__((noinline)) static void wait_for_stage(long wanted)
{
	while (atomic_load(&stage) < wanted) {
		atomic_fetch_add(&yields, 1);
		sched_yield();
	}
}

static void *work(void *unused)
{
	for (long wanted = 1;; wanted++)
		wait_for_stage(wanted);
	return unused;
}

static void *load(void *unused)
{
	for (;;) {
		usleep(50000);
		atomic_fetch_add(&stage, 1);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, load, NULL);
	pthread_setname_np(thread, "loader");
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, work, NULL);
		pthread_setname_np(thread, "worker");
	}
	for (;;) {
		long before = atomic_load(&yields);

		sleep(1);
		printf("yields=%ld\n", atomic_load(&yields) - before);
		fflush(stdout);
	}
}
