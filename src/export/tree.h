/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples as one tree of names, for flame graphs: thread, then functions from the outermost to
 * the innermost (an inlined function is a node of its own), and for time off the CPU a last node
 * with the cause: "[wait.lock]". Functions of one name are one node, whatever their addresses, and
 * functions of a runtime only if they begin at the same line, too.
 */
#pragma once

#include "model/profile.h"

enum tree_kind {
	TREE_ROOT,
	TREE_THREAD, /* a thread's name; threads of one name share a node */
	TREE_NOTE,   /* "[no stack: …]", "[cut: …]" */
	TREE_USER,
	TREE_INLINED,
	TREE_KERNEL,
	TREE_JIT,
	TREE_MANAGED, /* a function of a runtime: Python, Java, … */
	TREE_READY,
	TREE_WAIT,
};

struct tree_node {
	const char *name;
	enum tree_kind kind;
	uint32_t label;  /* shared by nodes of one name and kind; numbered from 0 */
	uint32_t parent; /* comes before its children; PROFILE_NONE for the root */
	uint32_t first_child, next_sibling; /* PROFILE_NONE: none; set by tree__sort() */
	uint32_t function;                  /* a function of this name, or PROFILE_NONE */
	int64_t self_ns, self_run_ns;       /* all time that ends here; the part on a CPU */
	int64_t total_ns, run_ns;           /* including children; set by tree__sort() */
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	size_t count, label_count;
	void *internal;
};

/* Makes an empty tree; tree__place() fills it. 0 or -ENOMEM. */
int tree__new(const struct profile *profile, struct tree **ret);
void tree__free(struct tree *tree);

/*
 * Returns the node where a sample's stack ends. Does not change the node's weight. 0, -ENOMEM or
 * -E2BIG: more than PROFILE_MOST_NODES.
 */
int tree__place(struct tree *tree, const struct profile_sample *sample, uint32_t *ret);

/* Places all samples, adds their weights, and sorts. */
int tree__build(const struct profile *profile, bool by_weight, struct tree **ret);

/* Computes totals and links children: by name, or the heaviest first. 0 or -ENOMEM. */
int tree__sort(struct tree *tree, bool by_weight);

/* Returns the node after `node` in preorder; PROFILE_NONE at the end. */
uint32_t tree__next(const struct tree *tree, uint32_t node);
