/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless doctor --self-test: a recording of work with known answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SELF_TEST_CALLS    1000
#define SELF_TEST_SLEEPS   20
#define SELF_TEST_SLEEP_NS INT64_C(20000000)
#define SELF_TEST_LOCKS    4
#define SELF_TEST_LOCK_NS  INT64_C(50000000)
#define SELF_TEST_MESSAGES 200
#define SELF_TEST_READS    100
#define SELF_TEST_SPIN_NS  INT64_C(200000000)
#define SELF_TEST_SLEEPER  "self-sleeper"
#define SELF_TEST_WAITER   "self-waiter"
#define SELF_TEST_HOLDER   "self-holder"
#define SELF_TEST_SPINNER  "self-spinner"
#define SELF_TEST_TALKER   "self-talker"
#define SELF_TEST_LISTENER "self-listener"

/* What the work measured itself, with CLOCK_MONOTONIC around its calls. */
struct self_test_facts {
	int64_t sleep_ns;  /* sum of all sleeps */
	int64_t lock_ns;   /* sum of the waits for the lock */
	int64_t listen_ns; /* in read() of the pipe */
	int64_t spin_ns;   /* elapsed time of the spinning */
	int64_t cpu_ns;    /* CPU time of the spinning, as the kernel counts it */
	bool done;
};

/*
 * Starts a process that does the work after a byte is written to *ret_gate. *ret_facts is shared
 * memory, complete when the process has ended; self_test_work__release() frees it. 0 or -errno.
 */
int self_test_work__start(pid_t *ret_pid, int *ret_gate, struct self_test_facts **ret_facts);
void self_test_work__release(struct self_test_facts *old);

/*
 * Records the work, checks the results, prints them. Returns the exit status: 0, or 1 if a check
 * failed.
 */
int self_test__run(bool json);
