/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thumbs [--cured] [SECONDS]: a server that makes small pictures of large ones, and its clients in
 * one: 150 pictures a second. It needs 4 MiB for each. An old setting of malloc() gives large
 * blocks back to the kernel at once, so every picture begins with 1,024 page faults. The server
 * also remembers each answer, 10 KiB, for ever. With --cured, it does neither.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PICTURE_BYTES (4UL << 20)
#define THUMB_BYTES   10240
#define PER_SECOND    150
#define SECOND_NS     1000000000L
#define REPORT_EVERY  2 /* seconds */

struct answer {
	struct answer *before;
	unsigned char bytes[THUMB_BYTES];
};

static struct answer *last_answer;
static bool cured;
static volatile sig_atomic_t done;
static uint64_t answered_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *allocate(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block) {
		perror("malloc");
		exit(1);
	}
	return block;
}

/* One pixel in 64 bytes; the rest is a row's padding. */
static void decode(unsigned char *picture, unsigned number)
{
	for (size_t at = 0; at < PICTURE_BYTES; at += 64)
		picture[at] = (unsigned char)(at / 64 * 31 + number);
}

static void scale(const unsigned char *picture, unsigned char *thumb)
{
	for (size_t i = 0; i < THUMB_BYTES; i++)
		thumb[i] = picture[i * (PICTURE_BYTES / THUMB_BYTES)];
}

static void remember(struct answer *answer)
{
	answer->before = cured ? NULL : last_answer;
	if (cured)
		free(last_answer);
	last_answer = answer;
}

static void make_thumb(unsigned number)
{
	struct answer *answer = allocate(sizeof(*answer));
	unsigned char *picture = allocate(PICTURE_BYTES);

	decode(picture, number);
	scale(picture, answer->bytes);
	free(picture);
	remember(answer);
}

static void report(void)
{
	const double count = REPORT_EVERY * PER_SECOND;

	printf("thumbs: %.0f made after %.3f ms on average\n", count,
	       (double)answered_ns / count / 1e6);
	fflush(stdout);
	answered_ns = 0;
}

static void serve(unsigned long seconds)
{
	uint64_t came_ns = now_ns();
	unsigned number = 0;

	while (!done && number < seconds * PER_SECOND) {
		sleep_until(came_ns);
		make_thumb(number);
		answered_ns += now_ns() - came_ns;
		came_ns += SECOND_NS / PER_SECOND;
		if (!(++number % (REPORT_EVERY * PER_SECOND)))
			report();
	}
}

static void end(int signal)
{
	done = 1;
}

int main(int argc, char **argv)
{
	unsigned long seconds;

	cured = argc > 1 && !strcmp(argv[1], "--cured");
	seconds = argc > 1 + cured ? strtoul(argv[1 + cured], NULL, 10) : 60;
	if (!seconds) {
		fprintf(stderr, "usage: thumbs [--cured] [SECONDS]\n");
		return 2;
	}
	signal(SIGINT, end);
	signal(SIGTERM, end);
	mallopt(M_MMAP_THRESHOLD, cured ? 32 << 20 : 128 << 10);
	mallopt(M_TRIM_THRESHOLD, cured ? 64 << 20 : 128 << 10);
	serve(seconds);
	return 0;
}
