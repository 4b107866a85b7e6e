/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kv FOLDER SEGMENTS [SECONDS]: a key-value store and its clients in one. Four workers answer 25
 * requests a second each: they read a record of 4 KiB from one of the segments FOLDER/00.seg,
 * 01.seg, …, with direct I/O, as databases do. Every five seconds it prints the number of requests
 * and how long they took on average.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD       4096
#define WORKERS      4
#define PER_SECOND   25
#define MOST         100
#define SECOND_NS    1000000000L
#define REPORT_EVERY 5 /* seconds */

static struct segment {
	int fd;
	unsigned records;
} segments[MOST];
static unsigned segment_count;
static atomic_ulong requests, spent_ns;
static atomic_bool done;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

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

static void lookup(void *record, unsigned *seed)
{
	const struct segment *segment = &segments[(unsigned)rand_r(seed) % segment_count];
	off_t at = (off_t)((unsigned)rand_r(seed) % segment->records) * RECORD;

	if (pread(segment->fd, record, RECORD, at) != RECORD)
		die("pread");
}

static void *work(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	void *record = aligned_alloc(RECORD, RECORD);
	uint64_t next = now_ns();

	if (!record)
		die("aligned_alloc");
	while (!done) {
		uint64_t start = now_ns();

		lookup(record, &seed);
		spent_ns += now_ns() - start;
		requests++;
		next += SECOND_NS / PER_SECOND;
		sleep_until(next);
	}
	free(record);
	return NULL;
}

static void start_worker(uintptr_t number)
{
	pthread_t thread;
	char name[16];

	if (pthread_create(&thread, NULL, work, (void *)number))
		die("pthread_create");
	snprintf(name, sizeof(name), "worker-%u", (unsigned)number);
	pthread_setname_np(thread, name);
}

static void open_segment(const char *folder, unsigned number)
{
	struct segment *segment = &segments[number];
	struct stat about;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%02u.seg", folder, number);
	segment->fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (segment->fd < 0 || fstat(segment->fd, &about) || about.st_size < RECORD)
		die(path);
	segment->records = (unsigned)(about.st_size / RECORD);
}

static void report(void)
{
	unsigned long count = atomic_exchange(&requests, 0), ns = atomic_exchange(&spent_ns, 0);

	printf("kv: %lu requests, %.2f ms on average\n", count,
	       count ? (double)ns / (double)count / 1e6 : 0.0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned long seconds = argc > 3 ? strtoul(argv[3], NULL, 10) : 3600;

	segment_count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (!segment_count || segment_count > MOST) {
		fprintf(stderr, "usage: kv FOLDER SEGMENTS [SECONDS]\n");
		return 2;
	}
	for (unsigned i = 0; i < segment_count; i++)
		open_segment(argv[1], i);
	for (uintptr_t i = 1; i <= WORKERS; i++)
		start_worker(i);
	for (unsigned long past = 0; past < seconds; past += REPORT_EVERY) {
		sleep(REPORT_EVERY);
		report();
	}
	done = true;
	return 0;
}
