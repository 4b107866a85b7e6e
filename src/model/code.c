/*
 * Functions and call paths. The recording has a tree of frames, which are addresses; a person wants
 * functions. So the tree is folded: two call sites in one function are one node, a frame with
 * inlined functions is as many nodes. Everything later works on that smaller tree.
 *
 * What refers to a row that is not there (a recorder was killed, a file was made by hand) costs a
 * counter: the frame has no name, the stack no caller. A stack's parent must come before it, which
 * also rules out circles.
 */
#include "model/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* Inlined functions at one address; real ones have a dozen. */
#define MOST_LINES 64
/* Functions in a stack, and in all: a small file may ask for more than any memory holds. */
#define MOST_DEPTH 8192
#define MOST_NODES (1 << 24)

typedef int take_row(struct code *code, sqlite3_stmt *row);

uint32_t code__find(const struct code_ids *ids, int64_t id)
{
	size_t low = 0, high = ids->count;

	/* Mostly they are numbered through. */
	if (high && id >= ids->list[0] && (uint64_t)id - (uint64_t)ids->list[0] < high &&
	    ids->list[id - ids->list[0]] == id)
		return (uint32_t)(id - ids->list[0]);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->list[middle] == id)
			return (uint32_t)middle;
		if (ids->list[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return CODE_NONE;
}

/* The next element of an array whose ids are `ids`; NULL when out of memory. */
static void *add_row(void *array, struct code_ids *ids, int64_t id, size_t size)
{
	size_t count = ids->count;
	void *element = load__append(array, &count, size);
	int64_t *at;

	if (!element)
		return NULL;
	at = APPEND(&ids->list, &ids->count);
	if (!at)
		return NULL;
	*at = id;
	return element;
}
#define ADD_ROW(array, ids, id) ((__typeof__(*(array)))add_row(array, ids, id, sizeof(**(array))))

static struct hot_function *add_function(struct hot *hot, const char *name, uint32_t *ret)
{
	struct hot_function *function = APPEND(&hot->functions, &hot->function_count);

	if (!function)
		return NULL;
	*ret = function->row = (uint32_t)(hot->function_count - 1);
	function->name = name;
	return function;
}

static int take_module(struct code *code, sqlite3_stmt *row)
{
	struct code_module *module =
		ADD_ROW(&code->modules, &code->module_ids, sqlite3_column_int64(row, 0));
	const char *kind = (const char *)sqlite3_column_text(row, 1);

	if (!module)
		return -ENOMEM;
	module->kernel = kind && !strcmp(kind, "kernel");
	module->path = load__keep(code->model, (const char *)sqlite3_column_text(row, 2));
	module->row = CODE_NONE;
	return 0;
}

static const struct code_module *module_at(const struct code *code, int64_t id)
{
	uint32_t at = code__find(&code->module_ids, id);

	return at == CODE_NONE ? NULL : &code->modules[at];
}

static int take_function(struct code *code, sqlite3_stmt *row)
{
	uint32_t *at = ADD_ROW(&code->functions, &code->function_ids, sqlite3_column_int64(row, 0));
	const struct code_module *module = module_at(code, sqlite3_column_int64(row, 1));
	const char *name = load__keep(code->model, (const char *)sqlite3_column_text(row, 2));
	struct hot_function *function =
		at ? add_function(&code->model->hot, name ? name : "?", at) : NULL;

	if (!function)
		return -ENOMEM;
	function->named = true;
	function->module = module ? module->path : NULL;
	function->kernel = module && module->kernel;
	function->file = load__keep(code->model, (const char *)sqlite3_column_text(row, 3));
	function->line = sqlite3_column_int64(row, 4);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* "libfoo.so+0x1234", as in the view `frames`. */
static int add_unnamed(struct code *code, sqlite3_stmt *row, uint32_t *ret)
{
	uint32_t at = code__find(&code->module_ids, sqlite3_column_int64(row, 1));
	struct code_module *module = at == CODE_NONE ? NULL : &code->modules[at];
	struct hot_function *function;
	char name[512];

	snprintf(name, sizeof(name), "%.480s+0x%llx",
		 module && module->path ? base_name(module->path) : "?",
		 (unsigned long long)sqlite3_column_int64(row, 2));
	function = add_function(&code->model->hot, load__keep(code->model, name), ret);
	if (!function || !function->name)
		return -ENOMEM;
	if (!module)
		return 0;
	if (module->row == CODE_NONE)
		module->row = *ret;
	function->row = module->row;
	function->module = module->path;
	function->kernel = module->kernel;
	return 0;
}

/* One function of a frame; a frame's rows follow each other. */
static int take_line(struct code *code, sqlite3_stmt *row)
{
	int64_t id = sqlite3_column_int64(row, 0);
	size_t count = code->frame_ids.count;
	bool more = count && code->frame_ids.list[count - 1] == id;
	uint32_t at = sqlite3_column_type(row, 3) == SQLITE_NULL
			      ? CODE_NONE
			      : code__find(&code->function_ids, sqlite3_column_int64(row, 3));
	struct code_frame *frame;
	uint32_t *line;
	int err = 0;

	if (more)
		frame = &code->frames[count - 1];
	else
		frame = ADD_ROW(&code->frames, &code->frame_ids, id);
	if (!frame)
		return -ENOMEM;
	if (frame->count == MOST_LINES)
		return 0;
	line = APPEND(&code->lines, &code->line_count);
	if (!line)
		return -ENOMEM;
	if (!frame->count++)
		frame->first = (uint32_t)(code->line_count - 1);
	frame->named |= at != CODE_NONE;
	if (at != CODE_NONE)
		*line = code->functions[at];
	else
		err = add_unnamed(code, row, line);
	return err;
}

/* The node of `function` called from `parent`. */
static int descend(struct code *code, uint32_t parent, uint32_t function, uint32_t *ret)
{
	struct hot *hot = &code->model->hot;
	uint64_t key = (uint64_t)parent << 32 | function;
	uintptr_t known = (uintptr_t)map__get(&code->edges, key);
	uint32_t at = (uint32_t)hot->node_count;
	struct hot_node *node;

	if (known) {
		*ret = (uint32_t)(known - 1);
		return 0;
	}
	if (hot->node_count >= MOST_NODES)
		return -E2BIG;
	node = APPEND(&hot->nodes, &hot->node_count);
	if (!node || map__put(&code->edges, key, (void *)(uintptr_t)(at + 1ULL)))
		return -ENOMEM;
	node->parent = parent;
	node->function = function;
	node->user = hot->functions[function].kernel ? hot->nodes[parent].user : at;
	node->next = hot->nodes[parent].first;
	hot->nodes[parent].first = at;
	*ret = at;
	return 0;
}

static int take_stack(struct code *code, sqlite3_stmt *row)
{
	int64_t id = sqlite3_column_int64(row, 0), caller = sqlite3_column_int64(row, 1);
	uint32_t parent = code__find(&code->stack_ids, caller);
	uint32_t at = code__find(&code->frame_ids, sqlite3_column_int64(row, 2));
	const struct code_frame *frame = at == CODE_NONE ? NULL : &code->frames[at];
	struct code_stack *stack = ADD_ROW(&code->stacks, &code->stack_ids, id);
	int err = 0;

	if (!stack)
		return -ENOMEM;
	if (parent != CODE_NONE)
		*stack = code->stacks[parent];
	code->model->hot.torn += (caller && parent == CODE_NONE) || !frame;
	stack->depth += frame ? frame->count : 0;
	if (stack->depth > MOST_DEPTH)
		return -EBADMSG;
	stack->frames++;
	stack->unnamed += !frame || !frame->named;
	for (uint32_t i = frame ? frame->count : 0; i && !err; i--)
		err = descend(code, stack->node, code->lines[frame->first + i - 1], &stack->node);
	return err;
}

static int each_row(struct code *code, sqlite3 *db, const char *sql, take_row *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(code->model, db, sql, &row), rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take(code, row) : load__error(rc);
	return err;
}

int code__load(struct code *code, sqlite3 *db)
{
	struct hot *hot = &code->model->hot;
	const struct hot_node *root = APPEND(&hot->nodes, &hot->node_count);
	uint32_t none;
	int err;

	if (!root || !add_function(hot, "[no stack]", &none))
		return -ENOMEM;
	err = each_row(code, db, "SELECT id, kind, path FROM module ORDER BY id", take_module);
	if (!err)
		err = each_row(code, db,
			       "SELECT id, module, name, file, start_line FROM function"
			       " ORDER BY id",
			       take_function);
	if (!err)
		err = each_row(code, db,
			       "SELECT f.id, f.module, f.address, l.function FROM frame f"
			       " LEFT JOIN frame_line l ON l.frame = f.id"
			       " ORDER BY f.id, l.depth",
			       take_line);
	if (!err)
		err = each_row(code, db, "SELECT id, parent, frame FROM stack ORDER BY id",
			       take_stack);
	return err;
}

void code__release(struct code *code)
{
	free(code->module_ids.list);
	free(code->function_ids.list);
	free(code->frame_ids.list);
	free(code->stack_ids.list);
	free(code->modules);
	free(code->functions);
	free(code->frames);
	free(code->lines);
	free(code->stacks);
	map__release(&code->edges);
}
