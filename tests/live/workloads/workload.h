/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workloads share: the clock they log, the names that tests look for, and the log itself:
 * one JSON object a line on stdout, written at once so that threads do not tear each other's.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000UL /* in nanoseconds */

static inline uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static inline void set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static inline void sleep_until(uint64_t end_ns)
{
	struct timespec end = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

static inline void sleep_ns(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}

/* Where the vDSO cannot read the clock it is a system call, so it is read seldom. */
static inline void spin_until(uint64_t end_ns)
{
	while (now_ns() < end_ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static inline pthread_t start_thread(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, body, arg);
	if (errno)
		die("pthread_create");
	return thread;
}

static inline void make_pipe(int *ret)
{
	if (pipe(ret))
		die("pipe");
}

static inline void send_token(int fd)
{
	if (write(fd, "x", 1) != 1)
		die("write");
}

static inline void await_token(int fd)
{
	char token;

	if (read(fd, &token, 1) != 1)
		die("read");
}

/*
 * One line of the log, at once. Without stdio, whose own system calls (fstat) would be among those
 * that tests count.
 */
__attribute__((format(printf, 1, 2))) static inline void log_line(const char *format, ...)
{
	char line[512];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		exit(1);
}

/* Says that everything is set up, and waits until the test has attached to it. */
static inline void await_go(void)
{
	log_line("{\"ready\": %d}\n", getpid());
	await_token(STDIN_FILENO);
}

/* One thread's part in a phase. */
struct phase {
	const char *name;
	const char *comm;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t blocked_ns; /* by its own clock, inside the calls that the phase is about */
	unsigned long waits; /* how often the kernel says that it waited there */
	unsigned long count; /* of those calls */
};

static inline struct phase phase_begin(const char *name, const char *comm)
{
	set_name(comm);
	return (struct phase) { .name = name, .comm = comm, .begin_ns = now_ns() };
}

static inline unsigned long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (unsigned long)usage.ru_nvcsw;
}

/* Around each call that the phase is about. On a busy machine it may be ready without waiting. */
static inline void call_begins(struct phase *phase)
{
	phase->waits -= voluntary_switches();
	phase->blocked_ns -= now_ns();
}

static inline void call_ends(struct phase *phase)
{
	phase->blocked_ns += now_ns();
	phase->waits += voluntary_switches();
	phase->count++;
}

/* Called by the thread itself, last: the kernel's own account of it goes into the log too. */
static inline void phase_end(struct phase *phase)
{
	unsigned long cpu_ns, ready_ns = 0, slices = 0;
	char schedstat[64] = "";
	int fd;

	phase->end_ns = now_ns();
	/* Reading this clock brings the sum in schedstat up to date. */
	cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	fd = open("/proc/thread-self/schedstat", O_RDONLY);
	if (fd < 0 || read(fd, schedstat, sizeof(schedstat) - 1) <= 0 ||
	    sscanf(schedstat, "%*u %lu %lu", &ready_ns, &slices) != 2)
		die("schedstat");
	close(fd);
	log_line("{\"phase\": \"%s\", \"comm\": \"%s\", \"tid\": %d, \"begin_ns\": %lu, "
		 "\"end_ns\": %lu, \"blocked_ns\": %lu, \"waits\": %lu, \"count\": %lu, "
		 "\"cpu_ns\": %lu, \"ready_ns\": %lu, \"slices\": %lu}\n",
		 phase->name, phase->comm, gettid(), phase->begin_ns, phase->end_ns,
		 phase->blocked_ns, phase->waits, phase->count, cpu_ns, ready_ns, slices);
}

static inline void phase_skip(const char *name, const char *why)
{
	log_line("{\"phase\": \"%s\", \"skip\": \"%s: %s\"}\n", name, why, strerror(errno));
}
