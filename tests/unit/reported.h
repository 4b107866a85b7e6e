/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording and the report on it, for tests of reports. */
#pragma once

#include "../harness.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "sample.h"

static char *path;

static inline int set_up(void **state)
{
	path = sample__path();
	return 0;
}

static inline int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/* The caller frees it. Not inline, because gcc 12 then takes the text for a dangling pointer. */
__attribute__((noinline, unused)) static char *print_as(const struct report_options *options)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report__print(path, options, out), 0);
	fclose(out);
	return text;
}

/* The full text, or JSON. The caller frees it. */
static inline char *print(const struct report_options *options)
{
	struct report_options full = *options;

	full.full = true;
	return print_as(&full);
}

static inline void text_has(const struct report_options *options, const char *words)
{
	char *text = print(options);

	if (!strstr(text, words))
		fail_msg("no '%s' in:\n%s", words, strstr(text, "in short"));
	free(text);
}

static inline void text_lacks(const struct report_options *options, const char *words)
{
	char *text = print(options);

	if (strstr(text, words))
		fail_msg("'%s' in:\n%s", words, text);
	free(text);
}

/* The caller owns it. */
static inline json_t *report(struct report_options options)
{
	char *text;
	json_t *json;

	options.json = true;
	text = print(&options);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

/* -1: null */
static inline int64_t number_at(json_t *object, const char *key)
{
	if (json_is_null(json_object_get(object, key)))
		return -1;
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}
