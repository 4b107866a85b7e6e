/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pattern for thread names. User space compiles it, and both halves match with it.
 *
 * The pattern is a sequence of elements, each of which matches one byte. It runs as a
 * nondeterministic automaton: bit k of `state` says that the first k elements match the bytes so
 * far, and a bit before a star remains set. So a step is a table look-up, two ands and a shift for
 * any pattern. There is no backtracking, and no branch for the verifier to follow.
 */
#pragma once

#include <linux/types.h>

#define GLOB_MOST_ELEMENTS 15 /* the length of a thread name */

struct glob {
	__u16 takes[256]; /* for each byte: the elements that match it */
	__u16 stars;      /* state bits that any byte leaves set */
	__u16 end;        /* the state bit after the last element */
};

#define GLOB_START 1

static inline __attribute__((always_inline)) __u16 glob_step(const volatile struct glob *glob,
							     __u16 state, __u8 byte)
{
	return (__u16)((state & glob->takes[byte]) << 1 | (state & glob->stars));
}
