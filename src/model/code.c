/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/load.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

#define MOST_NAME 4096

/* The state of code__load(). */
struct reading {
	struct code *code;
	struct model *model;
};

typedef int take_row(struct reading *reading, sqlite3_stmt *row);

static int take_module(struct reading *reading, sqlite3_stmt *row)
{
	struct code *code = reading->code;
	struct code_module *module =
		APPEND_ROW(&code->module_ids, row, &code->modules, &code->module_count);

	if (!module)
		return -ENOMEM;
	module->id = sqlite3_column_int64(row, 0);
	module->kind = load__name(reading->model, row, 1);
	module->path = load__name(reading->model, row, 2);
	module->build_id = load__text(reading->model, row, 3);
	return 0;
}

/* Finds a module by id. All ids without a row share one substitute module, named "?". */
static int find_module(struct reading *reading, int64_t id, uint32_t *ret)
{
	struct code *code = reading->code;
	struct code_module *module;

	*ret = ids__find(&code->module_ids, id);
	if (*ret != CODE_NONE)
		return 0;
	if (!code->has_unknown_module) {
		module = APPEND(&code->modules, &code->module_count);
		if (!module)
			return -ENOMEM;
		module->kind = module->path = "?";
		code->has_unknown_module = true;
	}
	*ret = (uint32_t)(code->module_count - 1);
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = text ? strlen(text) : 0, most = strlen(end);

	return text && length >= most && !strcmp(text + length - most, end);
}

static int take_function(struct reading *reading, sqlite3_stmt *row)
{
	struct code *code = reading->code;
	struct code_function *function =
		APPEND_ROW(&code->function_ids, row, &code->functions, &code->function_count);

	int err;

	if (!function)
		return -ENOMEM;
	function->named = true;
	function->name = load__name(reading->model, row, 2);
	function->system_name = load__text(reading->model, row, 3);
	if (!function->system_name)
		function->system_name = function->name;
	function->file = load__text(reading->model, row, 4);
	function->start_line = load__index(row, 5);
	function->source = load__text(reading->model, row, 6);
	err = find_module(reading, sqlite3_column_int64(row, 1), &function->module);
	if (!err && ends_with(function->file, ".go"))
		code->modules[function->module].has_go = true;
	return err;
}

static int take_frame(struct reading *reading, sqlite3_stmt *row)
{
	struct code *code = reading->code;
	struct code_frame *frame =
		APPEND_ROW(&code->frame_ids, row, &code->frames, &code->frame_count);
	int err;

	if (!frame)
		return -ENOMEM;
	err = find_module(reading, sqlite3_column_int64(row, 1), &frame->module);
	if (err)
		return err;
	frame->address = (uint64_t)sqlite3_column_int64(row, 2);
	frame->is_kernel = !strcmp(code->modules[frame->module].kind, "kernel");
	return 0;
}

/* Rows are sorted by frame, then by depth. */
static int take_line(struct reading *reading, sqlite3_stmt *row)
{
	struct code *code = reading->code;
	uint32_t at = ids__find(&code->frame_ids, sqlite3_column_int64(row, 0));
	uint32_t function = ids__find(&code->function_ids, sqlite3_column_int64(row, 1));
	struct code_frame *frame;
	struct code_line *line;

	/* A frame without lines gets a substitute name in name_frames(). */
	if (at == CODE_NONE || function == CODE_NONE)
		return 0;
	frame = &code->frames[at];
	if (!frame->line_count)
		frame->first_line = (uint32_t)code->line_count;
	if (++frame->line_count > CODE_MOST_DEPTH)
		return -EBADMSG;
	line = APPEND(&code->lines, &code->line_count);
	if (!line)
		return -ENOMEM;
	*line = (struct code_line) { function, load__index(row, 2), load__index(row, 3) };
	return 0;
}

/*
 * A frame without a name gets a function of its own, named "module+0xaddress", so that it never
 * vanishes. The view `frames` and the reports use the same name.
 */
static int name_frame(struct reading *reading, struct code_frame *frame)
{
	struct code *code = reading->code;
	const struct code_module *module = &code->modules[frame->module];
	const char *slash = strrchr(module->path, '/');
	const char *base = slash ? slash + 1 : module->path;
	struct code_function *function = APPEND(&code->functions, &code->function_count);
	struct code_line *line = APPEND(&code->lines, &code->line_count);
	char name[MOST_NAME];

	if (!function || !line)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, MOST_NAME - 32, base, frame->address);
	function->module = frame->module;
	function->name = function->system_name = load__keep(reading->model, name);
	line->function = (uint32_t)(code->function_count - 1);
	frame->first_line = (uint32_t)(code->line_count - 1);
	frame->line_count = 1;
	return function->name ? 0 : -ENOMEM;
}

static int name_frames(struct reading *reading)
{
	struct code *code = reading->code;

	for (size_t i = 0; i < code->frame_count; i++) {
		int err = code->frames[i].line_count ? 0 : name_frame(reading, &code->frames[i]);

		if (err)
			return err;
	}
	return 0;
}

