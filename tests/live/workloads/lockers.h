/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workloads with known waits for locks share. Each thread logs how often and how long it
 * waited by the kernel's count and its own clock, and what else it did in the calls: how long it
 * was ready and how long it ran. A holder keeps a lock until /proc shows that the others wait, so
 * each wait takes place on a busy machine too.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "workload.h"

#define MOST_WAITERS 32

/* The tid of each thread that is in a call that may wait; 0: it is not. Shared with children. */
static atomic_int *asking;

/* One thread's waits. */
struct waiter {
	struct phase phase;
	int number; /* index in `asking` */
	int schedstat;
	uint64_t ready_ns, cpu_ns; /* in the calls, and perhaps a bit around them */
	uint64_t around_ns;        /* from before these are read to after they are */
};

static inline void init_waiters(void)
{
	asking = mmap(NULL, MOST_WAITERS * sizeof(*asking), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (asking == MAP_FAILED)
		die("mmap");
}

/* "convoy-2"; number 0: only the word. */
static inline const char *name_numbered(const char *word, int number)
{
	static _Thread_local char name[16];

	snprintf(name, sizeof(name), number ? "%s-%d" : "%s", word, number);
	return name;
}

static inline struct waiter waiter_begin(const char *phase, const char *word, int number)
{
	struct waiter waiter = { .phase = phase_begin(phase, name_numbered(word, number)),
				 .number = number };

	waiter.schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	if (waiter.schedstat < 0)
		die("schedstat");
	return waiter;
}

/* How long this thread has been ready without a CPU. */
static inline uint64_t ready_so_far(const struct waiter *waiter)
{
	char text[64] = "";
	unsigned long ready_ns = 0;

	if (pread(waiter->schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%*u %lu", &ready_ns) != 1)
		die("schedstat");
	return ready_ns;
}

/* Around each call that may wait. */
static inline void wait_begins(struct waiter *waiter)
{
	int tid = gettid();

	waiter->around_ns -= now_ns();
	waiter->ready_ns -= ready_so_far(waiter);
	waiter->cpu_ns -= read_clock(CLOCK_THREAD_CPUTIME_ID);
	call_begins(&waiter->phase);
	asking[waiter->number] = tid;
}

static inline void wait_ends(struct waiter *waiter)
{
	asking[waiter->number] = 0;
	call_ends(&waiter->phase);
	waiter->cpu_ns += read_clock(CLOCK_THREAD_CPUTIME_ID);
	waiter->ready_ns += ready_so_far(waiter);
	waiter->around_ns += now_ns();
}

static inline void waiter_end(struct waiter *waiter)
{
	log_line("{\"phase\": \"in calls\", \"comm\": \"%s\", \"ready_ns\": %lu, \"cpu_ns\": %lu, "
		 "\"around_ns\": %lu}\n",
		 waiter->phase.comm, waiter->ready_ns, waiter->cpu_ns, waiter->around_ns);
	close(waiter->schedstat);
	phase_end(&waiter->phase);
}

/* Whether the thread of this number is in its call, and off the CPU. */
static inline bool is_waiting(int number)
{
	int tid = asking[number], fd;
	char path[64], text[128] = "";
	const char *end;
	bool asleep;

	if (!tid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	asleep = read(fd, text, sizeof(text) - 1) > 0 && (end = strrchr(text, ')')) &&
		 (end[2] == 'S' || end[2] == 'D');
	close(fd);
	return asleep && asking[number] == tid;
}

/* Waits until these threads wait. */
static inline void await_waiters(int first, int last)
{
	for (int i = first; i <= last; i++)
		while (!is_waiting(i))
			sleep_ns(MS);
}

static inline void join_all(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}
