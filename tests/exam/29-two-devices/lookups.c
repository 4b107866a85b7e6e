/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookups FAST SLOW: one thread reads blocks at random, every fourth from SLOW. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096

static int files[2];
static long reads[2];
static double spent_ms[2];

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void read_row(int which, void *buffer)
{
	off_t blocks = lseek(files[which], 0, SEEK_END) / BLOCK;
	double began = now_ms();

	if (pread(files[which], buffer, BLOCK, random() % blocks * BLOCK) != BLOCK)
		exit(1);
	spent_ms[which] += now_ms() - began;
	reads[which]++;
}

static void *look_up(void *unused)
{
	void *buffer = aligned_alloc(BLOCK, BLOCK);

	(void)unused;
	for (;;)
		read_row(random() % 4 == 0, buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reader;

	for (int i = 0; i < 2 && i + 1 < argc; i++)
		files[i] = open(argv[i + 1], O_RDONLY | O_DIRECT);
	pthread_create(&reader, NULL, look_up, NULL);
	pthread_setname_np(reader, "reader");
	for (;;) {
		sleep(1);
		if (!reads[0] || !reads[1])
			continue;
		printf("fast_ms=%.2f slow_ms=%.2f\n", spent_ms[0] / reads[0],
		       spent_ms[1] / reads[1]);
		fflush(stdout);
	}
}
