/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless query, as a user calls it. */
#include "../harness.h"

#include <stdio.h>
#include <sys/wait.h>

#include "sample.h"

static char *path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write(path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/* What `gapless query OPTIONS RECORDING SQL` prints, words for a person included. */
static void answers(const char *options, const char *file, const char *sql, int status,
		    const char *expected)
{
	char command[1024], text[4096] = "";
	const char *gapless = getenv("GAPLESS");
	FILE *out;
	int result;

	if (!gapless) {
		print_message("# skip: GAPLESS is not set\n");
		skip();
	}
	snprintf(command, sizeof(command), "'%s' query %s '%s' \"%s\" 2>&1", gapless, options, file,
		 sql);
	out = popen(command, "re");
	assert_non_null(out);
	text[fread(text, 1, sizeof(text) - 1, out)] = '\0';
	result = pclose(out);
	assert_string_equal(text, expected);
	assert_int_equal(WEXITSTATUS(result), status);
}

static void the_table_is_aligned(void **state)
{
	answers("", path, "SELECT name, count, max_ns / 1e6 AS ms, NULL AS x FROM syscalls", 0,
		"name         count    ms  x\n"
		"epoll_wait    1800  50.0\n"
		"newfstatat  381000   0.3\n");
}

static void no_rows_leave_the_heading(void **state)
{
	answers("", path, "SELECT name FROM syscalls WHERE 0", 0, "name\n");
	answers("--json", path, "SELECT name FROM syscalls WHERE 0", 0, "[]\n");
	answers("--csv", path, "SELECT name FROM syscalls WHERE 0", 0, "name\r\n");
}

static void csv_quotes_what_needs_it(void **state)
{
	answers("--csv", path, "SELECT 'a,b' AS x, 'say ' || char(34) AS y, 1.5 AS z", 0,
		"x,y,z\r\n\"a,b\",\"say \"\"\",1.5\r\n");
}

static void csv_has_no_formulas(void **state)
{
	answers("--csv", path, "SELECT '=1+1' AS '@x', -5 AS y, '-5' AS z, 'a=b' AS w", 0,
		"\"'@x\",y,z,w\r\n\"'=1+1\",-5,\"'-5\",a=b\r\n");
}

static void a_statement_without_end_is_ended(void **state)
{
	answers("--timeout 200ms", path,
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
		"SELECT max(x) AS x FROM c",
		1,
		"x\ngapless: error: it took longer than 0.2 s [a longer --timeout, or 0 for "
		"none]\n");
}

static void control_characters_do_not_come_from_arguments(void **state)
{
	answers("--timeout \"$(printf '\\033[31m')\"", path, "SELECT 1", 2,
		"gapless query: '?[31m' is not a duration [like 500ms, 10s, 2m]\n"
		"Try `gapless query --help' or `gapless query --usage' for more information.\n");
}

static void json_keeps_types_and_columns_of_one_name(void **state)
{
	answers("--json", path, "SELECT 1 AS a, 'x' AS a, 0.5 AS b, NULL AS c", 0,
		"[\n{\n  \"a\": 1,\n  \"a:2\": \"x\",\n  \"b\": 0.5,\n  \"c\": null\n}\n]\n");
}

static void control_characters_do_not_reach_the_table(void **state)
{
	answers("", path, "SELECT char(27) || '[31m' || char(10) || 'x' AS evil", 0,
		"evil\n?[31m?x\n");
}

static void only_reading_is_allowed(void **state)
{
	static const char *const statements[] = {
		"DELETE FROM thread",
		"CREATE TABLE t(x)",
		"CREATE TEMP TABLE t(x)",
		"ATTACH '/tmp/other' AS other",
		"PRAGMA writable_schema = ON",
		"VACUUM INTO '/tmp/other'",
		"BEGIN",
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
		answers("", path, statements[i], 1,
			"gapless: error: a recording is read-only: use SELECT [for "
			"more, 'sqlite3' opens a copy]\n");
}

static void mistakes_have_a_message_and_a_status(void **state)
{
	static const char one[] =
		"gapless: error: one statement at a time [gapless query RECORDING 'SELECT …']\n";

	answers("", path, "SELEC 1", 1, "gapless: error: near \"SELEC\": syntax error\n");
	answers("", path, "SELECT y FROM thread", 1, "gapless: error: no such column: y\n");
	answers("", path, "SELECT 1; SELECT 2", 1, one);
	answers("", path, "", 1, one);
	answers("", "/proc/self/comm", "SELECT 1", 1,
		"gapless: error: '/proc/self/comm': not a recording, or a damaged one\n");
	answers("", "/nonexistent", "SELECT 1", 1,
		"gapless: error: '/nonexistent': there is no such recording [make one with 'sudo "
		"gapless record']\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_aligned),
		cmocka_unit_test(no_rows_leave_the_heading),
		cmocka_unit_test(csv_quotes_what_needs_it),
		cmocka_unit_test(csv_has_no_formulas),
		cmocka_unit_test(a_statement_without_end_is_ended),
		cmocka_unit_test(control_characters_do_not_come_from_arguments),
		cmocka_unit_test(json_keeps_types_and_columns_of_one_name),
		cmocka_unit_test(control_characters_do_not_reach_the_table),
		cmocka_unit_test(only_reading_is_allowed),
		cmocka_unit_test(mistakes_have_a_message_and_a_status),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
