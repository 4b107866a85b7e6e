/*
 * A pattern for names of threads, made by user space and applied by both halves.
 *
 * The pattern is a row of elements, each of which takes one byte. Bit k of a state says that k
 * elements have taken the bytes so far; a state stays where a star stands. So a step is a look at a
 * table, two ands and a shift, whatever the pattern is, and nothing is ever tried again: the
 * verifier sees no branch.
 */
#pragma once

#include <linux/types.h>

#define GLOB_MOST_ELEMENTS 15 /* as many as a name has bytes */

struct glob {
	__u16 takes[256]; /* by byte: the elements that take it */
	__u16 stars;      /* states that any byte leaves as they are */
	__u16 end;        /* the state after the last element */
};

#define GLOB_START 1

static inline __attribute__((always_inline)) __u16 glob_step(const volatile struct glob *glob,
							     __u16 state, __u8 byte)
{
	return (__u16)((state & glob->takes[byte]) << 1 | (state & glob->stars));
}
