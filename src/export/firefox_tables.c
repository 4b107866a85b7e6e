/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that all threads share: libraries, functions, frames, stacks, strings. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/firefox.h"

/* Addresses outside files are too large for a JavaScript number, and mean nothing to the viewer. */
static bool is_file(const struct code_module *module)
{
	return !strcmp(module->kind, "file") || !strcmp(module->kind, "vdso");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Formats a build ID as Breakpad symbol servers spell it: its first 16 bytes as a GUID, with the
 * first three fields byte-swapped, and an age of 0.
 */
static void breakpad_id(const char *build_id, char ret[34])
{
	static const int order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t length = build_id ? strlen(build_id) : 0;

	memset(ret, '0', 33);
	ret[33] = '\0';
	for (int i = 0; i < 32; i++) {
		size_t from = (size_t)order[i / 2] * 2 + i % 2;

		if (from < length)
			ret[i] = (char)toupper((unsigned char)build_id[from]);
	}
}

int firefox__write_libs(struct firefox *firefox)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "libs", '[');
	for (size_t i = 0; i < firefox->profile->code.module_count; i++) {
		const struct code_module *module = &firefox->profile->code.modules[i];
		char id[34];

		if (!is_file(module))
			continue;
		breakpad_id(module->build_id, id);
		json_out__open(out, NULL, '{');
		json_out__text(out, "arch", "x86_64");
		json_out__text(out, "name", base_name(module->path));
		json_out__text(out, "path", module->path);
		json_out__text(out, "debugName", base_name(module->path));
		json_out__text(out, "debugPath", module->path);
		json_out__text(out, "breakpadId", id);
		json_out__text(out, "codeId", module->build_id);
		json_out__close(out, '}');
	}
	json_out__close(out, ']');
	return 0;
}

/* Data for the columns, computed once. */
struct tables {
	int64_t *libs;     /* by module; or FIREFOX_NULL */
	int64_t *natives;  /* by physical function in a file; or FIREFOX_NULL */
	uint32_t *symbols; /* functions that have a native symbol, in order */
	uint64_t *lowest;  /* by symbol: the lowest address seen */
	size_t symbol_count;
	struct strings files;
	int64_t *sources; /* by function; or FIREFOX_NULL */
};

static void release(struct tables *tables)
{
	free(tables->libs);
	free(tables->natives);
	free(tables->symbols);
	free(tables->lowest);
	strings__release(&tables->files);
	free(tables->sources);
}

/* The physical function at a frame. The others are inlined into it. */
static uint32_t outer_function(const struct profile *profile, const struct code_frame *frame)
{
	return profile->code.lines[frame->first_line + frame->line_count - 1].function;
}

/*
 * The viewer uses symbols to recognize inlined functions. The start of a function is not known, so
 * its lowest address seen is used.
 */
static void find_symbols(struct tables *tables, const struct profile *profile)
{
	for (size_t i = 0; i < profile->code.function_count; i++)
		tables->natives[i] = FIREFOX_NULL;
	for (size_t i = 0; i < profile->code.frame_count; i++) {
		const struct code_frame *frame = &profile->code.frames[i];
		uint32_t function = outer_function(profile, frame);
		int64_t *native = &tables->natives[function];

		if (tables->libs[frame->module] == FIREFOX_NULL)
			continue;
		if (*native == FIREFOX_NULL) {
			*native = (int64_t)tables->symbol_count++;
			tables->symbols[*native] = function;
			tables->lowest[*native] = frame->address;
		}
		if (frame->address < tables->lowest[*native])
			tables->lowest[*native] = frame->address;
	}
}

static int find_sources(struct tables *tables, const struct profile *profile)
{
	for (size_t i = 0; i < profile->code.function_count; i++) {
		uint32_t source = 0;
		const char *file = profile->code.functions[i].file;
		int err = file ? strings__add(&tables->files, file, &source) : 0;

		if (err)
			return err;
		tables->sources[i] = file ? source : FIREFOX_NULL;
	}
	return 0;
}

static int prepare(struct tables *tables, const struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	int64_t libs = 0;

	tables->libs = calloc(profile->code.module_count + 1, sizeof(*tables->libs));
	tables->natives = calloc(profile->code.function_count + 1, sizeof(*tables->natives));
	tables->symbols = calloc(profile->code.function_count + 1, sizeof(*tables->symbols));
	tables->lowest = calloc(profile->code.function_count + 1, sizeof(*tables->lowest));
	tables->sources = calloc(profile->code.function_count + 1, sizeof(*tables->sources));
	if (!tables->libs || !tables->natives || !tables->symbols || !tables->lowest ||
	    !tables->sources)
		return -ENOMEM;
	for (size_t i = 0; i < profile->code.module_count; i++)
		tables->libs[i] = is_file(&profile->code.modules[i]) ? libs++ : FIREFOX_NULL;
	find_symbols(tables, profile);
	return find_sources(tables, profile);
}

