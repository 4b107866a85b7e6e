/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loops getppid|request|sizes|pingpong COUNT: prints the CPU time of one turn in nanoseconds. On
 * one CPU that is never idle, that is the wall time without the time of other programs. The turns
 * are made in 20 parts, of which the fastest counts, because it was disturbed least. Those of
 * pingpong, with a process of its own, are made in one.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PARTS 20

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

/* Connects a TCP socket to another one of this process. */
static void make_connection(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(ends[0], (struct sockaddr *)&address, size))
		exit(1);
	ends[1] = accept(listener, NULL, NULL);
	close(listener);
}

/* The syscalls of nginx that serves a file, and the two of its client. No turn waits. */
static void request_loop(unsigned long count)
{
	static int ends[2];
	char text[1024] = "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct iovec answer[2] = { { text, 200 }, { text, 600 } };
	struct stat about;

	if (!ends[0])
		make_connection(ends);
	for (unsigned long i = 0; i < count; i++) {
		int file;

		if (send(ends[0], text, 40, 0) != 40 || recv(ends[1], text, 1024, 0) != 40)
			exit(1);
		file = open("/proc/self/exe", O_RDONLY);
		if (fstat(file, &about) || pread(file, text, 600, 0) != 600 ||
		    writev(ends[1], answer, 2) != 800 || close(file) ||
		    recv(ends[0], text, 1024, 0) != 800)
			exit(1);
	}
}

/* Calls that take from one to a hundred microseconds, by their sizes, among many small ones. */
static void sizes_loop(unsigned long count)
{
	static char buffer[1 << 17];
	static unsigned seed = 1;
	int memory = memfd_create("sizes", 0);

	if (memory < 0 || pwrite(memory, buffer, sizeof(buffer), 0) < 0)
		exit(1);
	for (unsigned long i = 0; i < count; i++) {
		size_t size = (unsigned)rand_r(&seed) % 100;

		getppid_loop(20);
		if (pread(memory, buffer, size * size * 13, 0) < 0 ||
		    pwrite(memory, buffer, size * 1000, 0) < 0 ||
		    syscall(SYS_getrandom, buffer, size * 40, 0) < 0)
			exit(1);
	}
	close(memory);
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

static double time_turns(void (*loop)(unsigned long), unsigned long count)
{
	double begin_ns = used_ns();

	loop(count);
	return (used_ns() - begin_ns) / (double)count;
}

int main(int argc, char **argv)
{
	void (*loop)(unsigned long);
	unsigned long count, parts;
	double least_ns = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: loops getppid|request|sizes|pingpong COUNT\n");
		return 2;
	}
	loop = !strcmp(argv[1], "pingpong")  ? pingpong_loop
	       : !strcmp(argv[1], "request") ? request_loop
	       : !strcmp(argv[1], "sizes")   ? sizes_loop
					     : getppid_loop;
	parts = loop == pingpong_loop ? 1 : PARTS;
	count = strtoul(argv[2], NULL, 10);
	pin(0);
	setpriority(PRIO_PROCESS, 0, -20);
	loop(count / 10);
	for (unsigned long i = 0; i < parts; i++) {
		double ns = time_turns(loop, count / parts);

		least_ns = !least_ns || ns < least_ns ? ns : least_ns;
	}
	printf("%.1f\n", least_ns);
	return 0;
}
