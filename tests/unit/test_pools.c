/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of threads that wait at a queue, and of a pool that is never done. */
#include "making.h"

#define WORKERS 3

/* Something was counted, so that the recording has the signal. */
static void add_signal(struct recording *recording)
{
	int err = recording__add_signal(
		recording, &(struct recording_signal) { 1, "locks", "", "waits", "locks" });

	err |= recording__add_measure(recording, 1, 0, "wait", "ns");
	err |= recording__add_series(
		recording, &(struct recording_series) {
				   .id = 1, .signal = 1, .thread = 1, .operation = "futex" });
	err |= recording__add_sum(recording, &(struct recording_sum) { .series = 1,
								       .from = 1,
								       .to = 3,
								       .count = 1,
								       .sum = { MS },
								       .max = { MS } });
	assert_int_equal(err, 0);
}

/* Workers run for a time, and wait the rest of 30 s for whoever wakes them. */
static void add_workers(struct making *making, int64_t run_ns, int64_t by)
{
	for (int64_t i = 1; i <= WORKERS; i++) {
		add_thread(making, i, "worker", run_ns, "start_thread;work;process");
		add_waits(making,
			  (struct recording_sample) {
				  .thread = i, .state = SAMPLE_LOCK_OPEN, .by = by },
			  "start_thread;work;take_item;pthread_cond_wait", 100,
			  30 * SECOND - run_ns);
	}
}

static void workers_wait_for_a_producer_that_is_held_up(void **state)
{
	struct making making = begin();

	add_thread(&making, 9, "producer", SECOND, "start_thread;produce");
	add_waits(&making, (struct recording_sample) { .thread = 9, .state = SAMPLE_DISK },
		  "start_thread;produce;read_item;read", 100, 28 * SECOND);
	add_workers(&making, 3 * SECOND, 9);
	add_signal(making.recording);
	finish(&making);
	expect("Queue: 3 threads worker of app waited 90 % of the time in take_item until woken by "
	       "producer of app (tid 1009); producer of app was busy 9",
	       true);
	expect("held up 93 %) and sets the pace (inferred).", true);
}

static void a_thread_waits_for_a_pool_that_is_busy(void **state)
{
	struct making making = begin();

	add_thread(&making, 9, "feeder", SECOND, "start_thread;feed");
	add_waits(&making,
		  (struct recording_sample) { .thread = 9, .state = SAMPLE_LOCK_OPEN, .by = 1 },
		  "start_thread;feed;put_item;pthread_cond_wait", 100, 29 * SECOND);
	for (int64_t i = 1; i <= WORKERS; i++)
		add_thread(&making, i, "worker", 30 * SECOND, "start_thread;work;process");
	add_signal(making.recording);
	finish(&making);
	expect("Queue: feeder of app (tid 1009) waited 97 % of the time in put_item until woken by 3 "
	       "threads worker of app; worker of app were busy 100 % of the time (running 100 %, "
	       "without a CPU 0 %, held up 0 %) and set the pace (inferred).",
	       true);
}

static void a_pool_that_hardly_ever_waits_is_full(void **state)
{
	struct making making = begin();

	add_thread(&making, 9, "arrivals", 3 * SECOND, "start_thread;receive");
	add_workers(&making, 29500 * MS, 9);
	add_signal(making.recording);
	finish(&making);
	expect("Queue: all of 3 threads worker of app were busy 98 % of the time", true);
	expect("and waited for work only 1.7 % of it in take_item; what arrivals of app gives them "
	       "meanwhile has to queue (inferred).",
	       true);
}

static void what_lacks_evidence_is_not_said(void **state)
{
	struct making making = begin();

	/* The producer is idle itself: there is no work. */
	add_thread(&making, 9, "producer", SECOND, "start_thread;produce");
	add_workers(&making, 3 * SECOND, 9);
	add_signal(making.recording);
	finish(&making);
	expect("Queue:", false);
	sample__remove(path);
	path = sample__path();
	/* Whoever ends the waits is not known. */
	making = begin();
	add_thread(&making, 9, "producer", 30 * SECOND, "start_thread;produce");
	add_workers(&making, 3 * SECOND, SAMPLE_INTERRUPT);
	add_signal(making.recording);
	finish(&making);
	expect("Queue:", false);
	sample__remove(path);
	path = sample__path();
	/* Without the signal. */
	making = begin();
	add_thread(&making, 9, "producer", 30 * SECOND, "start_thread;produce");
	add_workers(&making, 3 * SECOND, 9);
	finish(&making);
	expect("Queue:", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(workers_wait_for_a_producer_that_is_held_up, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_thread_waits_for_a_pool_that_is_busy, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_pool_that_hardly_ever_waits_is_full, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_lacks_evidence_is_not_said, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
