/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which waits for a lock are called a convoy, a long hold or a herd, and which are not. */
#include "reported.h"

#define THREADS 4
#define LOCK    7

static const struct report_options wide = { .width = 1000 };
static const struct report_options as_json = { .json = true };

/* Waits of each of the threads, and who holds the lock meanwhile. */
struct waits {
	const char *operation;
	int64_t count; /* of each thread */
	int64_t wait_ns, turn_ns;
	int64_t in_vain, wakings;
	const char *evidence;
	bool by_waiters; /* another waiter holds it; otherwise thread 10, which never waits */
};

static void add_thread(struct recording *recording, int64_t id, const char *comm)
{
	sample__thread(recording, id, 1, comm, 0);
	sample__account(recording, id, SAMPLE_RUN_USER, 1, 3, 3 * SECOND, 1);
	sample__account(recording, id, SAMPLE_LOCK, 1, 3, 27 * SECOND, 1);
}

static void add_waits(struct recording *recording, int64_t thread, const struct waits *waits)
{
	const int64_t values[RECORDING_MEASURES] = { waits->wait_ns, 3, waits->turn_ns, 1, 0, 0 };
	struct recording_sum sum = { .series = thread, .from = 1, .to = 1, .count = waits->count };
	int64_t by = waits->by_waiters ? thread % THREADS + 1 : 10;

	assert_int_equal(
		recording__add_series(recording,
				      &(struct recording_series) { .id = thread,
								   .signal = 1,
								   .thread = thread,
								   .object = LOCK,
								   .place = "lock 1",
								   .operation = waits->operation }),
		0);
	for (int i = 0; i < RECORDING_MEASURES; i++) {
		sum.sum[i] = values[i] * waits->count;
		sum.max[i] = values[i];
	}
	sum.sum[4] = waits->in_vain;
	sum.sum[5] = waits->wakings;
	assert_int_equal(recording__add_sum(recording, &sum), 0);
	assert_int_equal(
		recording__add_wait(recording,
				    &(struct recording_wait) { .thread = thread,
							       .state = SAMPLE_LOCK,
							       .object = LOCK,
							       .by = by,
							       .evidence = waits->evidence,
							       .ended = "event",
							       .ns = waits->wait_ns * waits->count,
							       .count = waits->count }),
		0);
}

