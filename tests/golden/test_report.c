/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One recording, every format, to the byte. GAPLESS_GOLDEN_UPDATE=1 rewrites what is expected. */
#include "../harness.h"

#include <stdio.h>

#include "golden.h"
#include "report/report.h"
#include "sample.h"

static char *path, *stacks_path, *signals_path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write(path);
	stacks_path = sample__path();
	sample__write_with_stacks(stacks_path);
	signals_path = sample__path();
	sample__write_with_signals(signals_path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	sample__remove(stacks_path);
	sample__remove(signals_path);
	return 0;
}

static void prints_of(const char *recording, const char *name, const struct report_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report__print(recording, options, out), 0);
	fclose(out);
	golden__expect(name, text);
	free(text);
}

static void prints(const char *name, const struct report_options *options)
{
	prints_of(path, name, options);
}

static void text_at_80_columns(void **state)
{
	prints("report-80.txt", &(struct report_options) { .full = true, .width = 80 });
}

static void text_at_120_columns_by_thread(void **state)
{
	prints("report-120.txt", &(struct report_options) {
					 .full = true, .width = 120, .model.by = MODEL_BY_THREAD });
}

static void text_of_a_cut(void **state)
{
	prints("report-cut.txt", &(struct report_options) { .full = true,
							    .width = 80,
							    .model.scope.from.ns = 5 * SECOND,
							    .model.scope.to.ns = 25 * SECOND,
							    .model.by = MODEL_BY_COMM });
}

static void json(void **state)
{
	prints("report.json", &(struct report_options) { .json = true });
}

static void json_of_a_cut_by_process(void **state)
{
	prints("report-cut.json", &(struct report_options) { .json = true,
							     .model.scope.from.ns = 5 * SECOND,
							     .model.scope.to.ns = 25 * SECOND,
							     .model.by = MODEL_BY_PROCESS });
}

static void text_with_stacks_at_80_columns(void **state)
{
	prints_of(stacks_path, "report-stacks-80.txt",
		  &(struct report_options) { .full = true, .width = 80 });
}

static void text_with_stacks_at_120_columns(void **state)
{
	prints_of(stacks_path, "report-stacks-120.txt",
		  &(struct report_options) { .full = true, .width = 120, .top = 3 });
}

static void text_with_stacks_of_a_cut(void **state)
{
	prints_of(stacks_path, "report-stacks-cut.txt",
		  &(struct report_options) { .full = true,
					     .width = 100,
					     .model.scope.from.ns = 5 * SECOND,
					     .model.scope.to.ns = 25 * SECOND });
}

static void json_with_stacks(void **state)
{
	prints_of(stacks_path, "report-stacks.json", &(struct report_options) { .json = true });
}

static void text_with_signals_at_80_columns(void **state)
{
	prints_of(signals_path, "report-signals-80.txt",
		  &(struct report_options) { .full = true, .width = 80 });
}

static void text_with_signals_at_120_columns(void **state)
{
	prints_of(signals_path, "report-signals-120.txt",
		  &(struct report_options) { .full = true, .width = 120, .top = 8 });
}

static void text_with_signals_of_a_cut(void **state)
{
	prints_of(signals_path, "report-signals-cut.txt",
		  &(struct report_options) { .full = true,
					     .width = 80,
					     .model.scope.from.ns = 5 * SECOND,
					     .model.scope.to.ns = 25 * SECOND });
}

static void json_with_signals(void **state)
{
	prints_of(signals_path, "report-signals.json", &(struct report_options) { .json = true });
}

static void short_text_at_80_columns(void **state)
{
	prints_of(stacks_path, "report-short-80.txt", &(struct report_options) { .width = 80 });
}

static void short_text_at_100_columns(void **state)
{
	prints_of(signals_path, "report-short-100.txt", &(struct report_options) { .width = 100 });
}

static void short_text_of_a_cut_of_some_threads(void **state)
{
	static const char *const names[] = { "worker-*", "logger", NULL };

	prints_of(signals_path, "report-short-cut.txt",
		  &(struct report_options) { .width = 100,
					     .model.by = MODEL_BY_THREAD,
					     .model.scope.from.ns = 5 * SECOND,
					     .model.scope.to.ns = 25 * SECOND,
					     .model.scope.only[SCOPE_COMM] = names });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_at_80_columns),
		cmocka_unit_test(text_at_120_columns_by_thread),
		cmocka_unit_test(text_of_a_cut),
		cmocka_unit_test(json),
		cmocka_unit_test(json_of_a_cut_by_process),
		cmocka_unit_test(text_with_stacks_at_80_columns),
		cmocka_unit_test(text_with_stacks_at_120_columns),
		cmocka_unit_test(text_with_stacks_of_a_cut),
		cmocka_unit_test(json_with_stacks),
		cmocka_unit_test(text_with_signals_at_80_columns),
		cmocka_unit_test(text_with_signals_at_120_columns),
		cmocka_unit_test(text_with_signals_of_a_cut),
		cmocka_unit_test(json_with_signals),
		cmocka_unit_test(short_text_at_80_columns),
		cmocka_unit_test(short_text_at_100_columns),
		cmocka_unit_test(short_text_of_a_cut_of_some_threads),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
