/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gapless query: SQL over a recording, read-only.
 *
 * The file is opened read-only, so it cannot be damaged. The authorizer prevents SQL from accessing
 * other files (ATTACH) or settings. The text table is aligned to its first rows and then streamed,
 * so that a million rows need no memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/reader.h"
#include "recording/recording.h"
#include "report/report.h"

#define ALIGNED_ROWS 500
#define MOST_COLUMNS WORDS_MOST_COLUMNS
#define TIMEOUT_NS   UINT64_C(30000000000)
#define STEPS        10000 /* of SQLite's virtual machine: well below a millisecond */

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

struct options {
	struct cli_common common;
	bool csv;
	uint64_t timeout_ns;
	const char *path;
	const char *sql;
};

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *view)
{
	static const char *const harmless[] = {
		"table_info", "table_xinfo",    "table_list",   "index_list",
		"index_info", "schema_version", "user_version", "application_id",
		"page_count", "page_size",      "quick_check",  "integrity_check",
	};

	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
			if (!strcasecmp(first, harmless[i]))
				return SQLITE_OK;
		return SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static const char *cell(sqlite3_stmt *statement, int column)
{
	if (sqlite3_column_type(statement, column) == SQLITE_BLOB)
		return "(bytes)";
	return (const char *)sqlite3_column_text(statement, column);
}

static bool is_number(sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static json_t *cell_json(sqlite3_stmt *statement, int column)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(statement, column));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(statement, column));
	case SQLITE_NULL:
		return json_null();
	default:
		return json__text(cell(statement, column));
	}
}

/* JSON keys must be unique: if a column's name occurred before, append its position. */
static void key_of(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
	const char *name = sqlite3_column_name(statement, column);

	snprintf(ret, size, "%s", name);
	for (int i = 0; i < column; i++)
		if (!strcmp(sqlite3_column_name(statement, i), name))
			snprintf(ret, size, "%s:%d", name, column + 1);
}

static int print_json(sqlite3_stmt *statement)
{
	size_t flags = JSON_INDENT(2) | (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0);
	const char *before = "[\n";
	int rc;

	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		json_t *row = json_object();

		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			char key[256];

			key_of(statement, i, key, sizeof(key));
			json_object_set_new(row, key, cell_json(statement, i));
		}
		fputs(before, stdout);
		json_dumpf(row, stdout, flags);
		json_decref(row);
		before = ",\n";
	}
	puts(*before == '[' ? "[]" : "\n]");
	return rc;
}

/*
 * A spreadsheet evaluates text that looks like a formula, and formulas can run programs. A ' in
 * front marks it as text.
 */
static bool is_formula(const char *text)
{
	return text && *text && strchr("=+-@\t\r", *text);
}

static void print_csv_cell(const char *text, bool is_text, const char *end)
{
	bool formula = is_text && is_formula(text);

	if (!text || (!formula && !strpbrk(text, "\",\r\n"))) {
		printf("%s%s", text ? text : "", end);
		return;
	}
	fputs(formula ? "\"'" : "\"", stdout);
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	printf("\"%s", end);
}

/* CSV is for programs, so names stay unchanged, except on a terminal, which they could control. */
static int print_csv(sqlite3_stmt *statement)
{
	int count = sqlite3_column_count(statement), rc;
	bool clean = isatty(STDOUT_FILENO);

	for (int i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(statement, i);

		print_csv_cell(clean ? words__clean(name, MOST_COLUMNS).text : name, true,
			       i + 1 < count ? "," : "\r\n");
	}
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
		for (int i = 0; i < count; i++) {
			const char *text = cell(statement, i);

			print_csv_cell(clean ? words__clean(text, MOST_COLUMNS).text : text,
				       !is_number(statement, i), i + 1 < count ? "," : "\r\n");
		}
	return rc;
}

/* The first rows of a table, which determine the column widths. */
struct table {
	int columns;
	size_t rows;
	int *widths; /* negative: numbers, right-aligned */
	char **cells;
};

static void table__release(struct table *table)
{
	for (size_t i = 0; i < table->rows * (size_t)table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table->widths);
}

static void widen(struct table *table, int column, const char *text)
{
	int width = words__columns(text), *now = &table->widths[column];

	if (width > abs(*now))
		*now = *now < 0 ? -width : width;
}

static bool table__prepare(struct table *table, sqlite3_stmt *statement)
{
	table->columns = sqlite3_column_count(statement);
	table->cells = calloc(ALIGNED_ROWS * (size_t)table->columns, sizeof(*table->cells));
	table->widths = calloc((size_t)table->columns, sizeof(*table->widths));
	if (!table->cells || !table->widths)
		return false;
	for (int i = 0; i < table->columns; i++)
		widen(table, i, words__clean(sqlite3_column_name(statement, i), MOST_COLUMNS).text);
	return true;
}

