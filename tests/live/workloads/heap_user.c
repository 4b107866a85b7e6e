/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uses the heap: heap_user SECONDS WORK [MODE]. Each round allocates in four ways, works WORK steps
 * after each call, and frees. Sizes vary, and `large` is the function with most bytes. Modes:
 *
 *   phases  in every other half of a second, rounds take 20 times as long
 *   rare    every second, 64 MB besides
 *   new     also calls operator new and delete of C++, of whatever library has them
 *
 * Writes what it asked for to the file $HEAP_USER_FILE: calls, bytes, frees. The C library's own
 * calls are not in it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RARE_BYTES (64UL << 20)

static volatile uint64_t sink;
static unsigned usual_steps, steps;
static unsigned long calls, bytes, frees;

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

static size_t asked(size_t size)
{
	calls++;
	bytes += size;
	return size;
}

/* Or the compiler leaves out what is allocated and freed without any use. */
static void give_back(void *at)
{
	sink += (uintptr_t)at;
	frees++;
	free(at);
}

__attribute__((noinline)) static char *large(unsigned round)
{
	char *at = malloc(asked(4096 + round % 7 * 512));

	work();
	return at;
}

__attribute__((noinline)) static char *small(unsigned round)
{
	char *at = calloc(1 + round % 3, 24);

	asked((1 + round % 3) * 24);
	work();
	return at;
}

/* The first call has no old block: it is one call, although glibc jumps to malloc(). */
__attribute__((noinline)) static char *growing(unsigned round)
{
	char *volatile none = NULL; /* or the compiler calls malloc() itself */
	char *at = realloc(none, asked(100));

	work();
	at = realloc(at, asked(200 + round % 5 * 40));
	work();
	return at;
}

__attribute__((noinline)) static void rare(void)
{
	give_back(malloc(asked(RARE_BYTES)));
}

static int run_round(unsigned round)
{
	void *aligned = NULL;
	char *a = large(round), *b = small(round), *c = growing(round);

	if (posix_memalign(&aligned, 64, asked(300)))
		return 1;
	work();
	give_back(a);
	give_back(b);
	give_back(c);
	give_back(aligned);
	work();
	return 0;
}

static void *(*operator_new)(size_t size);
static void (*operator_delete)(void *at);

static void find_operators(void)
{
#ifndef IS_STATIC
	*(void **)&operator_new = dlsym(RTLD_DEFAULT, "_Znwm");
	*(void **)&operator_delete = dlsym(RTLD_DEFAULT, "_ZdlPv");
#endif
}

/* Also without the library that has them. */
static void use_operators(void)
{
	void *at;

	if (!operator_new || !operator_delete)
		return;
	at = operator_new(asked(64));
	sink += (uintptr_t)at;
	frees++;
	operator_delete(at);
}

static void write_counts(void)
{
	const char *path = getenv("HEAP_USER_FILE");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	char text[96];
	int length = snprintf(text, sizeof(text), "%lu %lu %lu\n", calls, bytes, frees);

	if (fd >= 0 && write(fd, text, (size_t)length) == length)
		close(fd);
}

int main(int argc, char **argv)
{
	double begin = now(), end = begin + (argc > 1 ? atof(argv[1]) : 1), next = begin + 0.5;
	const char *mode = argc > 3 ? argv[3] : "";
	unsigned round = 0;

	steps = usual_steps = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	if (!strcmp(mode, "new"))
		find_operators();
	for (double at = begin; at < end; round++) {
		if (run_round(round))
			return 1;
		use_operators();
		if (round % 64)
			continue;
		at = now();
		if (!strcmp(mode, "phases"))
			steps = (unsigned)(2 * (at - begin)) % 2 ? usual_steps * 20 : usual_steps;
		if (!strcmp(mode, "rare") && at >= next) {
			rare();
			next += 1;
		}
	}
	write_counts();
	return 0;
}
