/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goroutines: what the report makes of what readings found. */
#include "making.h"
#include "recording/fiber_rows.h"

enum { WAITS = 1, RUNS, LOCK = 7 };

static void add(struct making *making, int64_t fiber, int64_t state, int64_t object,
		const char *names, int64_t ns)
{
	const struct recording_fiber_time time = {
		.begin_ns = SAMPLE_START_NS,
		.end_ns = SAMPLE_START_NS + 2 * SECOND,
		.process = 1,
		.fiber = fiber,
		.state = state,
		.object = object,
		.stack = names ? stack_of(making, names) : 0,
		.ns = ns,
		.readings = 10,
		.variance = 1e16, /* one interval of 100 ms */
	};

	assert_int_equal(fiber_rows__add_time(making->recording, &time), 0);
}

static void start(struct making *making, int64_t id, const char *function)
{
	const struct recording_fiber fiber = { .process = 1,
					       .id = id,
					       .start = stack_of(making, function) };

	assert_int_equal(fiber_rows__put(making->recording, &fiber), 0);
}

/* Two goroutines want a lock, the second one also runs; one is the runtime's. */
static void make_of(int64_t times, int64_t run_ns)
{
	struct making making = begin();
	struct recording *recording = making.recording;

	add_thread(&making, 1, "app", run_ns, "main.worker;main.update;main.count");
	start(&making, 5, "main.worker");
	start(&making, 6, "main.worker");
	start(&making, 7, "runtime.bgsweep");
	assert_int_equal(fiber_rows__add_state(
				 recording, &(struct recording_fiber_state) { WAITS, "waiting",
									      "sync.Mutex.Lock" }),
			 0);
	assert_int_equal(
		fiber_rows__add_state(recording,
				      &(struct recording_fiber_state) { RUNS, "running", NULL }),
		0);
	assert_int_equal(recording__put_object(
				 recording, &(struct recording_object) { LOCK, "semaphore",
									 "main.stats+0x4 in app" }),
			 0);
	add(&making, 5, WAITS, LOCK,
	    "main.worker;main.update;sync.(*Mutex).Lock;runtime.semacquire1;runtime.gopark",
	    times * 2 * SECOND);
	add(&making, 6, WAITS, LOCK,
	    "main.worker;main.update;sync.(*Mutex).Lock;runtime.semacquire1;runtime.gopark",
	    times * SECOND);
	add(&making, 6, RUNS, 0, NULL, SECOND);
	add(&making, 7, WAITS, 0, "runtime.bgsweep;runtime.gopark", 2 * SECOND);
	finish(&making);
}

static void make(void)
{
	make_of(1, SECOND);
}

static void waits_are_shown_by_start_reason_object_and_the_function_outside_of_the_runtime(
	void **state)
{
	make();
	text_has(
		&(struct report_options) { .width = 200 },
		"  main.worker                              2         -         -         -    3.00 s");
	text_has(&(struct report_options) { .width = 200 },
		 "        3.00 s    ±450 ms  sync.Mutex.Lock, main.stats+0x4 in app: main.worker → "
		 "main.update → sync.(*Mutex).Lock\n");
	text_has(&(struct report_options) { .width = 200 }, "(of the runtime)");
	text_lacks(&(struct report_options) { .width = 200 }, "runtime.bgsweep");
}

static void json_has_all_groups_those_of_the_runtime_last(void **state)
{
	json_t *fibers, *group, *wait;
	json_t *whole;

	make();
	whole = report((struct report_options) {});
	fibers = json_object_get(whole, "fibers");
	assert_int_equal(json_array_size(fibers), 2);
	group = json_array_get(fibers, 0);
	assert_string_equal(json_string_value(json_object_get(group, "start")), "main.worker");
	assert_int_equal(json_integer_value(json_object_get(group, "fibers")), 2);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(group, "states_ns"), "running")),
		SECOND);
	wait = json_array_get(json_object_get(group, "waits"), 0);
	assert_int_equal(json_integer_value(json_object_get(wait, "ns")), 3 * SECOND);
	assert_int_equal(json_integer_value(json_object_get(wait, "fibers")), 2);
	assert_int_equal(json_array_size(json_object_get(wait, "stack")), 3);
	group = json_array_get(fibers, 1);
	assert_true(json_is_true(json_object_get(group, "of_runtime")));
	json_decref(whole);
}