static bool table__add(struct table *table, sqlite3_stmt *statement)
{
	char **row = &table->cells[table->rows * (size_t)table->columns];

	table->rows++;
	for (int i = 0; i < table->columns; i++) {
		row[i] = strdup(words__clean(cell(statement, i), MOST_COLUMNS).text);
		if (!row[i])
			return false;
		widen(table, i, row[i]);
		if (is_number(statement, i) && table->widths[i] > 0)
			table->widths[i] = -table->widths[i];
	}
	return true;
}

static void print_cell(const struct table *table, int column, const char *text)
{
	bool last = column + 1 == table->columns;

	/* No trailing spaces. */
	if (column && !(last && !*text))
		fputs("  ", stdout);
	if (last && (table->widths[column] > 0 || !*text))
		fputs(text, stdout);
	else
		words__field(stdout, text, table->widths[column]);
	if (last)
		putchar('\n');
}

static void table__print(const struct table *table, sqlite3_stmt *statement)
{
	for (int i = 0; i < table->columns; i++)
		print_cell(table, i,
			   words__clean(sqlite3_column_name(statement, i), MOST_COLUMNS).text);
	for (size_t i = 0; i < table->rows; i++)
		for (int j = 0; j < table->columns; j++)
			print_cell(table, j, table->cells[i * (size_t)table->columns + (size_t)j]);
}

static int print_text(sqlite3_stmt *statement)
{
	cleanup(table__release) struct table table = {};
	int rc = SQLITE_ROW;

	if (!table__prepare(&table, statement))
		return SQLITE_NOMEM;
	while (table.rows < ALIGNED_ROWS && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		if (!table__add(&table, statement))
			return SQLITE_NOMEM;
	table__print(&table, statement);
	while (rc == SQLITE_ROW && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		for (int i = 0; i < table.columns; i++)
			print_cell(&table, i, words__clean(cell(statement, i), MOST_COLUMNS).text);
	return rc;
}

/* Progress handler, called every STEPS steps; a result other than 0 ends the query. */
static int is_late(void *context)
{
	return clock__now_ns() > *(const uint64_t *)context;
}

static int query(sqlite3 *db, const struct options *options)
{
	uint64_t until_ns = clock__now_ns() + options->timeout_ns;
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	const char *rest = NULL;
	int rc;

	if (options->timeout_ns)
		sqlite3_progress_handler(db, STEPS, is_late, &until_ns);
	rc = sqlite3_prepare_v2(db, options->sql, -1, &statement, &rest);

	if (!rc && (!statement || rest[strspn(rest, " \t\n;")])) {
		log_error("one statement at a time [gapless query RECORDING 'SELECT …']");
		return 1;
	}
	if (!rc)
		rc = options->common.json ? print_json(statement)
		     : options->csv       ? print_csv(statement)
					  : print_text(statement);
	if (rc == SQLITE_DONE)
		return 0;
	fflush(stdout);
	/* ATTACH and VACUUM INTO are refused only when they run. */
	if (rc == SQLITE_AUTH)
		log_error("a recording is read-only: use SELECT [for more, "
			  "'sqlite3' opens a copy]");
	else if (rc == SQLITE_INTERRUPT)
		log_error("it took longer than %g s [a longer --timeout, or 0 for none]",
			  (double)options->timeout_ns / 1e9);
	else
		log_error("%s", words__clean(sqlite3_errmsg(db), MOST_COLUMNS).text);
	return 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case 'c':
		options->csv = true;
		return 0;
	case 't':
		if (!strcmp(arg, "0"))
			options->timeout_ns = 0;
		else if (parse__duration(arg, &options->timeout_ns))
			argp_error(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->sql)
			argp_error(state, "the SQL has to be one word, in quotes");
		*(options->path ? &options->sql : &options->path) = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->sql)
			argp_error(state, "which recording, and which SQL? [gapless query "
					  "run.gapless 'SELECT * FROM time_by_state']");
		if (options->csv && options->common.json)
			argp_error(state, "--json or --csv, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "csv", 'c', NULL, 0, "Print CSV instead of text", 0 },
	{ "timeout", 't', "TIME", 0, "End it after this time (default 30s; 0: never)", 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "RECORDING SQL",
	.doc = "Runs one SQL statement over a recording and prints what it gives.\v"
	       "Views: time_by_state, time_by_thread, time_by_process, threads, faults, "
	       "waits, syscalls, syscall_errors, histograms; see gapless-recording(5).",
};

static int run(int argc, char **argv)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	struct options options = { .timeout_ns = TIMEOUT_NS };
	int err;

	cli__parse(&argp, argc, argv, &options);
	reader__begin(&options.path, 1, NULL);
	err = recording__open(options.path, &db);
	if (err) {
		log_error("'%s': %s", words__clean(options.path, MOST_COLUMNS).text,
			  model__why(err));
		return 1;
	}
	sqlite3_set_authorizer(db, authorize, NULL);
	return query(db, &options);
}

const struct command query_command = {
	.name = "query",
	.about = "SQL over a recording",
	.argp = &argp,
	.run = run,
};
