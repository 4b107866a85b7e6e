/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "base/json.h"

static void becomes(const char *bytes, const char *expected)
{
	json_t *text = json__text(bytes);

	assert_non_null(text);
	assert_string_equal(json_string_value(text), expected);
	json_decref(text);
}

static void utf8_passes_as_it_is(void **state)
{
	becomes("", "");
	becomes("nginx: worker", "nginx: worker");
	becomes("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x9d",
		"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x9d");
}

static void other_bytes_are_shown_not_dropped(void **state)
{
	becomes("a\xff"
		"b",
		"a\\xffb");
	becomes("\xc3", "\\xc3");
	becomes("\xe2\x82", "\\xe2\\x82");
	becomes("\xc0\x80", "\\xc0\\x80");
	becomes("\xed\xa0\x80", "\\xed\\xa0\\x80");
	becomes("\xf0\x9f\x90", "\\xf0\\x9f\\x90");
	becomes("ok \xc3\xaf \x80", "ok \xc3\xaf \\x80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_passes_as_it_is),
		cmocka_unit_test(other_bytes_are_shown_not_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
