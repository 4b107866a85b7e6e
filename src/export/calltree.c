/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/calltree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "export/label.h"

struct calltree_internal {
	const struct profile *profile;
	uint32_t *rows;    /* by frame of the profile: its first row, or PROFILE_NONE */
	struct map words;  /* (state, text) → row */
	struct map stacks; /* (root node, stack) → node */
	struct map leaves; /* (node, row) → node */
};

static uint64_t pair(uint32_t first, uint32_t second)
{
	/* first + 1 turns PROFILE_NONE into 0. */
	return (uint64_t)(first + 1) << 32 | second;
}

static void *boxed(uint32_t index)
{
	return (void *)((uintptr_t)index + 1);
}

static bool unbox(void *value, uint32_t *ret)
{
	if (value)
		*ret = (uint32_t)((uintptr_t)value - 1);
	return value;
}

static int add_frame(struct calltree *calls, const struct calltree_frame *frame)
{
	struct calltree_frame *added;

	if (calls->frame_count >= PROFILE_MOST_NODES)
		return -E2BIG;
	added = APPEND(&calls->frames, &calls->frame_count);
	if (!added)
		return -ENOMEM;
	*added = *frame;
	return 0;
}

static int add_node(struct calltree *calls, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct calltree_node *node;

	if (calls->node_count >= PROFILE_MOST_NODES)
		return -E2BIG;
	node = APPEND(&calls->nodes, &calls->node_count);
	if (!node)
		return -ENOMEM;
	*node = (struct calltree_node) { parent, frame };
	*ret = (uint32_t)(calls->node_count - 1);
	return 0;
}

/*
 * Returns the first row of a frame: the physical function, followed by the inlined ones, inwards.
 */
static int rows_of(struct calltree *calls, uint32_t frame, uint32_t *ret)
{
	const struct profile *profile = calls->internal->profile;
	const struct code_frame *from = &profile->code.frames[frame];
	uint32_t *row = &calls->internal->rows[frame];

	if (*row == PROFILE_NONE) {
		uint32_t first = (uint32_t)calls->frame_count;

		for (uint32_t i = 0; i < from->line_count; i++) {
			uint32_t line = from->first_line + from->line_count - 1 - i;
			const struct code_line *at = &profile->code.lines[line];
			struct calltree_frame made = {
				.name = profile->code.functions[at->function].name,
				.function = at->function,
				.frame = frame,
				.line = line,
				.inlined = i,
				.state = PROFILE_NONE,
			};
			int err = add_frame(calls, &made);

			if (err)
				return err;
		}
		*row = first;
	}
	*ret = *row;
	return 0;
}

static int words_row(struct calltree *calls, const char *words, uint32_t state, uint32_t *ret)
{
	struct calltree_internal *internal = calls->internal;
	uint32_t text;
	int err = strings__add(&calls->words, words, &text);

	if (err)
		return err;
	if (unbox(map__get(&internal->words, pair(state, text)), ret))
		return 0;
	*ret = (uint32_t)calls->frame_count;
	err = map__put(&internal->words, pair(state, text), boxed(*ret));
	if (err)
		return err;
	return add_frame(
		calls,
		&(struct calltree_frame) {
			.name = calls->words.names.texts[text],
			.function = (uint32_t)(internal->profile->code.function_count + text),
			.frame = PROFILE_NONE,
			.line = PROFILE_NONE,
			.state = state,
		});
}

/* Finds or adds a frame of words as a child of `parent`. */
static int words_node(struct calltree *calls, uint32_t parent, const char *words, uint32_t state,
		      uint32_t *ret)
{
	struct calltree_internal *internal = calls->internal;
	uint32_t row;
	int err = words_row(calls, words, state, &row);

	if (err)
		return err;
	if (unbox(map__get(&internal->leaves, pair(parent, row)), ret))
		return 0;
	err = add_node(calls, parent, row, ret);
	return err ? err : map__put(&internal->leaves, pair(parent, row), boxed(*ret));
}

/* Adds the nodes of one stack. Its parent must already have one. */
static int add_stack(struct calltree *calls, uint32_t root, uint32_t stack, uint32_t *node)
{
	const struct profile *profile = calls->internal->profile;
	uint32_t frame = profile->code.stacks[stack].frame, row;
	int err = rows_of(calls, frame, &row);

	for (uint32_t i = 0; !err && i < profile->code.frames[frame].line_count; i++)
		err = add_node(calls, *node, row + i, node);
	return err ? err : map__put(&calls->internal->stacks, pair(root, stack), boxed(*node));
}

