/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/texts.h"

/* A map stores an index + 1 as a pointer, because NULL means "none". */
#define TO_VALUE(index)   ((void *)((uintptr_t)(index) + 1))
#define FROM_VALUE(value) ((uint32_t)((uintptr_t)(value) - 1))
#define PAIR(high, low)   ((uint64_t)(high) << 32 | (low))

struct label {
	const char *name;
	enum tree_kind kind;
};

struct internal {
	const struct profile *profile;
	struct texts texts;
	struct label *labels;
	struct intern names;
	struct map label_of; /* (kind, name) → label */
	struct map child_of; /* (parent, label) → node */
	struct map stack_of; /* (node above the stack, stack) → node */
	const char **leaves; /* by state; NULL: none */
};

DEFINE_CLEANUP(struct tree *, tree__free)

/* Functions of a runtime often share a name, so their file and line tell them apart. */
static const char *key_of(struct internal *internal, const char *name, enum tree_kind kind,
			  uint32_t function)
{
	char key[TEXTS_MOST];
	const struct code_function *of;

	if (kind != TREE_MANAGED)
		return name;
	of = &internal->profile->code.functions[function];
	snprintf(key, sizeof(key), "%u %s %s", of->start_line, of->file ? of->file : "", name);
	return texts__repeat(&internal->texts, key);
}

static int find_label(struct tree *tree, const char *name, enum tree_kind kind, uint32_t function,
		      uint32_t *ret)
{
	struct internal *internal = tree->internal;
	const char *key = key_of(internal, name, kind, function);
	struct label *label;
	uint32_t number = 0;
	int err = key ? intern__find(&internal->names, key, &number) : -ENOMEM;
	void *value = err ? NULL : map__get(&internal->label_of, PAIR(kind, number));

	if (value)
		*ret = FROM_VALUE(value);
	if (err || value)
		return err;
	label = APPEND(&internal->labels, &tree->label_count);
	if (!label)
		return -ENOMEM;
	*label = (struct label) { name, kind };
	*ret = (uint32_t)(tree->label_count - 1);
	return map__put(&internal->label_of, PAIR(kind, number), TO_VALUE(*ret));
}

static int add_node(struct tree *tree, uint32_t parent, uint32_t label, uint32_t function,
		    uint32_t *ret)
{
	struct internal *internal = tree->internal;
	struct tree_node *node;

	if (tree->count >= PROFILE_MOST_NODES)
		return -E2BIG;
	node = APPEND(&tree->nodes, &tree->count);
	if (!node)
		return -ENOMEM;
	*ret = (uint32_t)(tree->count - 1);
	*node = (struct tree_node) {
		.name = internal->labels[label].name,
		.kind = internal->labels[label].kind,
		.label = label,
		.parent = parent,
		.first_child = PROFILE_NONE,
		.next_sibling = PROFILE_NONE,
		.function = function,
	};
	return 0;
}

/* Moves *node to its child of this name. Adds the child if it is new. */
static int descend(struct tree *tree, const char *name, enum tree_kind kind, uint32_t function,
		   uint32_t *node)
{
	struct internal *internal = tree->internal;
	uint32_t label = 0, parent = *node;
	int err = find_label(tree, name, kind, function, &label);
	void *value;

	if (err)
		return err;
	value = map__get(&internal->child_of, PAIR(parent, label));
	if (value) {
		*node = FROM_VALUE(value);
		return 0;
	}
	err = add_node(tree, parent, label, function, node);
	return err ? err : map__put(&internal->child_of, PAIR(parent, label), TO_VALUE(*node));
}

static int descend_frame(struct tree *tree, const struct code_frame *frame, uint32_t *node)
{
	const struct profile *profile = ((struct internal *)tree->internal)->profile;
	bool is_jit = !strcmp(profile->code.modules[frame->module].kind, "jit");

	for (uint32_t i = frame->line_count; i-- > 0;) {
		uint32_t function = profile->code.lines[frame->first_line + i].function;
		bool is_managed = code__is_managed(&profile->code, function);
		enum tree_kind kind = frame->is_kernel            ? TREE_KERNEL
				      : is_managed                ? TREE_MANAGED
				      : i + 1 < frame->line_count ? TREE_INLINED
				      : is_jit                    ? TREE_JIT
								  : TREE_USER;
		int err =
			descend(tree, profile->code.functions[function].name, kind, function, node);

		if (err)
			return err;
	}
	return 0;
}

/* Moves *node to the end of `stack` below it. Walks up the stack only to the first known node. */
static int descend_stack(struct tree *tree, uint32_t stack, uint32_t *node)
{
	struct internal *internal = tree->internal;
	const struct code_stack *stacks = internal->profile->code.stacks;
	uint32_t way[CODE_MOST_DEPTH], top = *node;
	size_t length = 0;

	for (; stack != PROFILE_NONE; stack = stacks[stack].parent) {
		void *value = map__get(&internal->stack_of, PAIR(top, stack));

		if (value) {
			*node = FROM_VALUE(value);
			break;
		}
		way[length++] = stack;
	}
	/* Many stacks can end in the same nodes, so their number needs the limit too. */
	if (internal->stack_of.count + length > PROFILE_MOST_NODES)
		return -E2BIG;
	while (length) {
		uint32_t at = way[--length];
		int err = descend_frame(tree, &internal->profile->code.frames[stacks[at].frame],
					node);

		if (!err)
			err = map__put(&internal->stack_of, PAIR(top, at), TO_VALUE(*node));
		if (err)
			return err;
	}
	return 0;
}

