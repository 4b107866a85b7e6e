/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resident memory: what /proc says, and what the report makes of it. */
#include "making.h"

#include <errno.h>

#include "record/process_memory.h"
#include "recording/memory_rows.h"

#define MB 1000000

static const char status[] =
	"Name:\tapp\nVmPeak:\t 9 kB\nVmRSS:\t 70 kB\nRssAnon:\t      40 kB\n"
	"RssFile:\t      20 kB\nRssShmem:\t      10 kB\nVmSwap:\t       5 kB\n";

static void the_four_kinds_are_read(void **state)
{
	struct recording_resident found = { .process = 3 };

	assert_int_equal(process_memory__parse(status, &found), 0);
	assert_int_equal(found.process, 3);
	assert_int_equal(found.anonymous, 40 * 1024);
	assert_int_equal(found.file, 20 * 1024);
	assert_int_equal(found.shared, 10 * 1024);
	assert_int_equal(found.swap, 5 * 1024);
}

static void a_text_that_lacks_one_leaves_the_output_alone(void **state)
{
	static const char *const texts[] = {
		"",
		"Name:\tkworker/0:1\n",
		"\nRssAnon:\t 1 kB\nRssFile:\t 1 kB\nRssShmem:\t 1 kB\nVmSwap:\t",
		"\nRssAnon:\t 1 kB\nRssFile:\t -1 kB\nRssShmem:\t 1 kB\nVmSwap:\t 1 kB\n",
		"\nRssAnon:\t 1 MB\nRssFile:\t 1 kB\nRssShmem:\t 1 kB\nVmSwap:\t 1 kB\n",
		"\nRssAnon:\t 99999999999999999999 kB\nRssFile:\t 1 kB\nRssShmem:\t 1 kB\nVmSwap:\t 1 kB\n",
	};
	struct recording_resident found = { .anonymous = 7 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(process_memory__parse(texts[i], &found), -ENOENT);
	assert_int_equal(found.anonymous, 7);
	assert_int_equal(found.swap, 0);
}

/* The process 1 grows from 10 to 40 MB and shrinks to 30 MB, at these seconds. */
static void make(void)
{
	static const int64_t anonymous[] = { 10, 40, 30 };
	struct making making = begin();

	add_thread(&making, 1, "app", 10 * SECOND, "main;find");
	for (int64_t i = 0; i < 3; i++)
		assert_int_equal(
			memory_rows__add_resident(making.recording,
						  &(struct recording_resident) {
							  .time_ns = SAMPLE_START_NS + i * SECOND,
							  .process = 1,
							  .anonymous = anonymous[i] * MB,
							  .file = 2 * MB,
							  .swap = 5 * MB }),
			0);
	finish(&making);
}

static void the_report_has_the_last_reading_the_peak_and_the_change(void **state)
{
	make();
	text_has(&(struct report_options) {}, "resident memory (read about once a second");
	text_has(&(struct report_options) {},
		 "   30.0 MB   2.00 MB         -   5.00 MB   42.0 MB  +20.0 MB");
}

static void json_has_every_reading(void **state)
{
	char *text;
	json_t *report, *process, *points;

	make();
	text = print(&(struct report_options) { .json = true });
	report = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(report);
	process = json_array_get(json_object_get(report, "resident"), 0);
	points = json_object_get(process, "points");
	assert_int_equal(json_integer_value(json_object_get(process, "readings")), 3);
	assert_int_equal(json_array_size(points), 3);
	assert_int_equal(
		json_integer_value(json_object_get(json_array_get(points, 1), "anonymous")),
		40 * MB);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(points, 1), "at_ns")),
			 SECOND);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(process, "peak"), "anonymous")),
		40 * MB);
	json_decref(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_four_kinds_are_read),
		cmocka_unit_test(a_text_that_lacks_one_leaves_the_output_alone),
		TEST(the_report_has_the_last_reading_the_peak_and_the_change),
		TEST(json_has_every_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
