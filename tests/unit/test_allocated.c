/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads allocate: what the report makes of readings. */
#include "making.h"
#include "recording/memory_rows.h"

#define MB 1000000

static void add(struct making *making, int64_t thread, int64_t begin_ns, int64_t end_ns,
		int64_t bytes)
{
	assert_int_equal(memory_rows__add_allocated(making->recording,
						    &(struct recording_allocated) {
							    .begin_ns = SAMPLE_START_NS + begin_ns,
							    .end_ns = SAMPLE_START_NS + end_ns,
							    .thread = thread,
							    .bytes = bytes }),
			 0);
}

/* Of 30 s: one thread is known from its beginning on, one from the second 5 on. */
static void make(void)
{
	struct making making = begin();

	add_thread(&making, 1, "whole", 10 * SECOND, "main;find");
	add_thread(&making, 2, "half", 10 * SECOND, "main;find");
	add_thread(&making, 3, "none", 10 * SECOND, "main;find");
	add(&making, 1, 0, SECOND, 100 * MB);
	add(&making, 1, 8 * SECOND, 10 * SECOND, 300 * MB);
	add(&making, 2, 5 * SECOND, 5 * SECOND, 0);
	add(&making, 2, 5 * SECOND, 6 * SECOND, 50 * MB);
	add(&making, 3, 0, 0, 0);
	finish(&making);
}

static void the_rate_is_of_the_time_in_which_a_thread_is_known(void **state)
{
	make();
	text_has(&(struct report_options) {}, "allocated by threads (by the count of");
	text_has(&(struct report_options) {}, "        400 MB       13.3 MB");
	text_has(&(struct report_options) {}, "       50.0 MB       2.00 MB");
}

static void assert_bytes(const struct report_options *options, size_t count, int64_t bytes)
{
	char *text = print(options);
	json_t *report = json_loads(text, 0, NULL), *list;

	free(text);
	assert_non_null(report);
	list = json_object_get(report, "allocated");
	assert_int_equal(json_array_size(list), count);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "bytes")),
			 bytes);
	json_decref(report);
}

static void a_thread_that_allocated_nothing_is_not_there(void **state)
{
	make();
	assert_bytes(&(struct report_options) { .json = true }, 2, 400 * MB);
}

static void a_cut_has_its_part_of_a_reading(void **state)
{
	struct report_options options = { .json = true };

	make();
	options.model.scope.from.ns = 9 * SECOND;
	options.model.scope.to.ns = 10 * SECOND;
	assert_bytes(&options, 1, 150 * MB);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_rate_is_of_the_time_in_which_a_thread_is_known),
		TEST(a_thread_that_allocated_nothing_is_not_there),
		TEST(a_cut_has_its_part_of_a_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
