/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths that differ in few places become patterns, and their counts are those of their paths. */
#include "../harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/patterns.h"

#define MOST 600

static struct pattern_path paths[MOST];
static char texts[MOST][64];
static size_t count;
static struct patterns patterns;

static void add(const char *text, int64_t times)
{
	snprintf(texts[count], sizeof(texts[count]), "%s", text);
	paths[count] = (struct pattern_path) { texts[count], times };
	count++;
}

static int forget(void **state)
{
	patterns__release(&patterns);
	count = 0;
	return 0;
}

static void fold(void)
{
	int64_t sum = 0, counts = 0, different = 0;

	assert_int_equal(patterns__fold(paths, count, &patterns), 0);
	for (size_t i = 0; i < count; i++) {
		assert_in_range(patterns.of[i], 0, patterns.count - 1);
		counts += paths[i].count;
	}
	for (size_t i = 0; i < patterns.count; i++) {
		sum += patterns.list[i].count;
		different += patterns.list[i].paths;
	}
	assert_int_equal(sum, counts);
	assert_int_equal(different, count);
}

static void check(size_t at, const char *text, int64_t times, int64_t different)
{
	assert_true(at < patterns.count);
	assert_string_equal(patterns.list[at].text, text);
	assert_int_equal(patterns.list[at].count, times);
	assert_int_equal(patterns.list[at].paths, different);
}

static void few_paths_stay_as_they_are(void **state)
{
	add("/etc/ld.so.preload", 1);
	add("/lib/libc.so.6", 3);
	add("plain", 2);
	fold();
	assert_int_equal(patterns.count, 3);
	check(0, "/lib/libc.so.6", 3, 1);
	check(1, "plain", 2, 1);
	check(2, "/etc/ld.so.preload", 1, 1);
	assert_int_equal(patterns.of[0], 2);
}

static void two_that_differ_in_a_number_are_one(void **state)
{
	add("/proc/12/stat", 1);
	add("/proc/4711/stat", 1);
	add("/run/0b1f3c5d-99/x", 1);
	add("/run/77aa3c5d-10/x", 4);
	add("/v2/row7/t1.html", 1);
	add("/v2/row7/t22.html", 0);
	add("/v2/row7/t3.html", 0);
	fold();
	assert_int_equal(patterns.count, 3);
	check(2, "/v2/row7/t*.html", 1, 3);
	check(0, "/run/*/x", 5, 2);
	check(1, "/proc/*/stat", 2, 2);
}

static void a_name_in_many_folders_is_one_pattern(void **state)
{
	static const char *const words[] = { "red", "green", "blue", "grey", "pink" };

	for (int i = 0; i < 40; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/opt/app/%s%c/libplugin.so", words[i % 5],
			 'a' + i / 5);
		add(path, 10);
	}
	add("/opt/app/reda/libother.so", 1);
	fold();
	assert_int_equal(patterns.count, 2);
	check(0, "/opt/app/*/libplugin.so", 400, 40);
	check(1, "/opt/app/reda/libother.so", 1, 1);
}

static void folders_of_other_depths_are_any_folders(void **state)
{
	add("/usr/lib/libx.so", 1);
	add("/usr/lib/a/libx.so", 1);
	add("/usr/local/lib/b/libx.so", 1);
	add("/usr/lib/a/b/c/libx.so", 1);
	fold();
	assert_int_equal(patterns.count, 1);
	check(0, "/usr/**/libx.so", 4, 4);
}

static void many_names_in_a_folder_keep_what_they_have_in_common(void **state)
{
	static const char *const words[] = { "index",  "about", "news",   "shop", "cart",
					     "search", "login", "logout", "help" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/srv/t/%s.html", words[i]);
		add(path, 2);
	}
	fold();
	assert_int_equal(patterns.count, 1);
	check(0, "/srv/t/*.html", 18, 9);
}

/* The first of them could be part of both patterns: it counts in the larger one. */
static void a_pattern_has_only_paths_that_match_it(void **state)
{
	char path[64];

	add("/a/c/m", 1);
	add("/a/c/y", 1);
	for (int i = 0; i < 9; i++) {
		snprintf(path, sizeof(path), "/a/%c/y", 'd' + i);
		add(path, 1);
	}
	for (int i = 0; i < 7; i++) {
		snprintf(path, sizeof(path), "/a/c/%c", 'n' + i);
		add(path, 1);
	}
	fold();
	assert_int_equal(patterns.count, 2);
	check(0, "/a/*/y", 10, 10);
	check(1, "/a/c/*", 8, 8);
}

static void the_rarest_are_other(void **state)
{
	for (int i = 0; i < 30; i++) {
		char path[64] = "/";

		for (int j = 0; j <= i; j++)
			strcat(path, j % 2 ? "/" : "x");
		path[1] = (char)('a' + i % 26);
		strcat(path, i % 3 ? "q" : "w");
		snprintf(path + strlen(path), 8, "%c", 'A' + i);
		add(path, 100 + i);
	}
	fold();
	assert_int_equal(patterns.count, PATTERNS_MOST + 1);
	assert_string_equal(patterns.list[PATTERNS_MOST].text, PATTERNS_OTHER);
	assert_int_equal(patterns.list[PATTERNS_MOST].paths, 10);
}

static void odd_texts_do_no_harm(void **state)
{
	static const char *const odd[] = { "",          "/",    "//",   "*",     "/*/*",
					   "///a",      "a/",   "////", "12",    "/12",
					   "123456789", "-",    "**",   "/**/x", "*/",
					   "/a/b",      "/b/b", "/c/b", "/d/b",  "/e/b" };

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		add(odd[i], 1);
	for (int i = 0; i < 500; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/%c/%c%c/%c", 'a' + i % 7, 'a' + i % 11, 'a' + i % 13,
			 'a' + i % 17);
		add(path, 1);
	}
	fold();
	count = 0;
	patterns__release(&patterns);
	fold();
	assert_int_equal(patterns.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(few_paths_stay_as_they_are, forget),
		cmocka_unit_test_teardown(two_that_differ_in_a_number_are_one, forget),
		cmocka_unit_test_teardown(a_name_in_many_folders_is_one_pattern, forget),
		cmocka_unit_test_teardown(folders_of_other_depths_are_any_folders, forget),
		cmocka_unit_test_teardown(many_names_in_a_folder_keep_what_they_have_in_common,
					  forget),
		cmocka_unit_test_teardown(a_pattern_has_only_paths_that_match_it, forget),
		cmocka_unit_test_teardown(the_rarest_are_other, forget),
		cmocka_unit_test_teardown(odd_texts_do_no_harm, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