static void write_stacks(struct firefox *firefox)
{
	const struct calltree *calls = firefox->calls;
	const struct calltree_node *nodes = calls->nodes;

	json_out__open(&firefox->out, "stackTable", '{');
	json_out__number(&firefox->out, "length", (int64_t)calls->node_count);
	FIREFOX_COLUMN(firefox, "frame", i, calls->node_count, nodes[i].frame);
	FIREFOX_COLUMN(firefox, "prefixOffset", i, calls->node_count,
		       nodes[i].parent == PROFILE_NONE ? 0 : (int64_t)(i - nodes[i].parent));
	json_out__close(&firefox->out, '}');
}

static uint32_t category_of(const struct firefox *firefox, const struct calltree_frame *row)
{
	const struct profile *profile = firefox->profile;
	enum code_language language;

	if (row->state != PROFILE_NONE)
		return firefox->categories[row->state];
	if (row->frame == PROFILE_NONE)
		return FIREFOX_OTHER;
	language = code__language(&profile->code, row->function);
	if (firefox->languages[language])
		return firefox->languages[language];
	return language == LANGUAGE_KERNEL      ? FIREFOX_KERNEL
	       : language == LANGUAGE_GENERATED ? FIREFOX_JIT
						: FIREFOX_USER;
}

static int64_t address_of(const struct tables *tables, const struct profile *profile,
			  const struct calltree_frame *row)
{
	const struct code_frame *frame;

	if (row->frame == PROFILE_NONE)
		return -1;
	frame = &profile->code.frames[row->frame];
	if (tables->libs[frame->module] == FIREFOX_NULL || frame->address > UINT32_MAX)
		return -1;
	return (int64_t)frame->address;
}

static int64_t native_of(const struct tables *tables, const struct profile *profile,
			 const struct calltree_frame *row)
{
	if (row->frame == PROFILE_NONE)
		return FIREFOX_NULL;
	return tables->natives[outer_function(profile, &profile->code.frames[row->frame])];
}

static int64_t known(uint32_t number)
{
	return number ? number : FIREFOX_NULL;
}

static void write_frames(struct firefox *firefox, const struct tables *tables)
{
	const struct profile *profile = firefox->profile;
	const struct code_line *lines = profile->code.lines;
	const struct calltree_frame *rows = firefox->calls->frames;
	size_t count = firefox->calls->frame_count;

	json_out__open(&firefox->out, "frameTable", '{');
	json_out__number(&firefox->out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "address", i, count, address_of(tables, profile, &rows[i]));
	FIREFOX_COLUMN(firefox, "inlineDepth", i, count, rows[i].inlined);
	FIREFOX_COLUMN(firefox, "category", i, count, category_of(firefox, &rows[i]));
	FIREFOX_COLUMN(firefox, "subcategory", i, count,
		       rows[i].state == PROFILE_NONE ? 0 : firefox->subcategories[rows[i].state]);
	FIREFOX_COLUMN(firefox, "func", i, count, rows[i].function);
	FIREFOX_COLUMN(firefox, "nativeSymbol", i, count, native_of(tables, profile, &rows[i]));
	FIREFOX_COLUMN(firefox, "innerWindowID", i, count, FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "line", i, count,
		       rows[i].line == PROFILE_NONE ? FIREFOX_NULL
						    : known(lines[rows[i].line].line));
	FIREFOX_COLUMN(firefox, "column", i, count,
		       rows[i].line == PROFILE_NONE ? FIREFOX_NULL
						    : known(lines[rows[i].line].column));
	FIREFOX_COLUMN(firefox, "originalLocation", i, count, FIREFOX_NULL);
	json_out__close(&firefox->out, '}');
}

/* Which functions are JavaScript. */
static void write_js(struct firefox *firefox, const char *key, size_t count)
{
	const struct code *code = &firefox->profile->code;

	json_out__open(&firefox->out, key, '[');
	for (uint32_t i = 0; i < count; i++)
		json_out__bool(&firefox->out, NULL,
			       i < code->function_count &&
				       code__language(code, i) == LANGUAGE_JAVASCRIPT);
	json_out__close(&firefox->out, ']');
}

/* The module's file, or the language of a runtime. */
static const char *resource_name(const struct code_module *module)
{
	const struct runtime_words *words = runtime__words(runtime__find(module->kind));

	return words ? words->language : base_name(module->path);
}

