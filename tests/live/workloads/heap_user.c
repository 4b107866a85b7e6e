/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uses the heap: heap_user SECONDS WORK. Each round allocates in four ways, works WORK steps after
 * each call, and frees. Sizes vary, and `large` is the function with most bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;
static unsigned steps;

static void work(void)
{
	for (unsigned i = 0; i < steps; i++)
		sink = sink * 3 + i;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static char *large(unsigned round)
{
	char *at = malloc(4096 + round % 7 * 512);

	work();
	return at;
}

__attribute__((noinline)) static char *small(unsigned round)
{
	char *at = calloc(1 + round % 3, 24);

	work();
	return at;
}

/* The first call has no old block: it is one call, although glibc jumps to malloc(). */
__attribute__((noinline)) static char *growing(unsigned round)
{
	char *volatile none = NULL; /* or the compiler calls malloc() itself */
	char *at = realloc(none, 100);

	work();
	at = realloc(at, 200 + round % 5 * 40);
	work();
	return at;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	unsigned round = 0;

	steps = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	while (round % 64 || now() < end) {
		void *aligned = NULL;
		char *a = large(round), *b = small(round), *c = growing(round);

		if (posix_memalign(&aligned, 64, 300))
			return 1;
		work();
		free(a);
		free(b);
		free(c);
		free(aligned);
		work();
		round++;
	}
	return 0;
}
