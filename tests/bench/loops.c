/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loops getppid|pingpong COUNT: prints the CPU time of one turn in nanoseconds. On one CPU that is
 * never idle, that is the wall time without the time of other programs.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* CPU time of this process and of its children that have ended. */
static double used_ns(void)
{
	struct rusage children;
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return ((double)own.tv_sec + seconds(&children.ru_utime) + seconds(&children.ru_stime)) *
		       1e9 +
	       (double)own.tv_nsec;
}

static void getppid_loop(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

static void pass(int from, int to, unsigned long count)
{
	char token = 'x';

	for (unsigned long i = 0; i < count; i++) {
		if (read(from, &token, 1) != 1 || write(to, &token, 1) != 1)
			exit(1);
	}
}

/* Two processes on one CPU: every turn has two context switches and two wakeups. */
static void pingpong_loop(unsigned long count)
{
	int ping[2], pong[2];
	pid_t child;

	if (pipe(ping) || pipe(pong))
		exit(1);
	child = fork();
	if (!child) {
		pass(ping[0], pong[1], count);
		_exit(0);
	}
	if (write(ping[1], "x", 1) != 1)
		exit(1);
	pass(pong[0], ping[1], count - 1);
	waitpid(child, NULL, 0);
}

static void pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

int main(int argc, char **argv)
{
	void (*loop)(unsigned long);
	unsigned long count;
	double begin_ns;

	if (argc != 3) {
		fprintf(stderr, "usage: loops getppid|pingpong COUNT\n");
		return 2;
	}
	loop = strcmp(argv[1], "pingpong") ? getppid_loop : pingpong_loop;
	count = strtoul(argv[2], NULL, 10);
	pin(0);
	setpriority(PRIO_PROCESS, 0, -20);
	loop(count / 10);
	begin_ns = used_ns();
	loop(count);
	printf("%.1f\n", (used_ns() - begin_ns) / (double)count);
	return 0;
}
