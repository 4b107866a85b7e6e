/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A secret in the arguments of programs is in nothing that people share, unless they want it. */
#include "folder.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/exporter.h"
#include "page/html.h"
#include "sample.h"

#define SECRET "hunter2"
#define PLAIN  "--database=sales"

static char *path;

static int set_up(void **state)
{
	static const char line[] = "x " PLAIN " --password=" SECRET " --token '" SECRET " b' "
				   "PGPASSWORD=" SECRET " https://u:" SECRET "@h/?a=1&key=" SECRET;
	sqlite3 *db = NULL;
	char *sql = sqlite3_mprintf(
		"INSERT OR REPLACE INTO meta (key, value) VALUES ('command_line', %Q);"
		"UPDATE event SET fields = json_set(fields, '$.args', %Q)"
		" WHERE json_valid(fields)",
		line, line);

	path = sample__path();
	sample__write_with_all(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_true(sqlite3_changes(db) > 10);
	sqlite3_close(db);
	sqlite3_free(sql);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/*
 * Whether the plain argument and the secret are in what a command writes, which may be compressed.
 * In it, $R is the recording and $ARGS an option.
 */
static void command_has(const char *command, const char *args, bool plain, bool secret)
{
	char line[1024];
	const char *said = NULL;

	snprintf(line, sizeof(line),
		 "R='%s' ARGS='%s'; %s >out && test -s out; S=$?; zcat -f out >text;"
		 " grep -a -q -e '" PLAIN "' text; P=$?; grep -a -q '" SECRET "' text;"
		 " echo $S $P $?; rm out text",
		 path, args, command);
	assert_int_equal(folder__status(line, NULL, &said), 0);
	snprintf(line, sizeof(line), "0 %d %d\n", !plain, !secret);
	assert_string_equal(said, line);
}

static void exports_have_no_secrets(void **state)
{
	char line[128];

	for (size_t i = 0; exporters[i]; i++) {
		if (exporters[i]->windows)
			continue;
		/* The only one with a command line today. */
		bool shows = exporters[i] == &export_firefox;

		snprintf(line, sizeof(line), "\"$G\" export -f %s -o - $ARGS \"$R\" 2>/dev/null",
			 exporters[i]->name);
		command_has(line, "", shows, false);
		if (!shows)
			continue;
		command_has(line, "--args redacted", true, false);
		command_has(line, "--args full", true, true);
		command_has(line, "--args none", false, false);
	}
}

/* What a request says comes from whoever sent it. */
static void exports_of_requests_have_no_secrets(void **state)
{
	static const char *const formats[] = { "firefox", "perfetto", "chrome", "otlp-traces" };
	char *whole = path, line[128];
	sqlite3 *db = NULL;

	path = sample__path();
	sample__write_with_requests(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE window SET text = 'GET " PLAIN " --password=" SECRET
				      " HTTP/1.1' WHERE id >= 400",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		snprintf(line, sizeof(line), "\"$G\" export -f %s -o - $ARGS \"$R\" 2>/dev/null",
			 formats[i]);
		command_has(line, "", true, false);
		command_has(line, "--args full", true, true);
		command_has(line, "--args none", false, false);
	}
	sample__remove(path);
	path = whole;
}

static void data_has(enum redact_args args, bool plain, bool secret)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(
		html__write_data(path, &(struct model_options) { .args = args }, NULL, out), 0);
	fclose(out);
	assert_int_equal(strstr(text, PLAIN) != NULL, plain);
	assert_int_equal(strstr(text, SECRET) != NULL, secret);
	free(text);
}

static void pages_have_no_secrets(void **state)
{
	static const char *const commands[] = {
		"\"$G\" report --html - $ARGS \"$R\" 2>/dev/null",
		"\"$G\" diff --html - $ARGS \"$R\" \"$R\" 2>/dev/null",
	};

	data_has(REDACT_DEFAULT, true, false);
	data_has(REDACT_SECRETS, true, false);
	data_has(REDACT_NOTHING, true, true);
	data_has(REDACT_ALL_ARGS, false, false);
	for (size_t i = 0; html__is_built() && i < 2; i++) {
		command_has(commands[i], "", true, false);
		command_has(commands[i], "--args full", true, true);
		command_has(commands[i], "--args none", false, false);
	}
}

static void text_and_json_have_all_unless_told(void **state)
{
	static const char *const commands[] = {
		"\"$G\" report --full --top 10 $ARGS \"$R\" 2>/dev/null",
		"\"$G\" report --json $ARGS \"$R\" 2>/dev/null"
	};

	/* The text cuts lines, but not that early. */
	for (size_t i = 0; i < 2; i++) {
		command_has(commands[i], "", true, true);
		command_has(commands[i], "--args redacted", true, false);
		command_has(commands[i], "--args none", false, false);
	}
}

static void another_word_is_refused(void **state)
{
	const char *said = NULL;

	assert_int_equal(folder__status("\"$G\" report --args redcated run.gapless", NULL, &said),
			 2);
	assert_non_null(strstr(said, "did you mean 'redacted'?"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(exports_have_no_secrets),
		IN_A_FOLDER(exports_of_requests_have_no_secrets),
		IN_A_FOLDER(pages_have_no_secrets),
		IN_A_FOLDER(text_and_json_have_all_unless_told),
		IN_A_FOLDER(another_word_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
