/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events FOLDER: two threads write events to a log each, as fast as they may. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH   65536
#define BATCHES 256

static const char *folder = ".";
static char batch[BATCH];
static long written;

__attribute__((noinline)) static void append_event(int file, long number)
{
	if (pwrite(file, batch, BATCH, number % BATCHES * BATCH) != BATCH)
		exit(1);
	__atomic_fetch_add(&written, 1, __ATOMIC_RELAXED);
}

static void *log_events(void *arg)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/events-%ld.log", folder, (long)arg);
	file = open(path, O_RDWR | O_CREAT, 0600);
	for (long i = 0;; i++)
		append_event(file, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		folder = argv[1];
	for (long i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, log_events, (void *)i);
		pthread_setname_np(thread, "writer");
	}
	for (;;) {
		long before = __atomic_load_n(&written, __ATOMIC_RELAXED);

		sleep(1);
		printf("writes=%ld\n", __atomic_load_n(&written, __ATOMIC_RELAXED) - before);
		fflush(stdout);
	}
}
