/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/load.h"

struct hot_function *fold__add_function(struct hot *hot, const char *name, uint32_t *ret)
{
	struct hot_function *function = APPEND(&hot->functions, &hot->function_count);

	if (!function)
		return NULL;
	*ret = function->row = (uint32_t)(hot->function_count - 1);
	function->name = name;
	return function;
}

/* Function i of `code` becomes function i + 1 here, because 0 stands for "no stack". */
static int add_functions(struct hot *hot, const struct code *code)
{
	cleanup(free_p) uint32_t *rows = calloc(code->module_count + 1, sizeof(*rows));
	uint32_t at;

	if (!rows || !fold__add_function(hot, "[no stack]", &at))
		return -ENOMEM;
	for (size_t i = 0; i < code->function_count; i++) {
		const struct code_function *from = &code->functions[i];
		const struct code_module *module = &code->modules[from->module];
		struct hot_function *function = fold__add_function(hot, from->name, &at);

		if (!function)
			return -ENOMEM;
		function->named = from->named;
		function->module = strcmp(module->path, "?") ? module->path : NULL;
		function->kernel = !strcmp(module->kind, "kernel");
		function->language = code__language(code, (uint32_t)i);
		function->is_managed = code__is_managed(code, (uint32_t)i);
		function->is_internal = code__is_internal(code, (uint32_t)i);
		function->file = from->file;
		function->line = from->start_line;
		if (from->named)
			continue;
		if (!rows[from->module])
			rows[from->module] = at;
		function->row = rows[from->module];
	}
	return 0;
}

/* An internal function works for the managed one that called it, through others like itself. */
static uint32_t own_node(const struct hot *hot, uint32_t at)
{
	const struct hot_node *node = &hot->nodes[at];
	uint32_t caller = hot->nodes[node->parent].own;

	if (!hot->functions[node->function].is_internal)
		return at;
	return hot->functions[hot->nodes[caller].function].is_managed ? caller : at;
}

/* Finds or adds the node of `function` under `parent`. */
static int descend(struct fold *fold, struct hot *hot, uint32_t parent, uint32_t function,
		   uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	uintptr_t known = (uintptr_t)map__get(&fold->edges, key);
	uint32_t at = (uint32_t)hot->node_count;
	struct hot_node *node;

	if (known) {
		*ret = (uint32_t)(known - 1);
		return 0;
	}
	if (hot->node_count >= CODE_MOST_NODES)
		return -E2BIG;
	node = APPEND(&hot->nodes, &hot->node_count);
	if (!node || map__put(&fold->edges, key, (void *)(uintptr_t)(at + 1ULL)))
		return -ENOMEM;
	node->parent = parent;
	node->function = function;
	node->user = hot->functions[function].kernel ? hot->nodes[parent].user : at;
	node->managed = hot->functions[function].is_managed ? at : hot->nodes[parent].managed;
	node->own = own_node(hot, at);
	node->next = hot->nodes[parent].first;
	hot->nodes[parent].first = at;
	*ret = at;
	return 0;
}

static int fold_stack(struct fold *fold, struct hot *hot, size_t at)
{
	const struct code *code = &fold->code;
	const struct code_stack *from = &code->stacks[at];
	const struct code_frame *frame = &code->frames[from->frame];
	const struct code_line *lines = &code->lines[frame->first_line];
	struct fold_stack *stack = &fold->stacks[at];
	int err = 0;

	if (from->parent != CODE_NONE)
		*stack = fold->stacks[from->parent];
	stack->frames++;
	stack->unnamed += !code->functions[lines->function].named;
	for (uint32_t i = frame->line_count; i && !err; i--)
		err = descend(fold, hot, stack->node, lines[i - 1].function + 1, &stack->node);
	return err;
}

int fold__load(struct fold *fold, struct hot *hot, struct model *model, sqlite3 *db)
{
	const struct hot_node *root = APPEND(&hot->nodes, &hot->node_count);
	int err = root ? code__load(&fold->code, model, db) : -ENOMEM;

	if (!err)
		err = add_functions(hot, &fold->code);
	if (err)
		return err;
	fold->stacks = calloc(fold->code.stack_count + 1, sizeof(*fold->stacks));
	if (!fold->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < fold->code.stack_count && !err; i++)
		err = fold_stack(fold, hot, i);
	return err;
}

const struct fold_stack *fold__stack(struct fold *fold, int64_t id)
{
	uint32_t at = code__stack(&fold->code, id);

	return at == CODE_NONE ? NULL : &fold->stacks[at];
}

void fold__release(struct fold *fold)
{
	code__release(&fold->code);
	free(fold->stacks);
	map__release(&fold->edges);
}
