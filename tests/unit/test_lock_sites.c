/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a program asks for a lock, from samples of its waits, and how many wait for it over time.
 */
#include "making.h"

#define LOCK 7

static const struct report_options as_json = { .json = true };

/* A signal that counted 102 waits for a lock, 7 s in all. */
static void add_signal(struct recording *recording)
{
	static const char *const measures[][2] = { { "wait", "ns" }, { "waiters", "threads" } };
	const struct recording_series series = { .id = 1,
						 .signal = 1,
						 .thread = 1,
						 .object = LOCK,
						 .place = "lock 1",
						 .operation = "mutex" };
	int err = recording__put_object(recording,
					&(struct recording_object) { LOCK, "futex", "the_lock" });

	err |= recording__add_signal(
		recording, &(struct recording_signal) { 1, "locks", "", "waits", "locks" });
	for (int i = 0; i < 2; i++)
		err |= recording__add_measure(recording, 1, i, measures[i][0], measures[i][1]);
	err |= recording__add_series(recording, &series);
	err |= recording__add_sum(recording, &(struct recording_sum) { .series = 1,
								       .from = 1,
								       .to = 3,
								       .count = 102,
								       .sum = { 7 * SECOND, 200 },
								       .max = { 3 * SECOND, 9 } });
	assert_int_equal(err, 0);
}

static void add_waiters(struct recording *recording, int bucket, int64_t from, int64_t to)
{
	assert_int_equal(recording__add_distributed(recording, 1, bucket, from, to, 3), 0);
}

static void write_all(void)
{
	struct making making = begin();
	struct recording_sample wait = { .thread = 1, .state = SAMPLE_LOCK, .object = LOCK };
	const struct recording_distribution waiters = {
		.id = 1, .signal = 1, .measure = 1, .place = "lock 1", .operation = "mutex"
	};

	add_thread(&making, 1, "app", SECOND, "main;loop;handle");
	add_waits(&making, wait, "main;loop;parse_message;malloc_wrapper;pthread_mutex_lock", 2,
		  6 * SECOND);
	/* Each of these stands for two waits of 10 ms. */
	wait.stack = stack_of(&making, "main;loop;drop_message;pthread_mutex_lock");
	wait.count = 1;
	wait.wait_ns = 10 * MS;
	wait.weight_ns = wait.period_ns = 20 * MS;
	wait.ended = "event";
	wait.evidence = "none";
	for (int i = 0; i < 50; i++) {
		wait.time_ns = making.now_ns += 20 * MS;
		assert_int_equal(recording__add_sample(making.recording, &wait), 0);
	}
	/* Still open, so not in the signal. */
	wait.ended = "open";
	wait.wait_ns = wait.weight_ns = 5 * SECOND;
	wait.time_ns += 5 * SECOND;
	assert_int_equal(recording__add_sample(making.recording, &wait), 0);
	add_signal(making.recording);
	assert_int_equal(recording__add_distribution(making.recording, &waiters), 0);
	add_waiters(making.recording, 1, 1, 1);
	add_waiters(making.recording, 3, 1, 1);
	add_waiters(making.recording, 8, 2, 3);
	finish(&making);
}

static json_t *load_lock(json_t **ret_all)
{
	char *text = print(&as_json);
	json_t *signal;

	*ret_all = json_loads(text, 0, NULL);
	free(text);
	signal = json_array_get(json_object_get(*ret_all, "signals"), 0);
	return json_array_get(json_object_get(signal, "locks"), 0);
}

static int64_t number_of(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int64_t sum_of_buckets(json_t *site)
{
	json_t *bucket;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (json_object_get(site, "buckets"), i, bucket)
		sum += json_integer_value(json_array_get(bucket, 1));
	return sum;
}

static void the_time_of_a_lock_is_shared_out_among_its_call_sites(void **state)
{
	json_t *all, *sites, *site;

	write_all();
	sites = json_object_get(load_lock(&all), "call_sites");
	assert_int_equal(json_array_size(sites), 2);
	site = json_array_get(sites, 0);
	assert_string_equal(json_string_value(json_object_get(site, "function")), "malloc_wrapper");
	assert_int_equal(number_of(site, "ns"), 6 * SECOND);
	assert_int_equal(number_of(site, "error_ns"), 0);
	assert_int_equal(number_of(site, "count"), 2);
	assert_int_equal(number_of(site, "samples"), 2);
	assert_int_equal(sum_of_buckets(site), 2);
	site = json_array_get(sites, 1);
	assert_string_equal(json_string_value(json_object_get(site, "function")), "drop_message");
	assert_int_equal(number_of(site, "ns"), SECOND);
	/* 2 × √(50 × 20 ms × 10 ms) */
	assert_int_equal(number_of(site, "error_ns"), 200 * MS);
	assert_int_equal(number_of(site, "count"), 100);
	assert_int_equal(number_of(site, "samples"), 50);
	assert_int_equal(sum_of_buckets(site), 100);
	assert_in_range(number_of(site, "p50"), 9 * MS, 11 * MS);
	/* 50 samples are too few, although they stand for 100 waits. */
	assert_true(json_is_null(json_object_get(site, "p99")));
	json_decref(all);
}

static void text_has_the_call_sites_of_a_lock_that_has_several(void **state)
{
	write_all();
	text_has(&wide, "asked for: 86 % in malloc_wrapper, p50 3.09 s; 14 % ±2.9 in drop_message, "
			"p50 9.96 ms (of 52 samples)");
}

static void the_most_waiters_of_each_slice_are_known(void **state)
{
	json_t *all, *waiters, *slice;

	write_all();
	waiters = json_object_get(load_lock(&all), "waiters");
	assert_int_equal(json_array_size(waiters), 2);
	slice = json_array_get(waiters, 0);
	assert_int_equal(number_of(slice, "at_ns"), 0);
	assert_int_equal(number_of(slice, "length_ns"), 10 * SECOND);
	assert_int_equal(number_of(slice, "most"), 3);
	slice = json_array_get(waiters, 1);
	assert_int_equal(number_of(slice, "at_ns"), 10 * SECOND);
	assert_int_equal(number_of(slice, "length_ns"), 20 * SECOND);
	assert_int_equal(number_of(slice, "most"), 8);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_time_of_a_lock_is_shared_out_among_its_call_sites, set_up, tear_down),
		cmocka_unit_test_setup_teardown(text_has_the_call_sites_of_a_lock_that_has_several,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_most_waiters_of_each_slice_are_known, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