/* Functions keep their indexes. Frames of words follow, each with a function of its own. */
static void write_functions(struct firefox *firefox, const struct tables *tables)
{
	const struct code_function *functions = firefox->profile->code.functions;
	size_t real = firefox->profile->code.function_count,
	       count = real + firefox->calls->words.names.count;

	json_out__open(&firefox->out, "funcTable", '{');
	json_out__number(&firefox->out, "length", (int64_t)count);
	FIREFOX_COLUMN(
		firefox, "name", i, count,
		firefox__text(firefox, i < real ? functions[i].name
						: firefox->calls->words.names.texts[i - real]));
	write_js(firefox, "isJS", count);
	write_js(firefox, "relevantForJS", count);
	FIREFOX_COLUMN(firefox, "resource", i, count, i < real ? (int64_t)functions[i].module : -1);
	FIREFOX_COLUMN(firefox, "source", i, count, i < real ? tables->sources[i] : FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "lineNumber", i, count,
		       i < real ? known(functions[i].start_line) : FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "columnNumber", i, count, FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "originalLocation", i, count, FIREFOX_NULL);
	json_out__close(&firefox->out, '}');
}

/* Resources have the indexes of modules. */
static void write_resources(struct firefox *firefox, const struct tables *tables)
{
	const struct profile *profile = firefox->profile;
	size_t count = profile->code.module_count;

	json_out__open(&firefox->out, "resourceTable", '{');
	json_out__number(&firefox->out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "lib", i, count, tables->libs[i]);
	FIREFOX_COLUMN(firefox, "name", i, count,
		       firefox__text(firefox, resource_name(&profile->code.modules[i])));
	FIREFOX_COLUMN(firefox, "host", i, count, FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "type", i, count, 1); /* a library */
	json_out__close(&firefox->out, '}');
}

static void write_symbols(struct firefox *firefox, const struct tables *tables)
{
	const struct code_function *functions = firefox->profile->code.functions;
	const uint32_t *symbols = tables->symbols;
	size_t count = tables->symbol_count;

	json_out__open(&firefox->out, "nativeSymbols", '{');
	json_out__number(&firefox->out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "libIndex", i, count, tables->libs[functions[symbols[i]].module]);
	FIREFOX_COLUMN(firefox, "address", i, count,
		       tables->lowest[i] <= UINT32_MAX ? (int64_t)tables->lowest[i] : 0);
	FIREFOX_COLUMN(firefox, "name", i, count,
		       firefox__text(firefox, functions[symbols[i]].name));
	FIREFOX_COLUMN(firefox, "functionSize", i, count, FIREFOX_NULL);
	json_out__close(&firefox->out, '}');
}

static void write_sources(struct firefox *firefox, const struct tables *tables)
{
	size_t count = tables->files.names.count;

	json_out__open(&firefox->out, "sources", '{');
	json_out__number(&firefox->out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "id", i, count, FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "filename", i, count,
		       firefox__text(firefox, tables->files.names.texts[i]));
	FIREFOX_COLUMN(firefox, "startLine", i, count, 1);
	FIREFOX_COLUMN(firefox, "startColumn", i, count, 1);
	FIREFOX_COLUMN(firefox, "sourceMapURL", i, count, FIREFOX_NULL);
	FIREFOX_COLUMN(firefox, "content", i, count, FIREFOX_NULL);
	json_out__close(&firefox->out, '}');
}

/* For code compiled to JavaScript. The format requires the table. */
static void write_locations(struct firefox *firefox)
{
	static const char *const columns[] = { "source", "line", "column" };

	json_out__open(&firefox->out, "sourceLocationTable", '{');
	json_out__number(&firefox->out, "length", 0);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		json_out__open(&firefox->out, columns[i], '[');
		json_out__close(&firefox->out, ']');
	}
	json_out__close(&firefox->out, '}');
}

int firefox__write_shared(struct firefox *firefox)
{
	cleanup(release) struct tables tables = {};
	struct json_out *out = &firefox->out;
	int err = prepare(&tables, firefox);

	if (err)
		return err;
	json_out__open(out, "shared", '{');
	write_stacks(firefox);
	write_frames(firefox, &tables);
	write_functions(firefox, &tables);
	write_resources(firefox, &tables);
	write_symbols(firefox, &tables);
	write_sources(firefox, &tables);
	write_locations(firefox);
	json_out__open(out, "stringArray", '[');
	for (size_t i = 0; i < firefox->strings.names.count; i++)
		json_out__text(out, NULL, firefox->strings.names.texts[i]);
	json_out__close(out, ']');
	json_out__close(out, '}');
	return 0;
}
