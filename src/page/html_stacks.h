/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the two files of the page's stacks: the tree, and the samples on it. */
#pragma once

#include "model/fold.h"
#include "page/html_internal.h"

/* The tree of call paths. Only the nodes that samples need go to the page. */
struct html_tree {
	struct model scratch; /* only `hot`, filled by fold__load(), and texts */
	struct fold fold;
	struct map reasons; /* hash of the reason for a missing stack → node + 1 */
	int64_t *weights;   /* ns by node, including callees */
	uint32_t *places;   /* by node: number on the page */
	size_t count;       /* nodes on the page, without the folded ones */
	uint32_t *folds;    /* nodes that have a "[folded]" child */
	size_t fold_count;
	uint32_t folded; /* the function "[folded]" */
};

int html_tree__load(struct html_tree *tree, struct html *html);
void html_tree__release(struct html_tree *tree);
/* Returns the node of a row of `stack`; without a stack, the node of the reason `none`. */
int html_tree__find(struct html_tree *tree, int64_t stack, const char *none, uint32_t *ret);
/*
 * Chooses the nodes for the page by `weights`. On entry, `weights` has each node's own samples
 * only.
 */
int html_tree__choose(struct html_tree *tree, struct html *html);
int html_tree__write(struct html_tree *tree, struct html *html);
