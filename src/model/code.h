/* Between the files that make struct hot: rows of code and samples into arrays and sums. */
#pragma once

#include "base/map.h"
#include "model/load.h"

#define CODE_NONE UINT32_MAX

/* Ids of rows, in order; a row's place is its index. */
struct code_ids {
	int64_t *list;
	size_t count;
};
uint32_t code__find(const struct code_ids *ids, int64_t id);

struct code_module {
	const char *path;
	uint32_t row; /* the function that stands for those without a name; CODE_NONE: none yet */
	bool kernel;
};

struct code_frame {
	uint32_t first, count; /* of lines: the innermost inlined function first */
	bool named;
};

struct code_stack {
	uint32_t node;
	uint32_t frames, unnamed; /* from here outwards */
	uint32_t depth;           /* functions, likewise */
};

struct code {
	struct model *model;
	struct code_ids module_ids, function_ids, frame_ids, stack_ids;
	struct code_module *modules;
	uint32_t *functions; /* in hot.functions */
	struct code_frame *frames;
	uint32_t *lines; /* in hot.functions */
	size_t line_count;
	struct code_stack *stacks;
	struct map edges; /* parent node and function → node + 1 */
};

/* Reads modules to stacks into hot.functions and hot.nodes. */
int code__load(struct code *code, sqlite3 *db);
void code__release(struct code *code);

/* Adds up samples on them. */
int samples__load(struct code *code, sqlite3 *db);

/* Samples on nodes into self times, totals and ranks. */
int hot__rank(struct hot *hot);
