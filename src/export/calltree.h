/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a profile in the form that viewers with a time axis need: one tree in which every
 * inlined call has its own node, and every sample is a node.
 *
 * A viewer colours a sample by its innermost frame, and shows only frames. So everything else about
 * a sample becomes frames of words. Innermost is the state, such as "[wait.lock]", unless the
 * sample runs. Outermost is the reason why the user stack is missing or incomplete.
 */
#pragma once

#include "export/strings.h"
#include "model/profile.h"

struct calltree_frame {
	const char *name;
	uint32_t function; /* index in the profile; from function_count on, in calls.words */
	uint32_t frame;    /* index in the profile; PROFILE_NONE: a frame of words */
	uint32_t line;     /* index in the profile; PROFILE_NONE: a frame of words */
	uint32_t inlined;  /* inlining depth; 0 is the physical function */
	uint32_t state;    /* the state that the words name; PROFILE_NONE: none */
};

struct calltree_node {
	uint32_t parent; /* PROFILE_NONE: outermost; parents come before children */
	uint32_t frame;
};

struct calltree {
	struct calltree_frame *frames;
	struct calltree_node *nodes;
	size_t frame_count, node_count;
	uint32_t *samples;    /* by sample: its node */
	uint32_t *wakers;     /* by sample: its waker's node, or PROFILE_NONE */
	struct strings words; /* texts of the frames of words */
	struct calltree_internal *internal;
};

/* -ENOMEM; -E2BIG: more than PROFILE_MOST_NODES. The caller must call calltree__free(*ret). */
int calltree__new(const struct profile *profile, struct calltree **ret);
void calltree__free(struct calltree *calls);

/* Returns a node with only a state's frame, for time that no sample covers. The same errors. */
int calltree__state(struct calltree *calls, uint32_t state, uint32_t *ret);
