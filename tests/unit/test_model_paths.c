/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of paths in the model. */
#include "reported.h"

#include <errno.h>

#include "model/model.h"

static void add(struct recording *recording, struct recording_failed_path row)
{
	assert_int_equal(recording__add_failed_path(recording, &row), 0);
}

static void write_paths(void)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__thread(recording, SAMPLE_LOGGER, 1, "logger", 0);
	add(recording, (struct recording_failed_path) { SAMPLE_MAIN, 4, ENOENT, "/a/*", 7, 3 });
	add(recording, (struct recording_failed_path) { SAMPLE_LOGGER, 4, 0, "/var/log", 9, 1 });
	add(recording, (struct recording_failed_path) { 0, 4, ENOENT, "other", 2, 2 });
	add(recording, (struct recording_failed_path) { SAMPLE_MAIN, 4, ENOENT, "/b", -5, -1 });
	sample__finish(recording);
}

static void the_most_frequent_come_first(void **state)
{
	struct model model;

	write_paths();
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), 0);
	assert_int_equal(model.path_count, 4);
	assert_string_equal(model.paths[0].pattern, "/var/log");
	assert_int_equal(model.paths[0].error, 0);
	assert_int_equal(model.paths[0].thread->id, SAMPLE_LOGGER);
	assert_string_equal(model.paths[1].pattern, "/a/*");
	assert_int_equal(model.paths[1].count, 7);
	assert_int_equal(model.paths[1].paths, 3);
	assert_int_equal(model.paths[1].error, ENOENT);
	assert_null(model.paths[2].thread);
	assert_int_equal(model.paths[3].count, 0); /* no recorder writes such a row */
	assert_int_equal(model.paths[3].paths, 0);
	model__release(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_most_frequent_come_first, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
