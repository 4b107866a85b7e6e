/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <fnmatch.h>

#include "core/glob.h"

static void check(const char *pattern, const char *name, bool should)
{
	struct glob glob;

	assert_int_equal(glob__compile(pattern, &glob), 0);
	if (glob__matches(&glob, name) != should)
		fail_msg("'%s' %s '%s'", pattern, should ? "should match" : "should not match",
			 name);
}

static void a_name_matches_itself_only(void **state)
{
	check("nginx", "nginx", true);
	check("nginx", "nginx2", false);
	check("nginx", "ngin", false);
	check("nginx", "", false);
	check("a-name-of-15-by", "a-name-of-15-by", true);
}

static void stars_and_sets_are_those_of_a_shell(void **state)
{
	check("php*", "php-fpm8.2", true);
	check("php*", "xphp", false);
	check("*", "anything", true);
	check("*fpm*", "php-fpm8.2", true);
	check("kworker/[0-3]:*", "kworker/2:1-ev", true);
	check("kworker/[0-3]:*", "kworker/4:1-ev", false);
	check("w[!a-c]?", "wd1", true);
	check("w[!a-c]?", "wa1", false);
	check("[]]", "]", true);
	check("[x", "[x", true);
	check("\\*", "*", true);
	check("\\*", "x", false);
}

/* All short patterns over a few characters, against all short names. */
static void it_says_what_fnmatch_says(void **state)
{
	static const char letters[] = "ab*?[]!-";
	char pattern[6] = "", name[4] = "";
	unsigned long compared = 0;

	for (unsigned long p = 1; p < 8UL * 8 * 8 * 8 * 8; p++) {
		struct glob glob;

		for (unsigned long i = 0, rest = p; i < 5; i++, rest /= 8)
			pattern[i] = letters[rest % 8];
		assert_int_equal(glob__compile(pattern, &glob), 0);
		for (int n = 0; n < 27; n++, compared++) {
			for (int i = 0, rest = n; i < 3; i++, rest /= 3)
				name[i] = "ab-"[rest % 3];
			if (glob__matches(&glob, name) != !fnmatch(pattern, name, 0))
				fail_msg("'%s' and '%s'", pattern, name);
		}
	}
	print_message("# %lu pairs\n", compared);
}

static void what_no_name_can_match_is_refused(void **state)
{
	struct glob glob = { .end = 7 };

	assert_int_equal(glob__compile("", &glob), -EINVAL);
	assert_int_equal(glob__compile("a-name-of-16-byt", &glob), -ENAMETOOLONG);
	assert_int_equal(glob.end, 7);
	assert_int_equal(glob__compile("*a-name-of-15-by*", &glob), 0);
	assert_int_equal(glob__compile("[a-z][a-z][a-z][a-z][a-z]*", &glob), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_matches_itself_only),
		cmocka_unit_test(stars_and_sets_are_those_of_a_shell),
		cmocka_unit_test(it_says_what_fnmatch_says),
		cmocka_unit_test(what_no_name_can_match_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
