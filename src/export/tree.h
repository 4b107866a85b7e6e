/*
 * The samples as one tree of names, as flame graphs want it: thread, functions from the outermost
 * to the innermost (an inlined one is a node of its own), and for time off the CPU a last node that
 * says why: "[wait.lock]". Functions of one name are one node, whatever their addresses.
 */
#pragma once

#include "model/profile.h"

enum tree_kind {
	TREE_ROOT,
	TREE_THREAD, /* a thread's name; those of one name share it */
	TREE_NOTE,   /* "[no stack: …]", "[cut: …]" */
	TREE_USER,
	TREE_INLINED,
	TREE_KERNEL,
	TREE_JIT,
	TREE_READY,
	TREE_WAIT,
};

struct tree_node {
	const char *name;
	enum tree_kind kind;
	uint32_t label;  /* nodes of one name and kind share it; from 0 on, without gaps */
	uint32_t parent; /* comes before its children; PROFILE_NONE for the root */
	uint32_t first_child, next_sibling; /* PROFILE_NONE at the end; by tree__sort() */
	uint32_t function;                  /* one that has this name, or PROFILE_NONE */
	int64_t self_ns, self_run_ns;       /* all time that ends here, and that on a CPU */
	int64_t total_ns, run_ns;           /* with that of the children; by tree__sort() */
};

struct tree {
	struct tree_node *nodes; /* the first is the root */
	size_t count, label_count;
	void *internal;
};

/* An empty tree; tree__place() fills it. 0 or -ENOMEM. */
int tree__new(const struct profile *profile, struct tree **ret);
void tree__free(struct tree *tree);

/* The node where a sample's stack ends; adds nothing to the node's weight. 0, -ENOMEM or
 * -E2BIG: more than PROFILE_MOST_NODES. */
int tree__place(struct tree *tree, const struct profile_sample *sample, uint32_t *ret);

/* Places all samples, weights included, and sorts. */
int tree__build(const struct profile *profile, bool by_weight, struct tree **ret);

/* Sums up, and links children: by name, or the heaviest first. 0 or -ENOMEM. */
int tree__sort(struct tree *tree, bool by_weight);

/* For a walk: the node after `node`, children before siblings; PROFILE_NONE at the end. */
uint32_t tree__next(const struct tree *tree, uint32_t node);
