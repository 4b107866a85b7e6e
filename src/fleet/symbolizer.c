/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/namer.h"

#define MOST_PLACES     500000
#define ADDRESSES       4096
#define ROWS_AT_ONCE    2000
#define HELPER_BYTES    (UINT64_C(512) << 20)
#define MODULES_AT_ONCE 5000
#define AGAIN_S         86400
#define SOON_S          1800
#define DIRECTORY_ONES  UINT64_C(0x9e3779b97f4a7c15)

struct wanted {
	uint64_t module;
	char *build_id, *kind, *path;
	uint64_t *offsets;
	size_t count;
	bool *is_named; /* by offset */
};

struct symbolizer {
	struct connection *connection;
	const struct symbolizer_options *options;
	struct symbolizer_result *ret;
	struct map modules;           /* struct wanted */
	struct namer *local, *remote; /* without and with debuginfod */
	/* Rows that are being collected. */
	struct query rows;
	size_t row_count;
	uint64_t module;
	const uint64_t *offsets; /* of the question */
	bool *is_named;          /* the same */
	size_t named;            /* in this module */
};

static void symbolizer__release(struct symbolizer *symbolizer)
{
	struct wanted *wanted;
	size_t at = 0;

	while ((wanted = map__next(&symbolizer->modules, &at))) {
		free(wanted->build_id);
		free(wanted->kind);
		free(wanted->path);
		free(wanted->offsets);
		free(wanted->is_named);
	}
	map__free_values(&symbolizer->modules);
	namer__free(symbolizer->local);
	namer__free(symbolizer->remote);
	query__release(&symbolizer->rows);
}

/* --- what is wanted --------------------------------------------------------------------------- */

static int find_wanted(struct symbolizer *symbolizer, uint64_t module, struct wanted **ret)
{
	struct wanted *wanted = map__get(&symbolizer->modules, module);

	if (!wanted) {
		wanted = calloc(1, sizeof(*wanted));
		if (!wanted || map__put(&symbolizer->modules, module, wanted)) {
			free(wanted);
			return -ENOMEM;
		}
		wanted->module = module;
	}
	*ret = wanted;
	return 0;
}

/* Adds "module % parts = part". */
static void add_part(const struct symbolizer *symbolizer, const char *column, struct query *query)
{
	query__add(query, column);
	query__add(query, " % ");
	query__number(query, symbolizer->options->parts);
	query__add(query, " = ");
	query__number(query, symbolizer->options->part);
}

/* Adds the modules for which no file was found in the last day, or the search failed a moment ago.
 */
static void add_absent(const struct symbolizer *symbolizer, struct query *query)
{
	query__add(query, "SELECT module FROM ");
	query__table(query, connection__tables(symbolizer->connection), "symbols_state");
	query__add(query, " FINAL WHERE (symbols = 'absent' AND ver > ");
	query__moment(query, symbolizer->options->now_s - AGAIN_S);
	query__add(query, ") OR (symbols = 'failed' AND ver > ");
	query__moment(query, symbolizer->options->now_s - SOON_S);
	query__add(query, ")");
}

static int take_place(void *context, char *const *fields)
{
	struct symbolizer *symbolizer = context;
	struct wanted *wanted;
	uint64_t module, *offset;
	int err = tsv__number(fields[0], &module);

	err = err ?: find_wanted(symbolizer, module, &wanted);
	if (err)
		return err;
	offset = APPEND(&wanted->offsets, &wanted->count);
	symbolizer->ret->places++;
	return offset ? tsv__number(fields[1], offset) : -ENOMEM;
}