static void a_cut_has_its_part(void **state)
{
	json_t *whole;

	make();
	whole = report((struct report_options) { .model.scope = { .to = { .ns = SECOND } } });
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_array_get(json_object_get(whole, "fibers"), 0),
					"states_ns"),
			"waiting")),
		3 * SECOND / 2);
	json_decref(whole);
}

static void change(struct making *making, int64_t fiber, int64_t state, int64_t ns, int64_t changes)
{
	const struct recording_fiber_exact exact = {
		.begin_ns = SAMPLE_START_NS,
		.end_ns = SAMPLE_START_NS + 2 * SECOND,
		.process = 1,
		.fiber = fiber,
		.state = state,
		.ns = ns,
		.changes = changes,
	};

	assert_int_equal(fiber_rows__add_exact(making->recording, &exact), 0);
}

/* Two goroutines, of which one was never read; the second row of it is added to the first. */
static void make_exact(void)
{
	struct making making = begin();
	struct recording *recording = making.recording;

	add_thread(&making, 1, "app", SECOND, "main.worker;main.update");
	start(&making, 5, "main.worker");
	start(&making, 8, "main.worker");
	assert_int_equal(
		fiber_rows__add_state(
			recording, &(struct recording_fiber_state) { WAITS, "waiting", "sleep" }),
		0);
	assert_int_equal(
		fiber_rows__add_state(recording,
				      &(struct recording_fiber_state) { RUNS, "running", NULL }),
		0);
	add(&making, 5, WAITS, 0, "main.worker;time.Sleep", 2 * SECOND);
	change(&making, 5, WAITS, SECOND, 40);
	change(&making, 8, WAITS, SECOND / 4, 1);
	change(&making, 8, WAITS, SECOND / 4, 1);
	change(&making, 5, RUNS, SECOND / 2, 40);
	finish(&making);
}

static void every_change_is_shown_beside_what_was_sampled(void **state)
{
	make_exact();
	text_has(&wide, "goroutines (sampled; exact where it says so; by the function");
	text_has(
		&wide,
		"  main.worker                              2         -         -         -"
		"    2.00 s\n"
		"    exact, of 82 changes                        500 ms         -         -    1.50 s\n");
	text_has(&wide, "exact times are Go's own: running includes waiting for a CPU\n");
}

static void json_has_every_change_by_reason(void **state)
{
	json_t *whole, *exact, *first;

	make_exact();
	whole = report((struct report_options) { .model.scope = { .to = { .ns = SECOND } } });
	exact = json_object_get(json_array_get(json_object_get(whole, "fibers"), 0), "exact");
	assert_int_equal(json_array_size(exact), 2);
	first = json_array_get(exact, 0);
	assert_string_equal(json_string_value(json_object_get(first, "state")), "waiting");
	assert_string_equal(json_string_value(json_object_get(first, "reason")), "sleep");
	/* Half of it is in the cut. */
	assert_int_equal(json_integer_value(json_object_get(first, "ns")), SECOND * 3 / 4);
	assert_int_equal(json_integer_value(json_object_get(first, "changes")), 21);
	assert_true(json_is_null(json_object_get(json_array_get(exact, 1), "reason")));
	json_decref(whole);
}

static void a_wait_for_a_mutex_is_a_finding_and_names_no_holder(void **state)
{
	make_of(10, 3 * SECOND);
	expect("app: goroutines waited 30.0 s ±4.50 s (1.0 at a time) ", true);
	expect("for the sync.Mutex main.stats in main.update. Goroutines that did not wait ran for "
	       "3.00 s in main.update, 100 % of it in main.count; Go does not tell who holds a lock.",
	       true);
}

static void waits_for_channels_are_no_finding(void **state)
{
	struct making making = begin();

	add_thread(&making, 1, "app", SECOND, "main.worker;main.update;main.count");
	start(&making, 5, "main.worker");
	assert_int_equal(fiber_rows__add_state(making.recording,
					       &(struct recording_fiber_state) { WAITS, "waiting",
										 "chan receive" }),
			 0);
	add(&making, 5, WAITS, 0, "main.worker;main.update;runtime.chanrecv1;runtime.gopark",
	    2 * SECOND);
	finish(&making);
	expect("goroutines waited", false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(waits_are_shown_by_start_reason_object_and_the_function_outside_of_the_runtime),
		TEST(json_has_all_groups_those_of_the_runtime_last),
		TEST(a_cut_has_its_part),
		TEST(every_change_is_shown_beside_what_was_sampled),
		TEST(json_has_every_change_by_reason),
		TEST(a_wait_for_a_mutex_is_a_finding_and_names_no_holder),
		TEST(waits_for_channels_are_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
