/* Between the two files of the page's stacks: the tree, and the samples on it. */
#pragma once

#include "model/fold.h"
#include "page/html_internal.h"

/* The tree of call paths, of which only what samples need goes to the page. */
struct html_tree {
	struct model scratch; /* only `hot`, filled by fold__load(), and texts */
	struct fold fold;
	struct map reasons; /* hash of why there is no stack → node + 1 */
	int64_t *weights;   /* ns by node, callers have their callees' too */
	uint32_t *places;   /* by node: the page's number */
	size_t count;       /* of the page's nodes, without … */
	uint32_t *folds;    /* … those that stand for what was folded below these nodes */
	size_t fold_count;
	uint32_t folded; /* their function */
};

int html_tree__load(struct html_tree *tree, struct html *html);
void html_tree__release(struct html_tree *tree);
/* The node of a row of `stack`; that of a reason if there is none. */
int html_tree__find(struct html_tree *tree, int64_t stack, const char *none, uint32_t *ret);
/* Chooses what the page gets by `weights`, which so far are those of the samples themselves. */
int html_tree__choose(struct html_tree *tree, struct html *html);
int html_tree__write(struct html_tree *tree, struct html *html);