/* Finds the node of a stack below `root`, and adds the missing nodes of its parents. */
static int stack_node(struct calltree *calls, uint32_t root, uint32_t stack, uint32_t *ret)
{
	const struct profile *profile = calls->internal->profile;
	cleanup(free_p) uint32_t *missing = NULL;
	uint32_t count = 0, node = root;
	int err = 0;

	if (stack == PROFILE_NONE ||
	    unbox(map__get(&calls->internal->stacks, pair(root, stack)), &node)) {
		*ret = node;
		return 0;
	}
	missing = malloc((profile->code.stacks[stack].depth + 1) * sizeof(*missing));
	if (!missing)
		return -ENOMEM;
	while (stack != PROFILE_NONE &&
	       !unbox(map__get(&calls->internal->stacks, pair(root, stack)), &node)) {
		missing[count++] = stack;
		stack = profile->code.stacks[stack].parent;
	}
	while (!err && count)
		err = add_stack(calls, root, missing[--count], &node);
	*ret = node;
	return err;
}

/* Adds the frame of a state below *node and moves *node to it. */
static int descend_to_state(struct calltree *calls, uint32_t state, uint32_t *node)
{
	char words[LABEL_SIZE + 2], name[LABEL_SIZE];

	snprintf(words, sizeof(words), "[%s]",
		 label__state(&calls->internal->profile->states[state], name));
	return words_node(calls, *node, words, state, node);
}

int calltree__state(struct calltree *calls, uint32_t state, uint32_t *ret)
{
	uint32_t node = PROFILE_NONE;
	int err = descend_to_state(calls, state, &node);

	if (!err)
		*ret = node;
	return err;
}

static int add_sample(struct calltree *calls, const struct profile_sample *sample, uint32_t *ret)
{
	char words[LABEL_SIZE];
	uint32_t node = PROFILE_NONE;
	int err = 0;

	if (sample->none || sample->end) {
		snprintf(words, sizeof(words), sample->none ? "[no stack: %s]" : "[cut: %s]",
			 sample->none ? sample->none : sample->end);
		err = words_node(calls, PROFILE_NONE, words, PROFILE_NONE, &node);
	}
	if (!err)
		err = stack_node(calls, node, sample->stack, &node);
	/*
	 * A sample needs a frame, so a running sample without a stack is also named by its state.
	 */
	if (!err &&
	    (!calls->internal->profile->states[sample->state].is_run || node == PROFILE_NONE))
		err = descend_to_state(calls, sample->state, &node);
	*ret = node;
	return err;
}

static int fill(struct calltree *calls, const struct profile *profile)
{
	int err = 0;

	for (size_t i = 0; i < profile->code.frame_count; i++)
		calls->internal->rows[i] = PROFILE_NONE;
	for (size_t i = 0; !err && i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		err = add_sample(calls, sample, &calls->samples[i]);
		if (!err)
			err = stack_node(calls, PROFILE_NONE, sample->waker_stack,
					 &calls->wakers[i]);
	}
	return err;
}

DEFINE_CLEANUP(struct calltree *, calltree__free)

int calltree__new(const struct profile *profile, struct calltree **ret)
{
	cleanup(calltree__free_p) struct calltree *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return -ENOMEM;
	calls->internal = calloc(1, sizeof(*calls->internal));
	calls->samples = calloc(profile->sample_count + 1, sizeof(*calls->samples));
	calls->wakers = calloc(profile->sample_count + 1, sizeof(*calls->wakers));
	if (!calls->internal || !calls->samples || !calls->wakers)
		return -ENOMEM;
	calls->internal->profile = profile;
	calls->internal->rows =
		calloc(profile->code.frame_count + 1, sizeof(*calls->internal->rows));
	if (!calls->internal->rows)
		return -ENOMEM;
	err = fill(calls, profile);
	if (err)
		return err;
	*ret = TAKE(calls);
	return 0;
}

void calltree__free(struct calltree *calls)
{
	struct calltree_internal *internal = calls ? calls->internal : NULL;

	if (!calls)
		return;
	if (internal) {
		free(internal->rows);
		map__release(&internal->words);
		map__release(&internal->stacks);
		map__release(&internal->leaves);
	}
	free(internal);
	strings__release(&calls->words);
	free(calls->frames);
	free(calls->nodes);
	free(calls->samples);
	free(calls->wakers);
	free(calls);
}
