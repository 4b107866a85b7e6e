/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <stdio.h>

#include "base/term.h"

static void wraps_to(const char *words, int indent, int width, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	term__wrap(out, words, indent, width);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void lines_break_at_spaces_and_keep_the_indent(void **state)
{
	wraps_to("one two three", 2, 9, "one two\n  three\n");
	wraps_to("one two three", 0, 100, "one two three\n");
	wraps_to("a → b … µs", 0, 10, "a → b … µs\n");
	wraps_to("a → b … µs", 0, 9, "a → b …\nµs\n");
	wraps_to("", 4, 20, "\n");
}

static void a_word_longer_than_the_line_stays_whole(void **state)
{
	wraps_to("a /a/very/long/path b", 0, 8, "a\n/a/very/long/path\nb\n");
}

static void a_file_is_not_coloured(void **state)
{
	FILE *out = tmpfile();

	assert_string_equal(term__on(out, TERM_BAD), "");
	assert_string_equal(term__off(out, TERM_BAD), "");
	assert_int_equal(term__width(out), 100);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_break_at_spaces_and_keep_the_indent),
		cmocka_unit_test(a_word_longer_than_the_line_stays_whole),
		cmocka_unit_test(a_file_is_not_coloured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
