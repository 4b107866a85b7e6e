/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stretch that differs: recordings of two workers in slices of half a second, in which the
 * share of a wait for a lock follows a known course.
 */
#include "../harness.h"

#include <math.h>
#include <string.h>

#include "findings/change.h"
#include "sample.h"

#define SLICE_NS (SECOND / 2)

static char *path;

static int set_up(void **state)
{
	path = sample__path();
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/* The share of the wait in a slice, of `count`. */
typedef double course(int slice, int count);

/* Between -1 and 1, the same in each run. */
static double noise(int slice)
{
	return fmod((double)slice * 0.6180339887, 1) * 2 - 1;
}

static double steady(int slice, int count)
{
	return 0.3 + 0.1 * noise(slice);
}

static double step(int slice, int count)
{
	return (slice < count / 2 ? 0.1 : 0.6) + 0.05 * noise(slice);
}

/* From a third to half of the recording. */
static double incident(int slice, int count)
{
	return (slice < count / 3 || slice >= count / 2 ? 0.05 : 0.7) + 0.05 * noise(slice);
}

static double ramp(int slice, int count)
{
	return 0.8 * slice / count;
}

static double by_turns(int slice, int count)
{
	return slice / 4 % 2 ? 0.8 : 0.1;
}

/* The first second is unlike the rest, as the start of a program is. */
static double start(int slice, int count)
{
	return slice < 2 ? 0.9 : 0.2 + 0.05 * noise(slice);
}

static void write_course(course *share, int slices)
{
	static const struct recording_state states[] = {
		{ SAMPLE_RUN_USER, "run", "user", NULL },
		{ SAMPLE_LOCK, "wait", "lock", "delaying" },
	};
	struct recording *recording = NULL;
	int err = recording__create(path, true, &recording);

	assert_int_equal(err, 0);
	err |= recording__set_number(recording, "start_ns", SAMPLE_START_NS);
	err |= recording__set_number(recording, "end_ns", SAMPLE_START_NS + slices * SLICE_NS);
	err |= recording__set_number(recording, "start_unix_ns", 1700000000 * SECOND);
	err |= recording__set_number(recording, "zone_s", 3600);
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		err |= recording__add_state(recording, &states[i]);
	sample__process(recording, 1, "app");
	for (int thread = 1; thread <= 2; thread++) {
		const struct recording_thread row = {
			.id = thread,
			.process = 1,
			.tid = 1000 + thread,
			.comm = thread == 1 ? "worker-1" : "worker-2",
			.first_ns = SAMPLE_START_NS,
			.last_ns = SAMPLE_START_NS + slices * SLICE_NS,
		};

		err |= recording__put_thread(recording, &row);
	}
	for (int i = 0; i < slices; i++) {
		int64_t wait_ns = (int64_t)(share(i, slices) * (double)SLICE_NS);

		err |= recording__add_slice(recording, i + 1, SAMPLE_START_NS + i * SLICE_NS,
					    SAMPLE_START_NS + (i + 1) * SLICE_NS);
		for (int thread = 1; thread <= 2; thread++) {
			sample__account(recording, thread, SAMPLE_LOCK, i + 1, i + 1, wait_ns, 1);
			sample__account(recording, thread, SAMPLE_RUN_USER, i + 1, i + 1,
					SLICE_NS - wait_ns, 1);
		}
	}
	assert_int_equal(err, 0);
	sample__finish(recording);
}

static bool find(course *share, int slices, struct change *ret)
{
	struct model model = {};
	bool found;

	write_course(share, slices);
	assert_int_equal(model__load(path, &(struct model_options) { .history = true }, &model), 0);
	found = change__find(&model, ret);
	/* These belong to the model. */
	ret->group = NULL;
	ret->state = NULL;
	model__release(&model);
	return found;
}

static void nothing_is_said_of_what_did_not_change(void **state)
{
	struct change change;

	assert_false(find(steady, 120, &change));
	assert_false(find(ramp, 120, &change));
	assert_false(find(by_turns, 120, &change));
	assert_false(find(start, 120, &change));
}

static void a_step_is_found_where_it_is(void **state)
{
	struct change change;

	assert_true(find(step, 120, &change));
	assert_true(llabs(change.from_ns - 30 * SECOND) <= SLICE_NS);
	assert_int_equal(change.to_ns, 60 * SECOND);
	assert_true(change.lasts);
	assert_true(fabs(change.before - 0.1) < 0.03);
	assert_true(fabs(change.after - 0.6) < 0.03);
	assert_string_equal(change.text,
			    "From 23:13:50 (30.0 s) on, threads worker-* of app spent 60 % of "
			    "their time waiting for a lock; before, 10 %.");
	assert_non_null(strstr(change.command, " --base 0s-30s --new 30s-60s"));
}

static void a_stretch_that_ends_is_found_with_its_end(void **state)
{
	struct change change;

	assert_true(find(incident, 120, &change));
	assert_true(llabs(change.from_ns - 20 * SECOND) <= SLICE_NS);
	assert_true(llabs(change.to_ns - 30 * SECOND) <= SLICE_NS);
	assert_false(change.lasts);
	assert_non_null(strstr(change.text, "From 23:13:40 to 23:13:50 (20.0 s to 30.0 s), "));
}

static void a_short_recording_has_no_history(void **state)
{
	struct change change;

	assert_false(find(step, 18, &change));
	assert_true(find(step, 24, &change));
}

/* More slices than bins. */
static void a_long_recording_is_searched_too(void **state)
{
	struct change change;

	assert_true(find(step, 1000, &change));
	assert_true(llabs(change.from_ns - 250 * SECOND) <= 500 * SECOND / HISTORY_MOST_BINS + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_said_of_what_did_not_change, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_step_is_found_where_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_stretch_that_ends_is_found_with_its_end, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_short_recording_has_no_history, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_long_recording_is_searched_too, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
