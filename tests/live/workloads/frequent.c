/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More calls than any budget allows, and then few.
 *
 *   frequent       a thread "burst": 300,000 calls of getppid, 100,000 of close (EBADF) and 100,000
 *                  of read (EAGAIN), in turns; 20 sleeps of 10 ms; then 3.5 s of computing with a
 *                  call of getppid every millisecond
 *   frequent few   a thread "few": 2,000 calls of getppid in 1 s of computing
 *   frequent all   9 s of calls of getppid, reads of a file, and short waits for another thread
 */
#include "workload.h"

#define TURNS 100000
#define NAPS  20

static void compute(uint64_t ns, uint64_t each_ns, long *calls)
{
	for (uint64_t end_ns = now_ns() + ns, next_ns = now_ns(); next_ns < end_ns; (*calls)++) {
		next_ns += each_ns;
		spin_until(next_ns);
		syscall(SYS_getppid);
	}
}

static void call_often(void)
{
	struct phase phase = phase_begin("burst", "burst");
	long calls = 3L * TURNS;
	int ends[2];
	char byte;

	if (pipe2(ends, O_NONBLOCK))
		die("pipe2");
	for (int i = 0; i < TURNS; i++) {
		for (int k = 0; k < 3; k++)
			syscall(SYS_getppid);
		syscall(SYS_close, -1);
		syscall(SYS_read, ends[0], &byte, 1);
	}
	for (int i = 0; i < NAPS; i++)
		sleep_ns(10 * MS);
	compute(3500 * MS, MS, &calls);
	phase_end(&phase);
	log_line("{\"calls\": %ld}\n", calls);
}

static void call_now_and_then(void)
{
	long calls = 0;

	set_name("few");
	compute(1000 * MS, MS / 2, &calls);
	log_line("{\"calls\": %ld}\n", calls);
}

static void *answer(void *arg)
{
	int *ends = arg;
	char byte;

	while (read(ends[0], &byte, 1) == 1 && write(ends[3], &byte, 1) == 1)
		;
	return NULL;
}

static void do_all(void)
{
	uint64_t end_ns = now_ns() + 9000 * MS;
	int ends[4], file = open("/proc/self/exe", O_RDONLY);
	pthread_t thread;
	long calls = 0;
	char byte;

	set_name("all");
	make_pipe(ends);
	make_pipe(ends + 2);
	thread = start_thread(answer, ends);
	while (now_ns() < end_ns) {
		for (int i = 0; i < 10; i++, calls++) {
			syscall(SYS_getppid);
			if (pread(file, &byte, 1, 0) != 1)
				die("pread");
		}
		if (write(ends[1], "", 1) != 1 || read(ends[2], &byte, 1) != 1)
			die("pipe");
	}
	close(ends[1]);
	pthread_join(thread, NULL);
	log_line("{\"calls\": %ld}\n", calls);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "few"))
		call_now_and_then();
	else if (argc > 1 && !strcmp(argv[1], "all"))
		do_all();
	else
		call_often();
	return 0;
}
