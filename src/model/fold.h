/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call paths by function. The recording has a tree of frames, which are addresses, but users think
 * in functions. So the tree is folded: two call sites in one function become one node, and a frame
 * with inlined functions becomes several nodes. All later code works on the smaller tree.
 */
#pragma once

#include "base/map.h"
#include "model/code.h"
#include "model/hot.h"

/* The place of a recorded stack in the folded tree. */
struct fold_stack {
	uint32_t node;            /* index in hot.nodes */
	uint32_t frames, unnamed; /* counted from here to the root */
};

struct fold {
	struct code code;
	struct fold_stack *stacks; /* one for each stack of `code` */
	struct map edges;          /* (parent node, function) → node + 1 */
};

/* Reads the code and fills hot.functions and hot.nodes. -E2BIG: more than CODE_MOST_NODES nodes. */
int fold__load(struct fold *fold, struct hot *hot, struct model *model, sqlite3 *db);
void fold__release(struct fold *fold);

/* Adds a function that is not in the recording. Returns NULL when out of memory. */
struct hot_function *fold__add_function(struct hot *hot, const char *name, uint32_t *ret);
/*
 * Returns the folded stack with this id; NULL for id 0. An id without a row also gives NULL and is
 * counted.
 */
const struct fold_stack *fold__stack(struct fold *fold, int64_t id);
