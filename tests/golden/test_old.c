/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording that an earlier version made is read by every command, and its sums are those that
 * the earlier version reported. old/README.md says how it was made.
 */
#include "../harness.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/exporter.h"
#include "folder.h"

#define OLD GOLDEN_FOLDER "/old/0.1.0"

/* The folder's run.gapless is replaced by the old recording. */
static int make(void **state)
{
	folder__make(state);
	return system("cp '" OLD ".gapless' run.gapless && cp run.gapless copy.gapless");
}

static int end(void **state)
{
	if (system("rm -f copy.gapless out* run.*"))
		return -1;
	return folder__remove(state);
}

static const char *output_of(const char *line)
{
	const char *text = NULL;
	int status = folder__status(line, NULL, &text);

	if (status)
		fail_msg("%s: status %d:\n%s", line, status, text);
	return text;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void is_part_of(json_t *then, json_t *now, const char *where);

static bool is_percentile(const char *key)
{
	return !strcmp(key, "p50_ns") || !strcmp(key, "p99_ns") || !strcmp(key, "p50") ||
	       !strcmp(key, "p99");
}

static void has_all_keys(json_t *then, json_t *now, const char *where)
{
	const char *key;
	json_t *value;

	json_object_foreach (then, key, value) {
		char path[256];

		snprintf(path, sizeof(path), "%s.%s", where, key);
		if (!json_object_get(now, key))
			fail_msg("%s is missing", path);
		/* 0.1.0 had percentiles of any number of values. */
		if (is_percentile(key) && json_is_null(json_object_get(now, key)))
			continue;
		is_part_of(value, json_object_get(now, key), path);
	}
}

static void has_all_items(json_t *then, json_t *now, const char *where)
{
	size_t i;
	json_t *value;

	if (json_array_size(then) != json_array_size(now))
		fail_msg("%s has %zu items, not %zu", where, json_array_size(now),
			 json_array_size(then));
	json_array_foreach (then, i, value) {
		char path[256];

		snprintf(path, sizeof(path), "%s[%zu]", where, i);
		is_part_of(value, json_array_get(now, i), path);
	}
}

/* Keys may be new, but none may be gone, and what they had is what they have. */
static void is_part_of(json_t *then, json_t *now, const char *where)
{
	if (json_is_object(then) && json_is_object(now))
		has_all_keys(then, now, where);
	else if (json_is_array(then) && json_is_array(now))
		has_all_items(then, now, where);
	else if (!json_equal(then, now))
		fail_msg("%s is not what it was", where);
}

static void the_report_has_every_key_and_sum_that_the_old_version_reported(void **state)
{
	json_error_t error;
	json_t *then = json_load_file(OLD ".json", 0, &error), *now;

	assert_non_null(then);
	output_of("$G report --json >out.json");
	now = json_load_file("out.json", 0, &error);
	assert_non_null(now);
	is_part_of(then, now, "report");
	json_decref(now);
	json_decref(then);
}

static void the_text_has_its_states_and_does_not_guess_what_was_not_recorded(void **state)
{
	const char *text = output_of("$G report --full --by thread");

	assert_non_null(strstr(text, "wait.lock             12.8 s  62.8 %           288"));
	assert_non_null(strstr(text, "unexplained  0 s, 0 % of the thread time"));
	/* 0.1.0 did not count page faults. */
	assert_null(strstr(text, "no page faults"));
}

static void the_samples_in_folded_stacks_have_the_old_weight(void **state)
{
	const char *text = output_of("$G export -f folded --idle 2>out.err");
	int64_t sum = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *blank = memrchr(text, ' ', length);

		assert_non_null(blank);
		sum += strtoll(blank, NULL, 10);
		text += length + (text[length] == '\n');
	}
	assert_int_equal(sum, 20136931344);
}

/* --- commands --------------------------------------------------------------------------------- */

static void every_format_can_be_exported_whole_and_in_part(void **state)
{
	for (size_t i = 0; exporters[i]; i++) {
		char line[256];

		/* That version recorded no requests, and this format has nothing else. */
		if (!strcmp(exporters[i]->name, "otlp-traces"))
			continue;
		snprintf(line, sizeof(line),
			 "$G export -f %s --idle -o out && test -s out && rm out &&"
			 " $G export -f %s --from 500ms --to 1s -o out && test -s out && rm out",
			 exporters[i]->name, exporters[i]->name);
		output_of(line);
	}
}

static void a_part_of_it_can_be_reported(void **state)
{
	assert_non_null(strstr(output_of("$G report --full --from 500ms --to 1s"), "wait.lock"));
}

/* A build without the page says so, whatever the recording. */
static void it_has_a_page(void **state)
{
	const char *text = NULL;
	int status = folder__status("$G report --html out.html", NULL, &text);

	if (status && strstr(text, "built without the page")) {
		print_message("# skip: built without the page\n");
		skip();
	}
	if (status)
		fail_msg("status %d:\n%s", status, text);
	output_of("test -s out.html && $G diff --html out2.html run.gapless copy.gapless");
}

static void it_differs_from_itself_in_nothing(void **state)
{
	const char *text = output_of("$G diff run.gapless copy.gapless");

	assert_non_null(strstr(text, "Nothing differs"));
}

static void each_of_its_tables_and_views_can_be_queried(void **state)
{
	output_of("$G query --csv run.gapless \"SELECT name FROM sqlite_schema WHERE type IN"
		  " ('table', 'view')\" | sed 1d | tr -d '\\r' >out.names &&"
		  " test \"$(wc -l <out.names)\" -gt 30 && while read -r name; do"
		  " $G query run.gapless \"SELECT * FROM $name\" >out.rows || exit; done"
		  " <out.names");
	folder__says("$G query --csv run.gapless 'SELECT sum(ns) FROM time_by_state'", 0,
		     "sum(ns)\r\n20457439890\r\n");
}

int main(void)
{
#define WITH_IT(test) cmocka_unit_test_setup_teardown(test, make, end)
	const struct CMUnitTest tests[] = {
		WITH_IT(the_report_has_every_key_and_sum_that_the_old_version_reported),
		WITH_IT(the_text_has_its_states_and_does_not_guess_what_was_not_recorded),
		WITH_IT(the_samples_in_folded_stacks_have_the_old_weight),
		WITH_IT(every_format_can_be_exported_whole_and_in_part),
		WITH_IT(a_part_of_it_can_be_reported),
		WITH_IT(it_has_a_page),
		WITH_IT(it_differs_from_itself_in_nothing),
		WITH_IT(each_of_its_tables_and_views_can_be_queried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