static int load_places(struct symbolizer *symbolizer)
{
	cleanup(query__release) struct query query = {};
	const struct query_tables *tables = connection__tables(symbolizer->connection);
	int err;

	query__begin(&query);
	query__add(&query, "SELECT DISTINCT m, o FROM ");
	query__table(&query, tables, "stacks");
	query__add(&query, " ARRAY JOIN modules AS m, offsets AS o WHERE ");
	add_part(symbolizer, "m", &query);
	/* Places of modules that are not known, or have no file, would take the room of others. */
	query__add(&query, " AND m GLOBAL IN (SELECT module FROM ");
	query__table(&query, tables, "modules");
	query__add(&query, " WHERE ");
	add_part(symbolizer, "module", &query);
	query__add(&query, ") AND m GLOBAL NOT IN (");
	add_absent(symbolizer, &query);
	query__add(&query, ") AND (m, o) GLOBAL NOT IN (SELECT module, offset FROM ");
	query__table(&query, tables, "symbols");
	query__add(&query, " WHERE ");
	add_part(symbolizer, "module", &query);
	query__add(&query, ") ORDER BY m, o LIMIT ");
	query__number(&query, MOST_PLACES);
	query__add(&query, " FORMAT TabSeparated");
	err = connection__ask(symbolizer->connection, &query, 2, take_place, symbolizer);
	symbolizer->ret->is_cut = symbolizer->ret->places == MOST_PLACES;
	return err;
}

static int take_module(void *context, char *const *fields)
{
	struct symbolizer *symbolizer = context;
	struct wanted *wanted;
	uint64_t module;
	int err = tsv__number(fields[0], &module);

	wanted = err ? NULL : map__get(&symbolizer->modules, module);
	/* Nobody asked for it, or it came before. */
	if (!wanted || wanted->build_id)
		return err;
	wanted->build_id = strdup(fields[1]);
	wanted->kind = strdup(fields[2]);
	wanted->path = strdup(fields[3]);
	return wanted->build_id && wanted->kind && wanted->path ? 0 : -ENOMEM;
}

/* Asks for some of the modules that have places. *at: as of map__next(). */
static int load_some(struct symbolizer *symbolizer, size_t *at, bool *ret_is_over)
{
	cleanup(query__release) struct query query = {};
	const struct wanted *wanted;
	size_t count = 0;

	query__begin(&query);
	query__add(&query, "SELECT module, argMax(build_id, last_seen), argMax(kind, last_seen), "
			   "argMax(path, last_seen) FROM ");
	query__table(&query, connection__tables(symbolizer->connection), "modules");
	query__add(&query, " WHERE module IN (");
	while (count < MODULES_AT_ONCE && (wanted = map__next(&symbolizer->modules, at))) {
		query__add(&query, count++ ? "," : "");
		query__number(&query, wanted->module);
	}
	query__add(&query, ") GROUP BY module FORMAT TabSeparated");
	*ret_is_over = count < MODULES_AT_ONCE;
	return count ? connection__ask(symbolizer->connection, &query, 4, take_module, symbolizer)
		     : 0;
}

