/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collecting half of the agent when something fails, is lost, or is very large. */
#include "../harness.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#include "collected.h"

#define MS UINT64_C(1000000)

static void sleep_twice(void)
{
	collected__sleep_ms(300);
	collected__sleep_ms(300);
}

static void a_step_that_fails_is_made_up_for_by_the_next_one(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-child" };
	uint64_t before_ns = clock__now_ns(), life_ns;
	pid_t pid = collected__child("fold-child", sleep_twice);
	const struct bucket *step = NULL;
	struct rlimit old, none;

	collected__sleep_ms(100);
	collected__step(collector, &sums, true);
	/* Running an iterator needs a descriptor. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (int i = 0; i < 3; i++) {
		collected__sleep_ms(50);
		assert_int_equal(collector__step(collector, i, &step), -EMFILE);
		assert_null(step);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	collected__step(collector, &sums, false);
	collected__await(pid);
	life_ns = clock__now_ns() - before_ns;
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_int_equal(sums.count[SLOT_WAIT_SLEEP], 2);
	assert_in_range(sums.ns[SLOT_WAIT_SLEEP], 600 * MS, life_ns);
	assert_in_range(sums.thread_ns, 600 * MS, life_ns);
	collector__free(collector);
}

/* Together, their last records do not fit into the ring. */
#define CROWD       3000
#define STACK_BYTES 16384

static int gate[2];
static long crowd = CROWD;

static long threads_of(pid_t pid)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &info) ? 0 : (long)info.st_nlink - 2;
}

static void *wait_at_gate(void *context)
{
	char byte;

	(void)!read(gate[0], &byte, 1);
	return NULL;
}

/* One mapping has all stacks: a process may not have very many. */
static void wait_in_crowd(void)
{
	char *stacks = mmap(NULL, (size_t)crowd * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	for (long i = 0; i < crowd; i++)
		if (pthread_attr_setstack(&small, stacks + i * STACK_BYTES, STACK_BYTES) ||
		    pthread_create(&thread, &small, wait_at_gate, NULL))
			_exit(1);
	wait_at_gate(NULL);
	_exit(0);
}

static pid_t start_crowd(long count)
{
	pid_t pid;

	crowd = count;
	assert_int_equal(pipe(gate), 0);
	pid = collected__child("fold-crowd", wait_in_crowd);
	for (int i = 0; i < 1000 && threads_of(pid) <= crowd; i++)
		collected__sleep_ms(20);
	assert_int_equal(threads_of(pid), crowd + 1);
	return pid;
}

static void end_crowd(pid_t pid)
{
	close(gate[1]);
	kill(pid, SIGKILL);
	collected__await(pid);
	close(gate[0]);
}

static void a_thread_whose_last_record_was_lost_does_not_live_on(void **state)
{
	struct collected sums = { .group = "fold-crowd" }, after = sums;
	pid_t pid = start_crowd(CROWD);
	struct collector *collector = collected__open(false);
	const struct bucket *step;

	collected__step(collector, &sums, true);
	end_crowd(pid);
	assert_int_equal(collector__step(collector, false, &step), 0);
	assert_true(ledger__lost(collector__ledger(collector), LOST_RING_FULL) > 0);
	for (int i = 0; i < 2; i++) {
		collected__sleep_ms(20);
		collected__step(collector, &after, false);
	}
	assert_int_equal(after.thread_ns, 0);
	collected__step(collector, &after, true);
	assert_int_equal(after.thread_ns, 0);
	/* Of lost threads, those that no step had seen have not vanished. */
	assert_in_range(folding__quality(collector__folding(collector)).vanished, 1,
			ledger__lost(collector__ledger(collector), LOST_RING_FULL));
	collector__free(collector);
}

static long anon_kb(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %ld", &kb);
	fclose(file);
	return kb;
}

static void the_time_of_thousands_of_threads_is_conserved(void **state)
{
	const char *wanted = getenv("GAPLESS_TEST_THREADS");
	long count = wanted ? strtol(wanted, NULL, 10) : 5000, before_kb;
	uint64_t opening_ns, opened_ns, before_ns, threads = (uint64_t)count + 1;
	struct collected sums = { .group = "fold-crowd" };
	pid_t pid = start_crowd(count);
	struct collector *collector;

	opening_ns = clock__now_ns();
	collector = collected__open(false);
	opened_ns = clock__now_ns();
	before_kb = anon_kb();
	before_ns = clock__now_ns();
	collected__step(collector, &sums, true);
	print_message("# %ld threads: %" PRIu64 " ms for a whole step, %ld bytes for each\n", count,
		      (clock__now_ns() - before_ns) / MS, (anon_kb() - before_kb) * 1024 / count);
	collected__sleep_ms(200);
	before_ns = clock__now_ns();
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_in_range(sums.thread_ns, threads * (before_ns - opened_ns),
			threads * (clock__now_ns() - opening_ns));
	/* Nothing else happened to them. */
	assert_int_equal(sums.ns[SLOT_WAIT_PIPE], sums.thread_ns);
	end_crowd(pid);
	collector__free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First, because it measures the memory that is new. */
		cmocka_unit_test(the_time_of_thousands_of_threads_is_conserved),
		cmocka_unit_test(a_step_that_fails_is_made_up_for_by_the_next_one),
		cmocka_unit_test(a_thread_whose_last_record_was_lost_does_not_live_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
