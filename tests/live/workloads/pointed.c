/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pointed CALLS: reaches tracepoints in known numbers. Logs how often its thread "sleeper" was
 * switched away from, by its own count.
 */
#include "workload.h"

#include <sys/uio.h>
#include <sys/wait.h>

#define KEYS   4
#define READS  50
#define NAPS   20
#define NAP_NS (5 * MS)
#define PAIRS  50
#define DELAY  (20 * MS)

static void nap(long ns)
{
	struct timespec time = { 0, ns };

	syscall(SYS_nanosleep, &time, NULL);
}

static void *sleep_often(void *arg)
{
	struct rusage usage;

	set_name("sleeper");
	for (int i = 0; i < 30; i++)
		sleep_ns(MS);
	getrusage(RUSAGE_THREAD, &usage);
	log_line("{\"phase\": \"sleeper\", \"switches\": %ld}\n", usage.ru_nvcsw + usage.ru_nivcsw);
	return NULL;
}

/* Ends the pairs that the main thread began, and three that nobody began. */
static void *end_pairs(void *arg)
{
	set_name("ender");
	sleep_ns(DELAY);
	for (int i = 0; i < PAIRS; i++)
		syscall(SYS_getsid, 2000000 + i);
	for (int i = 0; i < 3; i++)
		syscall(SYS_getsid, 3000000);
	return NULL;
}

static void read_and_fail(void)
{
	char bytes[100] = "";
	struct iovec vector = { bytes, sizeof(bytes) };
	int ends[2];

	make_pipe(ends);
	for (int i = 0; i < READS; i++)
		if (write(ends[1], bytes, sizeof(bytes)) != sizeof(bytes) ||
		    readv(ends[0], &vector, 1) != sizeof(bytes))
			die("pipe");
	for (int i = 0; i < 7; i++)
		if (readv(-1, &vector, 1) != -1)
			die("readv of no descriptor");
}

static void execute(void)
{
	for (int i = 0; i < 5; i++) {
		if (!fork()) {
			execl("/proc/self/exe", "pointed", "exit", NULL);
			_exit(1);
		}
		wait(NULL);
	}
}

/* One begin is repeated, and five have no end. */
static void begin_pairs(void)
{
	for (int i = 0; i < PAIRS + 5; i++)
		syscall(SYS_getpgid, 2000000 + i);
	syscall(SYS_getpgid, 2000000);
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 0;

	if (argc > 1 && !strcmp(argv[1], "exit"))
		return 0;
	for (int i = 0; i < calls; i++)
		syscall(SYS_getppid);
	for (int i = 1; i <= KEYS; i++)
		for (int j = 0; j < 10 * i; j++)
			syscall(SYS_getpgid, 1000000 + i);
	read_and_fail();
	for (int i = 0; i < NAPS; i++)
		nap(NAP_NS);
	execute();
	pthread_join(start_thread(sleep_often, NULL), NULL);
	begin_pairs();
	pthread_join(start_thread(end_pairs, NULL), NULL);
	return 0;
}
