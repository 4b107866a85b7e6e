/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why threads had no CPU: the limits of their cgroups, and who had it. */
#include "reported.h"

#include "model/model.h"

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_limit_that_held_a_process_back_most_applies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
