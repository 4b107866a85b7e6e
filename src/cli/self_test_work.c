/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work that `gapless doctor --self-test` records: each task in a thread of its own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/self_test.h"

static struct self_test_facts *facts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], held[2], wanted[2];

static void sleep_ns(int64_t ns)
{
	nanosleep(&(struct timespec) { 0, (long)ns }, NULL);
}

static void say(int fd)
{
	(void)!write(fd, "x", 1);
}

static void hear(int fd)
{
	char byte;

	(void)!read(fd, &byte, 1);
}

static void *sleeper(void *context)
{
	prctl(PR_SET_NAME, SELF_TEST_SLEEPER);
	for (int i = 0; i < SELF_TEST_SLEEPS; i++) {
		uint64_t began_ns = clock__now_ns();

		sleep_ns(SELF_TEST_SLEEP_NS);
		facts->sleep_ns += (int64_t)(clock__now_ns() - began_ns);
	}
	return NULL;
}

static void *holder(void *context)
{
	prctl(PR_SET_NAME, SELF_TEST_HOLDER);
	for (int i = 0; i < SELF_TEST_LOCKS; i++) {
		hear(wanted[0]);
		pthread_mutex_lock(&lock);
		say(held[1]);
		sleep_ns(SELF_TEST_LOCK_NS);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *waiter(void *context)
{
	prctl(PR_SET_NAME, SELF_TEST_WAITER);
	for (int i = 0; i < SELF_TEST_LOCKS; i++) {
		uint64_t began_ns;

		say(wanted[1]);
		hear(held[0]);
		began_ns = clock__now_ns();
		pthread_mutex_lock(&lock);
		facts->lock_ns += (int64_t)(clock__now_ns() - began_ns);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static int64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Starts at the thread's first instruction, so that time before the loop counts on both sides. */
static void *spinner(void *context)
{
	volatile uint64_t work = 0;
	uint64_t began_ns = clock__now_ns();

	prctl(PR_SET_NAME, SELF_TEST_SPINNER);
	while (cpu_ns() < SELF_TEST_SPIN_NS)
		for (int i = 0; i < 100000; i++)
			work += (uint64_t)i;
	facts->cpu_ns = cpu_ns();
	facts->spin_ns = (int64_t)(clock__now_ns() - began_ns);
	return NULL;
}

static void *talker(void *context)
{
	prctl(PR_SET_NAME, SELF_TEST_TALKER);
	for (int i = 0; i < SELF_TEST_MESSAGES; i++) {
		sleep_ns(1000000);
		say(ends[1]);
	}
	return NULL;
}

static void *listener(void *context)
{
	prctl(PR_SET_NAME, SELF_TEST_LISTENER);
	for (int i = 0; i < SELF_TEST_MESSAGES; i++) {
		uint64_t began_ns = clock__now_ns();

		hear(ends[0]);
		facts->listen_ns += (int64_t)(clock__now_ns() - began_ns);
	}
	return NULL;
}

/* Returns the exit status of the process. */
static int work(void)
{
	static void *(*const workers[])(void *) = { sleeper, holder, waiter,
						    spinner, talker, listener };
	pthread_t threads[sizeof(workers) / sizeof(*workers)];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char bytes[16];

	if (pipe2(ends, O_CLOEXEC) || pipe2(held, O_CLOEXEC) || pipe2(wanted, O_CLOEXEC))
		return 1;
	for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++)
		if (pthread_create(&threads[i], NULL, workers[i], NULL))
			return 1;
	for (int i = 0; i < SELF_TEST_CALLS; i++)
		(void)syscall(SYS_getppid);
	for (int i = 0; i < SELF_TEST_READS; i++)
		(void)!pread(file, bytes, sizeof(bytes), i);
	for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++)
		pthread_join(threads[i], NULL);
	facts->done = true;
	return 0;
}

/* Forks the process that does the work as soon as a byte arrives through the gate. */
static int start(pid_t *ret_pid, int *ret_gate)
{
	int gate[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(gate[0]);
		close(gate[1]);
		return err;
	}
	if (!pid) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) == 1 ? work() : 1);
	}
	close(gate[0]);
	*ret_pid = pid;
	*ret_gate = gate[1];
	return 0;
}

int self_test_work__start(pid_t *ret_pid, int *ret_gate, struct self_test_facts **ret_facts)
{
	int err;

	facts = mmap(NULL, sizeof(*facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (facts == MAP_FAILED)
		return -errno;
	err = start(ret_pid, ret_gate);
	if (err) {
		self_test_work__release(facts);
		return err;
	}
	*ret_facts = facts;
	return 0;
}

void self_test_work__release(struct self_test_facts *old)
{
	munmap(old, sizeof(*old));
}