static void write(struct waits waits)
{
	static const char *const measures[][2] = {
		{ "wait", "ns" },      { "waiters", "threads" }, { "turn", "ns" },
		{ "handed", "waits" }, { "in_vain", "waits" },   { "wakings", "wakings" }
	};
	struct recording *recording = sample__begin(path);

	waits.operation = waits.operation ? waits.operation : "mutex";
	waits.evidence = waits.evidence ? waits.evidence : "handed";
	sample__process(recording, 1, "app");
	for (int64_t i = 1; i <= THREADS; i++)
		add_thread(recording, i, "worker");
	add_thread(recording, 10, "keeper");
	assert_int_equal(
		recording__put_object(recording,
				      &(struct recording_object) { LOCK, "futex", "the_lock" }),
		0);
	assert_int_equal(
		recording__add_signal(
			recording, &(struct recording_signal) { 1, "locks", "", "waits", "locks" }),
		0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(
			recording__add_measure(recording, 1, i, measures[i][0], measures[i][1]), 0);
	for (int64_t i = 1; i <= THREADS; i++)
		add_waits(recording, i, &waits);
	sample__finish(recording);
}

static void is_called(const char *word)
{
	static const char *const words[] = { "Convoy at", "Held long:", "Thundering herd at" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (word && !strcmp(word, words[i]))
			text_has(&wide, words[i]);
		else
			text_lacks(&wide, words[i]);
	}
}

static void again(struct waits waits)
{
	sample__remove(path);
	path = sample__path();
	write(waits);
}

/* 4 × 2,000 waits in 30 s: somebody waits for 24 s, 3 at once. */
static const struct waits convoy = {
	.count = 2000, .wait_ns = 9 * MS, .turn_ns = 3 * MS, .by_waiters = true
};

static void waiters_that_hand_a_lock_to_each_other_are_a_convoy(void **state)
{
	write(convoy);
	is_called("Convoy at");
	text_has(&wide, "Convoy at mutex the_lock: 4 threads (mostly threads worker) hand it to "
			"each other; somebody waited for it 80.0 % of the time, 3.0 at once on "
			"average (3 at most). Each turn keeps it from them for only 3.00 ms on "
			"average, but a wait takes 9.00 ms.");
	text_has(&wide, "mutex the_lock, threads worker: convoy");
	text_has(&wide, "who waits for whom");
}

static void what_lacks_a_condition_is_no_convoy(void **state)
{
	struct waits waits = convoy;

	waits.by_waiters = false; /* one that never waits holds it */
	write(waits);
	is_called(NULL);
	waits = convoy;
	waits.evidence = "waker"; /* nobody is known to hold it */
	again(waits);
	is_called(NULL);
	waits = convoy;
	waits.count = 1000; /* it is free most of the time */
	again(waits);
	is_called(NULL);
	waits = convoy;
	waits.wait_ns = 3 * MS; /* there is no queue */
	again(waits);
	is_called(NULL);
	waits = convoy;
	waits.operation = "futex"; /* a condition variable */
	again(waits);
	is_called(NULL);
	waits = convoy;
	waits.count = 4; /* too few */
	again(waits);
	is_called(NULL);
}

static void a_lock_is_held_long_if_its_turns_are_long(void **state)
{
	struct waits waits = {
		.count = 20, .wait_ns = 100 * MS, .turn_ns = 50 * MS, .evidence = "owner"
	};

	write(waits);
	is_called("Held long:");
	text_has(&wide,
		 "Held long: mutex the_lock was kept from its waiters for 50.0 ms at a time on "
		 "average, 50.0 ms at most (80 waits), 13.3 % of the time; waited for by 4 "
		 "threads (mostly threads worker).");
	waits.turn_ns = 9 * MS;
	waits.count = 200;
	again(waits);
	is_called(NULL);
	waits.turn_ns = 50 * MS;
	waits.count = 10; /* 2 s of 30 s */
	again(waits);
	is_called(NULL);
	waits.count = 20;
	waits.operation = "futex"; /* a pool that waits for work */
	again(waits);
	is_called(NULL);
}

static void one_of_many_that_are_woken_makes_a_herd(void **state)
{
	struct waits waits = { .operation = "futex",
			       .count = 1000,
			       .wait_ns = 5 * MS,
			       .turn_ns = MS,
			       .in_vain = 750,
			       .wakings = 250,
			       .evidence = "waker" };

	write(waits);
	is_called("Thundering herd at");
	text_has(&wide,
		 "Thundering herd at futex the_lock: 4 threads (mostly threads worker) were "
		 "woken 1,000 times, 4.0 at once on average; 3,000 of the 4,000 waits followed "
		 "a waking after which the thread used at most 50 µs of CPU time and waited "
		 "again.");
	waits.in_vain = 1000; /* a barrier, or tiny tasks for all: nobody does more */
	again(waits);
	is_called(NULL);
	waits.in_vain = 400; /* most find work */
	again(waits);
	is_called(NULL);
	waits.in_vain = 750;
	waits.wakings = 500; /* two at once */
	again(waits);
	is_called(NULL);
	waits.wakings = 2;
	again(waits);
	is_called(NULL);
}

static void json_has_the_numbers_of_each_lock(void **state)
{
	json_t *json, *signal, *lock;
	char *text;

	write(convoy);
	text = print(&as_json);
	json = json_loads(text, 0, NULL);
	free(text);
	signal = json_array_get(json_object_get(json, "signals"), 0);
	lock = json_array_get(json_object_get(signal, "locks"), 0);
	assert_string_equal(json_string_value(json_object_get(lock, "shape")), "convoy");
	assert_int_equal(json_integer_value(json_object_get(lock, "count")), 8000);
	assert_int_equal(json_integer_value(json_object_get(lock, "wait_ns")), 8000 * 9 * MS);
	assert_int_equal(json_integer_value(json_object_get(lock, "turn_ns")), 8000 * 3 * MS);
	assert_int_equal(json_integer_value(json_object_get(lock, "threads")), 4);
	assert_int_equal(json_integer_value(json_object_get(lock, "most_waiters")), 3);
	assert_int_equal(json_integer_value(json_object_get(lock, "held_ns")), 8000 * 9 * MS);
	assert_int_equal(json_integer_value(json_object_get(lock, "by_waiters_ns")), 8000 * 9 * MS);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waiters_that_hand_a_lock_to_each_other_are_a_convoy,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_lacks_a_condition_is_no_convoy, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_lock_is_held_long_if_its_turns_are_long, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_of_many_that_are_woken_makes_a_herd, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(json_has_the_numbers_of_each_lock, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
