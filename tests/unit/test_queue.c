/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why threads had no CPU: the limits of their cgroups, and who had it. */
#include "reported.h"

#include <string.h>

#include "model/model.h"

static void expect(const char *words)
{
	char *text = print_as(&(struct report_options) { .width = 1000 });

	if (!strstr(text, words))
		fail_msg("no '%s' in:\n%s", words, text);
	free(text);
}

static void put_limit(struct recording *recording, int64_t process, const char *cgroup,
		      const char *kind)
{
	const struct recording_cgroup_limit limit = { process, cgroup, kind, "10 ms per 100 ms" };

	assert_int_equal(recording__put_cgroup_limit(recording, &limit), 0);
}

static void throttle(struct recording *recording, const char *cgroup, int64_t ns)
{
	assert_int_equal(recording__set_throttled(recording, "cpu", cgroup, ns), 0);
}

static void the_limit_that_held_a_process_back_most_applies(void **state)
{
	struct recording *recording = sample__begin(path);
	struct model model;

	for (int64_t process = 1; process <= 4; process++)
		sample__process(recording, process, "app");
	put_limit(recording, 1, "/a", "cpu");
	put_limit(recording, 1, "/a/inner", "cpu");
	throttle(recording, "/a", MS);
	throttle(recording, "/a/inner", SECOND);
	put_limit(recording, 2, "/b", "cpu");
	put_limit(recording, 2, "/b/inner", "cpu");
	throttle(recording, "/b", SECOND);
	throttle(recording, "/b/inner", 0);
	put_limit(recording, 3, "/c", "cpu");
	put_limit(recording, 3, "/c/gone", "cpu");
	throttle(recording, "/c", 0);
	put_limit(recording, 4, "/d", "io");
	put_limit(recording, 4, "/d/inner", "io");
	sample__finish(recording);
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), 0);
	assert_string_equal(model__limit(&model, 1, "cpu")->cgroup, "/a/inner");
	assert_string_equal(model__limit(&model, 2, "cpu")->cgroup, "/b");
	assert_string_equal(model__limit(&model, 3, "cpu")->cgroup, "/c/gone");
	assert_string_equal(model__limit(&model, 4, "io")->cgroup, "/d/inner");
	assert_null(model__limit(&model, 4, "cpu"));
	model__release(&model);
}

/*
 * Two busy threads lost 8 of 10 s without a CPU to the quota. Ten others, each too idle to count,
 * lost 3 s each to it.
 */
static void throttled_time_is_that_of_the_busy_threads(void **state)
{
	struct recording *recording = sample__begin(path);
	const struct recording_state throttled = { 30, "ready", "throttled", NULL };

	assert_int_equal(recording__add_state(recording, &throttled), 0);
	sample__process(recording, 1, "app");
	for (int64_t i = 1; i <= 12; i++) {
		bool is_busy = i <= 2;

		sample__thread(recording, i, 1, "worker", 0);
		if (is_busy) {
			sample__account(recording, i, SAMPLE_RUN_USER, 1, 3, 20 * SECOND, 1);
			sample__account(recording, i, SAMPLE_READY_WOKEN, 1, 3, 2 * SECOND, 1);
		} else {
			sample__account(recording, i, SAMPLE_POLL, 1, 3, 27 * SECOND, 1);
		}
		sample__account(recording, i, throttled.id, 1, 3, (is_busy ? 8 : 3) * SECOND, 1);
	}
	sample__finish(recording);
	expect("2 threads worker of app ran for 67 % of the time (40.0 s), and were ready without a CPU "
	       "for 33 % (20.0 s), 80 % of that throttled: the CPU quota of its cgroup /app was used "
	       "up.");
}

/* The longest of the occupants is one, but the threads of another group together had it longer. */
static void the_group_that_had_the_cpu_longest_is_named(void **state)
{
	static const struct {
		int64_t thread, ns;
	} occupants[] = { { 2, 4 * SECOND }, { 3, 3 * SECOND }, { 4, 3 * SECOND } };
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "victim", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 20 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_READY_WOKEN, 1, 3, 10 * SECOND, 1);
	for (size_t i = 0; i < sizeof(occupants) / sizeof(*occupants); i++) {
		sample__thread(recording, occupants[i].thread, 1, i ? "pair" : "single", 0);
		sample__account(recording, occupants[i].thread, SAMPLE_POLL, 1, 3, 30 * SECOND, 1);
		assert_int_equal(recording__add_occupant(recording, 3, 1, occupants[i].thread,
							 occupants[i].ns),
				 0);
	}
	sample__finish(recording);
	expect("was ready without a CPU for 33 % (10.0 s): pair of app had it for 60 % of that.");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_limit_that_held_a_process_back_most_applies),
		TEST(throttled_time_is_that_of_the_busy_threads),
		TEST(the_group_that_had_the_cpu_longest_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
