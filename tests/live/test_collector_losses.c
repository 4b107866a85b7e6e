/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collecting half of the agent when something fails, is lost, or is very large. */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	life_ns = clock__now_ns() - before_ns;
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_int_equal(sums.count[SLOT_WAIT_SLEEP], 2);
	assert_in_range(sums.ns[SLOT_WAIT_SLEEP], 600 * MS, life_ns);
	assert_in_range(sums.thread_ns, 600 * MS, life_ns);
	collector__free(collector);
}

/* Together, their last records do not fit into the ring. */
#define CROWD 3000

static long threads_of(pid_t pid)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &info) ? 0 : (long)info.st_nlink - 2;
}

static int gate[2];

static void *wait_at_gate(void *context)
{
	char byte;

	(void)!read(gate[0], &byte, 1);
	return NULL;
}

static void wait_in_crowd(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&thread, &small, wait_at_gate, NULL))
			_exit(1);
	wait_at_gate(NULL);
	_exit(0);
}

static void a_thread_whose_last_record_was_lost_does_not_live_on(void **state)
{
	struct collector *collector;
	struct collected sums = { .group = "fold-crowd" }, after = sums;
	const struct bucket *step;
	pid_t pid;

	assert_int_equal(pipe(gate), 0);
	pid = collected__child("fold-crowd", wait_in_crowd);
	for (int i = 0; i < 300 && threads_of(pid) <= CROWD; i++)
		collected__sleep_ms(20);
	assert_int_equal(threads_of(pid), CROWD + 1);
	collector = collected__open(false);
	collected__step(collector, &sums, true);
	close(gate[1]);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
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
	close(gate[0]);
	collector__free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_that_fails_is_made_up_for_by_the_next_one),
		cmocka_unit_test(a_thread_whose_last_record_was_lost_does_not_live_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
