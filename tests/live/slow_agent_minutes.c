/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Minutes that nobody has seen, by the real clock: this takes up to two of them. */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "live.h"
#include "served.h"
#include "spooled.h"

/* Nobody listens there. */
#define STORE   "store.url: http://127.0.0.1:9\n"
#define RUNNING "gapless_thread_seconds_total{state=\"run\""

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

/* Nanoseconds of the current minute that have passed. */
static uint64_t passed_ns(void)
{
	return clock__read_ns(CLOCK_REALTIME) % MINUTE_NS;
}

static const char *spool(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/state/spool", served__folder());
	return path;
}

static uint64_t unseen_in(uint64_t minute_s)
{
	struct spooled quality = spooled__read(spool(), "quality");
	uint64_t ns = 0;

	for (size_t i = 0; i < quality.rows; i++)
		if (!strcmp(spooled__get(&quality, i, "name")->text, "unseen_ns") &&
		    spooled__get(&quality, i, "bucket")->number == minute_s)
			ns += spooled__get(&quality, i, "value")->number;
	spooled__release(&quality);
	return ns;
}

static void minutes_that_a_dead_worker_did_not_hand_over_are_unseen(void **state)
{
	static const char unseen[] = "\ngapless_agent_lost_total{what=\"unseen_ns\"} ";
	uint64_t minute_s, ended_ns, total_ns;
	pid_t agent;

	served__configure(STORE);
	/* It must have read accounts in the minute in which it dies. */
	while (passed_ns() > 45 * SECOND_NS)
		served__sleep_ms(100);
	agent = served__start();
	served__wait_for("/metrics", RUNNING);
	while (passed_ns() < 59 * SECOND_NS)
		served__sleep_ms(100);
	minute_s = clock__read_ns(CLOCK_REALTIME) / MINUTE_NS * 60;
	kill(agent, SIGSTOP);
	kill(served__worker(agent), SIGKILL);
	while (passed_ns() > 30 * SECOND_NS)
		served__sleep_ms(100);
	kill(agent, SIGCONT);
	served__wait_for_log("starting another one");
	total_ns = served__number(served__wait_for("/metrics", unseen), unseen);
	assert_true(total_ns > MINUTE_NS && total_ns < MINUTE_NS + 30 * SECOND_NS);
	ended_ns = passed_ns();
	served__stop(agent);
	/* Not to the nanosecond: the workers read the clock at different times. */
	assert_in_range(unseen_in(minute_s), MINUTE_NS - SECOND_NS / 10, MINUTE_NS);
	assert_int_equal(unseen_in(minute_s - 60), 0);
	/* The begin of the next minute, and what was left of it at the end. */
	assert_true(unseen_in(minute_s + 60) >
		    MINUTE_NS - ended_ns - SECOND_NS + total_ns - MINUTE_NS - SECOND_NS);
	assert_true(unseen_in(minute_s + 60) < MINUTE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minutes_that_a_dead_worker_did_not_hand_over_are_unseen),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
