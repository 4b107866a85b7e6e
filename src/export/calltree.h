/*
 * The stacks of a profile as the viewers with a time axis want them: one tree in which every
 * inlined call has a node of its own, and every sample is a node.
 *
 * A viewer colours a sample by its innermost frame, and shows nothing but frames. So what a sample
 * is besides its stack becomes frames of words: "[wait.lock]" innermost, unless it runs; and
 * outermost, why there is no user stack, or why it is not whole.
 */
#pragma once

#include "export/strings.h"
#include "model/profile.h"

struct calltree_frame {
	const char *name;
	uint32_t function; /* of the profile; from its function_count on, calls.words */
	uint32_t frame;    /* of the profile; PROFILE_NONE: words */
	uint32_t line;     /* of the profile; PROFILE_NONE: words */
	uint32_t inlined;  /* how deep: 0 is the function that exists */
	uint32_t state;    /* that the words are of; PROFILE_NONE: they are of none */
};

struct calltree_node {
	uint32_t parent; /* PROFILE_NONE: outermost; parents come before children */
	uint32_t frame;
};

struct calltree {
	struct calltree_frame *frames;
	struct calltree_node *nodes;
	size_t frame_count, node_count;
	uint32_t *samples;    /* for each sample its node */
	uint32_t *wakers;     /* for each sample its waker's node, or PROFILE_NONE */
	struct strings words; /* texts of the frames of words */
	struct calltree_internal *internal;
};

/* -ENOMEM; -E2BIG: more than PROFILE_MOST_NODES. *ret is the caller's: calltree__free(). */
int calltree__new(const struct profile *profile, struct calltree **ret);
void calltree__free(struct calltree *calls);

/* The node of a state's words alone, for time that no sample stands for. The same errors. */
int calltree__state(struct calltree *calls, uint32_t state, uint32_t *ret);