/* A fleet may have more modules than an answer may have rows. */
static int load_modules(struct symbolizer *symbolizer)
{
	bool is_over = false;
	size_t at = 0;
	int err = 0;

	while (!err && !is_over)
		err = load_some(symbolizer, &at, &is_over);
	return err;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void begin_rows(struct symbolizer *symbolizer)
{
	query__release(&symbolizer->rows);
	query__begin(&symbolizer->rows);
	query__add(&symbolizer->rows, "INSERT INTO ");
	query__table(&symbolizer->rows, connection__tables(symbolizer->connection), "symbols");
	query__add(&symbolizer->rows, " (module, offset, functions, files, lines, ver) VALUES ");
	symbolizer->row_count = 0;
}

static int send_rows(struct symbolizer *symbolizer)
{
	int err = 0;

	if (symbolizer->row_count)
		err = connection__tell(symbolizer->connection, &symbolizer->rows);
	begin_rows(symbolizer);
	return err;
}

/* Lists are read with line ends between texts, so a text has none. */
static void quote_line(struct query *query, const char *text)
{
	cleanup(free_p) char *line = strdup(text);

	if (!line) {
		query->failed = true;
		return;
	}
	for (char *at = line; (at = strchr(at, '\n'));)
		*at = ' ';
	query__quote(query, line);
}

static int add_row(struct symbolizer *symbolizer, uint64_t offset, const struct symbol_chain *chain)
{
	struct query *rows = &symbolizer->rows;

	query__add(rows, symbolizer->row_count++ ? ",(" : "(");
	query__number(rows, symbolizer->module);
	query__add(rows, ",");
	query__number(rows, offset);
	query__add(rows, ",[");
	for (int i = 0; i < chain->count; i++) {
		query__add(rows, i ? "," : "");
		quote_line(rows, chain->frames[i].name);
	}
	query__add(rows, "],[");
	for (int i = 0; i < chain->count; i++) {
		query__add(rows, i ? "," : "");
		quote_line(rows, chain->frames[i].file ? chain->frames[i].file : "");
	}
	query__add(rows, "],[");
	for (int i = 0; i < chain->count; i++) {
		query__add(rows, i ? "," : "");
		query__number(rows, chain->frames[i].line);
	}
	query__add(rows, "],");
	query__moment(rows, symbolizer->options->now_s);
	query__add(rows, ")");
	return symbolizer->row_count < ROWS_AT_ONCE ? 0 : send_rows(symbolizer);
}

static int take_chain(void *context, size_t index, const struct symbol_chain *chain,
		      uint64_t offset)
{
	struct symbolizer *symbolizer = context;

	(void)offset;
	if (!chain->count)
		return 0;
	symbolizer->named++;
	symbolizer->is_named[index] = true;
	return add_row(symbolizer, symbolizer->offsets[index], chain);
}

static int set_state(struct symbolizer *symbolizer, uint64_t module, const char *state)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "INSERT INTO ");
	query__table(&query, connection__tables(symbolizer->connection), "symbols_state");
	query__add(&query, " (module, symbols, ver) VALUES (");
	query__number(&query, module);
	query__add(&query, ",");
	query__quote(&query, state);
	query__add(&query, ",");
	query__moment(&query, symbolizer->options->now_s);
	query__add(&query, ")");
	return connection__tell(symbolizer->connection, &query);
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * The kernel is loaded elsewhere than its file says, so agents count from a symbol at the begin of
 * its text, and say which by the name of the module (agent/kernel_code.h).
 */
static const char *base_of(const struct wanted *wanted)
{
	if (strcmp(wanted->kind, "kernel") != 0)
		return NULL;
	return !strcmp(wanted->path, "vmlinux (from _stext)") ? "_stext" : "_text";
}

/*
 * Modules of the kernel are relocatable files. Where each of their sections is loaded depends on
 * the machine, because the kernel adds sections of its own.
 */
static bool is_kernel_module(const struct wanted *wanted)
{
	size_t length = strlen(wanted->path);

	return !strcmp(wanted->kind, "kernel") && length > 3 &&
	       !strcmp(wanted->path + length - 3, ".ko");
}

/* `key` tells the namer one try from another. */
static int ask_namer(struct symbolizer *symbolizer, struct namer *namer,
		     const struct wanted *wanted, const char *root, uint64_t key)
{
	struct namer_question question = {
		.kind = NAMER_MODULE,
		.module = { .key = key,
			    .fd = -1,
			    .path = wanted->path,
			    .root = root,
			    .build_id = wanted->build_id,
			    .by_id = true,
			    .base = base_of(wanted) },
	};
	int err = 0;

	symbolizer->module = wanted->module;
	for (size_t i = 0; i < wanted->count && !err; i += question.count) {
		size_t left = wanted->count - i;

		symbolizer->offsets = question.addresses = wanted->offsets + i;
		symbolizer->is_named = wanted->is_named + i;
		question.count = left < ADDRESSES ? left : ADDRESSES;
		err = namer__ask(namer, &question, take_chain, symbolizer);
	}
	namer__leave(namer, NAMER_MODULE, key);
	return err;
}