/* The substitute frame for stacks whose own frame has no row. One is shared by all such stacks. */
static int find_unknown_frame(struct reading *reading, uint32_t *ret)
{
	struct code *code = reading->code;
	struct code_frame *frame;
	int err = 0;

	if (!code->unknown_frame) {
		frame = APPEND(&code->frames, &code->frame_count);
		if (!frame)
			return -ENOMEM;
		err = find_module(reading, 0, &frame->module);
		if (!err)
			err = name_frame(reading, frame);
		code->unknown_frame = code->frame_count;
	}
	*ret = (uint32_t)(code->unknown_frame - 1);
	return err;
}

static bool is_managed(const struct code_module *module)
{
	return runtime__find(module->kind) != RUNTIME_NONE;
}

/* A file whose code calls a function of a runtime has the interpreter, or the compiler's entries.
 */
static void find_host(struct code *code, uint32_t caller, uint32_t callee)
{
	struct code_module *module = &code->modules[code->frames[caller].module];

	if (!module->is_host && is_managed(&code->modules[code->frames[callee].module]))
		module->is_host = !strcmp(module->kind, "file");
}

static int take_stack(struct reading *reading, sqlite3_stmt *row)
{
	struct code *code = reading->code;
	int64_t parent = sqlite3_column_int64(row, 1);
	uint32_t above = parent ? ids__find(&code->stack_ids, parent) : CODE_NONE;
	uint32_t frame = ids__find(&code->frame_ids, sqlite3_column_int64(row, 2));
	struct code_stack *stack;
	int err = 0;

	code->torn += (parent && above == CODE_NONE) || frame == CODE_NONE;
	if (frame == CODE_NONE)
		err = find_unknown_frame(reading, &frame);
	if (err)
		return err;
	stack = APPEND_ROW(&code->stack_ids, row, &code->stacks, &code->stack_count);
	if (!stack)
		return -ENOMEM;
	stack->parent = above;
	stack->frame = frame;
	if (above != CODE_NONE)
		find_host(code, code->stacks[above].frame, frame);
	stack->depth = above == CODE_NONE ? 0 : code->stacks[above].depth + 1;
	stack->height = code->frames[frame].line_count +
			(above == CODE_NONE ? 0 : code->stacks[above].height);
	return stack->height > CODE_MOST_DEPTH ? -EBADMSG : 0;
}

static int each_row(struct reading *reading, sqlite3 *db, const char *sql, take_row *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(reading->model, db, sql, &row), rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take(reading, row) : load__error(rc);
	return err;
}

/* Without the source of names, as before this column. */
static const char sql_functions[] = "SELECT id, module, name, system_name, file, start_line,"
				    " source FROM function ORDER BY id";
static const char sql_functions_4[] = "SELECT id, module, name, system_name, file, start_line,"
				      " NULL FROM function ORDER BY id";

int code__load(struct code *code, struct model *model, sqlite3 *db)
{
	struct reading reading = { code, model };
	int err = each_row(&reading, db, "SELECT id, kind, path, build_id FROM module ORDER BY id",
			   take_module);

	if (!err)
		err = each_row(&reading, db,
			       load__is_answered(db, sql_functions) ? sql_functions
								    : sql_functions_4,
			       take_function);
	if (!err)
		err = each_row(&reading, db, "SELECT id, module, address FROM frame ORDER BY id",
			       take_frame);
	if (!err)
		err = each_row(&reading, db,
			       "SELECT frame, function, line, column FROM frame_line"
			       " ORDER BY frame, depth",
			       take_line);
	if (!err)
		err = name_frames(&reading);
	if (!err)
		err = each_row(&reading, db, "SELECT id, parent, frame FROM stack ORDER BY id",
			       take_stack);
	return err;
}

uint32_t code__stack(struct code *code, int64_t id)
{
	uint32_t stack = id ? ids__find(&code->stack_ids, id) : CODE_NONE;

	code->torn += id && stack == CODE_NONE;
	return stack;
}

enum code_language code__language(const struct code *code, uint32_t function)
{
	const struct code_function *of = &code->functions[function];
	const struct code_module *module = &code->modules[of->module];

	if (!strcmp(module->kind, "kernel"))
		return LANGUAGE_KERNEL;
	if (!strcmp(module->kind, "jit"))
		return LANGUAGE_GENERATED;
	if (is_managed(module))
		return code_language__of(runtime__find(module->kind));
	if (ends_with(of->file, ".go") ||
	    (module->has_go && (!of->file || ends_with(of->file, ".s"))))
		return LANGUAGE_GO;
	return LANGUAGE_NATIVE;
}

bool code__is_managed(const struct code *code, uint32_t function)
{
	return is_managed(&code->modules[code->functions[function].module]);
}

bool code__is_internal(const struct code *code, uint32_t function)
{
	return code->modules[code->functions[function].module].is_host;
}

void code__release(struct code *code)
{
	free(code->modules);
	free(code->functions);
	free(code->lines);
	free(code->frames);
	free(code->stacks);
	ids__release(&code->module_ids);
	ids__release(&code->function_ids);
	ids__release(&code->frame_ids);
	ids__release(&code->stack_ids);
	*code = (struct code) {};
}
