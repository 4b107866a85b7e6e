/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eight threads update one ledger; each makes a slow call while it holds the lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define WORKERS 8

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static long updates;

__attribute__((noinline)) static void slow_call(void)
{
	usleep(4000);
}

__attribute__((noinline)) static void update_ledger(void)
{
	pthread_mutex_lock(&ledger_lock);
	slow_call();
	updates++;
	pthread_mutex_unlock(&ledger_lock);
}

static void *work(void *unused)
{
	for (;;) {
		update_ledger();
		usleep(500);
	}
	return unused;
}

int main(void)
{
	for (int i = 0; i < WORKERS; i++) {
		pthread_t thread;
		char name[16];

		snprintf(name, sizeof(name), "worker-%d", i);
		pthread_create(&thread, NULL, work, NULL);
		pthread_setname_np(thread, name);
	}
	for (long before = 0;; before = updates) {
		sleep(1);
		printf("updates=%ld\n", updates - before);
		fflush(stdout);
	}
}