static int descend_note(struct tree *tree, const char *what, const char *reason, uint32_t *node)
{
	struct internal *internal = tree->internal;
	char note[TEXTS_MOST];
	const char *kept;

	snprintf(note, sizeof(note), "[%s: %s]", what, reason);
	kept = texts__repeat(&internal->texts, note);
	return kept ? descend(tree, kept, TREE_NOTE, PROFILE_NONE, node) : -ENOMEM;
}

int tree__place(struct tree *tree, const struct profile_sample *sample, uint32_t *ret)
{
	struct internal *internal = tree->internal;
	const struct profile *profile = internal->profile;
	const char *leaf = internal->leaves[sample->state];
	bool is_ready = SLOT_IS_READY(profile->states[sample->state].look);
	uint32_t node = 0;
	int err = descend(tree, profile->threads[sample->thread].comm, TREE_THREAD, PROFILE_NONE,
			  &node);

	if (!err && sample->none)
		err = descend_note(tree, "no stack", sample->none, &node);
	else if (!err && sample->end)
		err = descend_note(tree, "cut", sample->end, &node);
	if (!err)
		err = descend_stack(tree, sample->stack, &node);
	if (!err && leaf)
		err = descend(tree, leaf, is_ready ? TREE_READY : TREE_WAIT, PROFILE_NONE, &node);
	if (!err)
		*ret = node;
	return err;
}

static int name_leaves(struct internal *internal)
{
	const struct profile *profile = internal->profile;

	internal->leaves = calloc(profile->state_count + 1, sizeof(*internal->leaves));
	if (!internal->leaves)
		return -ENOMEM;
	for (size_t i = 0; i < profile->state_count; i++) {
		const struct profile_state *state = &profile->states[i];
		char name[TEXTS_MOST];

		if (state->is_run)
			continue;
		snprintf(name, sizeof(name), "[%.100s.%.100s]", state->state, state->cause);
		internal->leaves[i] = texts__keep(&internal->texts, name);
		if (!internal->leaves[i])
			return -ENOMEM;
	}
	return 0;
}

int tree__new(const struct profile *profile, struct tree **ret)
{
	cleanup(tree__free_p) struct tree *tree = calloc(1, sizeof(*tree));
	struct internal *internal = calloc(1, sizeof(*internal));
	uint32_t label = 0, root = 0;
	int err;

	if (!tree || !internal) {
		free(internal);
		return -ENOMEM;
	}
	tree->internal = internal;
	internal->profile = profile;
	internal->texts.clean = true;
	err = name_leaves(internal);
	if (!err)
		err = find_label(tree, "all", TREE_ROOT, PROFILE_NONE, &label);
	if (!err)
		err = add_node(tree, PROFILE_NONE, label, PROFILE_NONE, &root);
	if (err)
		return err;
	*ret = TAKE(tree);
	return 0;
}

void tree__free(struct tree *tree)
{
	struct internal *internal = tree ? tree->internal : NULL;

	if (internal) {
		texts__release(&internal->texts);
		intern__release(&internal->names);
		map__release(&internal->label_of);
		map__release(&internal->child_of);
		map__release(&internal->stack_of);
		free(internal->labels);
		free(internal->leaves);
		free(internal);
	}
	if (tree)
		free(tree->nodes);
	free(tree);
}

struct order {
	const struct tree_node *nodes;
	bool by_weight;
};

/* Sorts siblings together, in the wanted order. */
static int compare(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	const struct tree_node *left = &order->nodes[first], *right = &order->nodes[second];
	int by_name;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	if (order->by_weight && left->total_ns != right->total_ns)
		return left->total_ns > right->total_ns ? -1 : 1;
	by_name = strcmp(left->name, right->name);
	return by_name ? by_name : (int)left->kind - (int)right->kind;
}

int tree__sort(struct tree *tree, bool by_weight)
{
	struct order order = { tree->nodes, by_weight };
	cleanup(free_p) uint32_t *sorted = calloc(tree->count, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		tree->nodes[i].total_ns = tree->nodes[i].self_ns;
		tree->nodes[i].run_ns = tree->nodes[i].self_run_ns;
		tree->nodes[i].first_child = PROFILE_NONE;
		sorted[i] = (uint32_t)i;
	}
	for (size_t i = tree->count; i-- > 1;) {
		struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total_ns += tree->nodes[i].total_ns;
		parent->run_ns += tree->nodes[i].run_ns;
	}
	/*
	 * The root has no siblings. Its parent, PROFILE_NONE, is the largest index, so it comes
	 * last.
	 */
	qsort_r(sorted, tree->count, sizeof(*sorted), compare, &order);
	for (size_t i = tree->count - 1; i-- > 0;) {
		struct tree_node *node = &tree->nodes[sorted[i]];

		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = sorted[i];
	}
	return 0;
}

int tree__build(const struct profile *profile, bool by_weight, struct tree **ret)
{
	cleanup(tree__free_p) struct tree *tree = NULL;
	int err = tree__new(profile, &tree);

	for (size_t i = 0; !err && i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t node = 0;

		err = tree__place(tree, sample, &node);
		if (err)
			break;
		tree->nodes[node].self_ns += sample->weight_ns;
		if (profile->states[sample->state].is_run)
			tree->nodes[node].self_run_ns += sample->weight_ns;
	}
	if (!err)
		err = tree__sort(tree, by_weight);
	if (err)
		return err;
	*ret = TAKE(tree);
	return 0;
}

uint32_t tree__next(const struct tree *tree, uint32_t node)
{
	if (tree->nodes[node].first_child != PROFILE_NONE)
		return tree->nodes[node].first_child;
	while (node != PROFILE_NONE && tree->nodes[node].next_sibling == PROFILE_NONE)
		node = tree->nodes[node].parent;
	return node == PROFILE_NONE ? node : tree->nodes[node].next_sibling;
}
