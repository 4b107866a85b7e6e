/*
 * Call paths by function. The recording has a tree of frames, which are addresses; a person wants
 * functions. So the tree is folded: two call sites in one function are one node, a frame with
 * inlined functions is several nodes. Everything later works on that smaller tree.
 */
#pragma once

#include "base/map.h"
#include "model/code.h"
#include "model/hot.h"

/* What a stack of the recording is in the folded tree. */
struct fold_stack {
	uint32_t node;            /* in hot.nodes */
	uint32_t frames, unnamed; /* from here outwards */
};

struct fold {
	struct code code;
	struct fold_stack *stacks; /* as many as the code has */
	struct map edges;          /* parent node and function → node + 1 */
};

/* Reads the code and makes hot.functions and hot.nodes of it. -E2BIG: more nodes than any memory.
 */
int fold__load(struct fold *fold, struct hot *hot, struct model *model, sqlite3 *db);
void fold__release(struct fold *fold);

/* One more function that the recording does not have; NULL when out of memory. */
struct hot_function *fold__add_function(struct hot *hot, const char *name, uint32_t *ret);
/* The folded stack of an id, NULL for 0; one that is not there is counted. */
const struct fold_stack *fold__stack(struct fold *fold, int64_t id);