/* Directories first, then this machine, then debuginfod, until one has names. */
static int find_names(struct symbolizer *symbolizer, const struct wanted *wanted)
{
	const char *const *directories = symbolizer->options->directories;
	uint64_t key = wanted->module;
	int err = 0;

	symbolizer->named = 0;
	for (size_t i = 0; directories && directories[i] && !err && !symbolizer->named; i++) {
		err = ask_namer(symbolizer, symbolizer->local, wanted, directories[i], key);
		key += DIRECTORY_ONES;
	}
	if (!err && !symbolizer->named)
		err = ask_namer(symbolizer, symbolizer->remote, wanted, "", wanted->module);
	return err;
}

/* A place in a known file without a name gets a row without functions: it is not asked for again.
 */
static int add_nameless(struct symbolizer *symbolizer, const struct wanted *wanted)
{
	static const struct symbol_chain none;
	int err = 0;

	for (size_t i = 0; i < wanted->count && !err; i++)
		if (!wanted->is_named[i])
			err = add_row(symbolizer, wanted->offsets[i], &none);
	return err ?: send_rows(symbolizer);
}

static uint64_t unanswered(const struct symbolizer *symbolizer)
{
	return namer__quality(symbolizer->local).unanswered +
	       namer__quality(symbolizer->remote).unanswered;
}

/* A module without names: is there no file, or did the search fail? */
static int end_nameless(struct symbolizer *symbolizer, const struct wanted *wanted, bool has_failed,
			symbolizer_say_fn say_absent)
{
	if (has_failed) {
		symbolizer->ret->failed++;
		return set_state(symbolizer, wanted->module, "failed");
	}
	if (is_kernel_module(wanted)) {
		symbolizer->ret->kernel_modules++;
	} else {
		symbolizer->ret->absent++;
		if (say_absent)
			say_absent(wanted->path, wanted->build_id);
	}
	return set_state(symbolizer, wanted->module, "absent");
}

static int name_module(struct symbolizer *symbolizer, struct wanted *wanted,
		       symbolizer_say_fn say_absent)
{
	uint64_t before = unanswered(symbolizer);
	int err = 0;

	symbolizer->named = 0;
	wanted->is_named = calloc(wanted->count, sizeof(*wanted->is_named));
	if (!wanted->is_named)
		return -ENOMEM;
	/* Generated code has no file; its names come from its host. */
	if (*wanted->build_id && strcmp(wanted->kind, "jit") != 0 && !is_kernel_module(wanted))
		err = find_names(symbolizer, wanted);
	if (err)
		return err;
	symbolizer->ret->modules++;
	symbolizer->ret->named += symbolizer->named;
	if (symbolizer->named) {
		err = add_nameless(symbolizer, wanted);
		return err ?: set_state(symbolizer, wanted->module, "ready");
	}
	return end_nameless(symbolizer, wanted, unanswered(symbolizer) > before, say_absent);
}

static int start_namers(struct symbolizer *symbolizer)
{
	const struct namer_options local = { .no_debuginfod = true, .memory_bytes = HELPER_BYTES };
	const struct namer_options remote = { .no_debuginfod = symbolizer->options->no_debuginfod,
					      .memory_bytes = HELPER_BYTES };
	int err = namer__new(&local, &symbolizer->local);

	return err ?: namer__new(&remote, &symbolizer->remote);
}

int symbolizer__run(struct connection *connection, const struct symbolizer_options *options,
		    symbolizer_say_fn say_absent, struct symbolizer_result *ret)
{
	cleanup(symbolizer__release) struct symbolizer symbolizer = { .connection = connection,
								      .options = options,
								      .ret = ret };
	struct wanted *wanted;
	size_t at = 0;
	int err = start_namers(&symbolizer);

	err = err ?: load_places(&symbolizer);
	err = err ?: load_modules(&symbolizer);
	if (err)
		return err;
	begin_rows(&symbolizer);
	while (!err && (wanted = map__next(&symbolizer.modules, &at)))
		/* Its row may have expired since its places were read. */
		if (wanted->build_id)
			err = name_module(&symbolizer, wanted, say_absent);
	ret->downloads_ended = namer__quality(symbolizer.remote).downloads_ended;
	ret->refused = namer__quality(symbolizer.local).refused +
		       namer__quality(symbolizer.remote).refused;
	return err;
}
