/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of runtimes in each format: language, file and line. */
#include "../harness.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "export/exporter.h"
#include "mixed.h"

static struct profile *profile;
static char *path;

static int set_up(void **state)
{
	struct recording *recording;

	path = sample__path();
	recording = begin_python(path);
	assert_int_equal(recording__set_runtime(recording, 1, "python", "3.11", "known"), 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, 4, 30);
	add_samples(recording, SAMPLE_RUN_USER, 7, 10);
	sample__finish(recording);
	assert_int_equal(profile__load(path, &(struct profile_options) {}, &profile), 0);
	return 0;
}

static int tear_down(void **state)
{
	profile__free(profile);
	sample__remove(path);
	return 0;
}

/* The caller frees it. */
static char *written(const struct exporter *exporter)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(exporter->write(profile, out), 0);
	fclose(out);
	return text;
}

static json_t *parsed(const struct exporter *exporter)
{
	char *text = written(exporter);
	json_t *json = json_loads(text, 0, NULL);

	free(text);
	assert_non_null(json);
	return json;
}

extern const struct exporter export_folded, export_speedscope, export_firefox, export_chrome,
	export_svg;

static void functions_know_their_language(void **state)
{
	static const enum code_language languages[] = { LANGUAGE_NATIVE, LANGUAGE_NATIVE,
							LANGUAGE_PYTHON, LANGUAGE_PYTHON,
							LANGUAGE_NATIVE };

	for (uint32_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
		assert_int_equal(code__language(&profile->code, i), languages[i]);
	/* The program with the loop, but neither the C library nor numpy. */
	assert_true(code__is_internal(&profile->code, F_EVAL - 1));
	assert_true(code__is_internal(&profile->code, F_ADD - 1));
	assert_false(code__is_internal(&profile->code, F_MALLOC - 1));
	assert_false(code__is_internal(&profile->code, F_NUMPY - 1));
	assert_false(code__is_internal(&profile->code, F_BURN - 1));
	assert_string_equal(profile->code.functions[F_BURN - 1].source, "runtime");
}

static void folded_lines_have_file_and_line(void **state)
{
	char *text = written(&export_folded);

	assert_non_null(strstr(text, "app;Py_BytesMain;_PyEval_EvalFrameDefault;"
				     "main (web.py:30)_[j];burn (web.py:12)_[j] 300000000\n"));
	free(text);
}

static json_t *frame_named(json_t *frames, const char *name)
{
	json_t *frame;
	size_t i;

	json_array_foreach (frames, i, frame)
		if (!strcmp(json_string_value(json_object_get(frame, "name")), name))
			return frame;
	fail_msg("no frame %s", name);
	return NULL;
}

static void speedscope_has_file_and_line(void **state)
{
	json_t *json = parsed(&export_speedscope);
	json_t *frame =
		frame_named(json_object_get(json_object_get(json, "shared"), "frames"), "burn");

	assert_string_equal(json_string_value(json_object_get(frame, "file")), "/srv/web.py");
	assert_int_equal(json_integer_value(json_object_get(frame, "line")), 12);
	json_decref(json);
}

static void firefox_has_a_category_for_each_language(void **state)
{
	json_t *json = parsed(&export_firefox), *meta = json_object_get(json, "meta");
	json_t *categories = json_object_get(meta, "categories");
	size_t last = json_array_size(categories) - 1;

	assert_string_equal(
		json_string_value(json_object_get(json_array_get(categories, last), "name")),
		"Python");
	assert_true(json_is_true(json_object_get(meta, "usesOnlyOneStackType")));
	json_decref(json);
}

static void chrome_names_language_file_and_line(void **state)
{
	char *text = written(&export_chrome);

	assert_non_null(strstr(text, "Python: /srv/web.py:"));
	free(text);
}

static void the_flame_graph_has_a_colour_for_each_language(void **state)
{
	char *text = written(&export_svg);

	assert_non_null(strstr(text, ">in Python <"));
	assert_null(strstr(text, ">in Java <"));
	assert_non_null(strstr(text, "burn (web.py:12, Python)"));
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_know_their_language),
		TEST(folded_lines_have_file_and_line),
		TEST(speedscope_has_file_and_line),
		TEST(firefox_has_a_category_for_each_language),
		TEST(chrome_names_language_file_and_line),
		TEST(the_flame_graph_has_a_colour_for_each_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
