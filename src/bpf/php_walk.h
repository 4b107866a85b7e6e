/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for PHP. Included by bpf/unwind_walk.h.
 *
 * A process has one list of frames. One native frame of execute_ex() runs many functions, up to one
 * that is marked as called from C. Functions in C ("internal functions", such as array_map()) are
 * in the list, and are shown, because the program has no symbols for them.
 *
 * The object of a frame is its function; the cookie is in the address of the function's name. The
 * position is the lower half of the instruction's address.
 */
#pragma once

/* Words of a frame. */
#define PHP_INSTRUCTION 0
#define PHP_FUNCTION    3
#define PHP_CALL        5 /* what kind of call it is, in the lower half */
#define PHP_PREVIOUS    6
#define PHP_CALLED_BY_C (1U << 17)
/* Words of a function. */
#define PHP_TYPE 0 /* in its lowest byte */
#define PHP_NAME 1
/* Whether a function of this type is written in PHP: of a file, or of eval(). */
#define PHP_IS_PHP(type) (((type) & 0xff) == 2 || ((type) & 0xff) == 4)

UNWIND_FN int php_begins(void *world, struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;

	if (!beside->has_begun &&
	    unwind_read(world, &beside->frame, sizeof(beside->frame), runtime->php.current))
		beside->frame = 0;
	beside->has_begun = 1;
	return beside->frame != 0;
}

UNWIND_FN int php_frame(void *world, struct unwind *walk)
{
	struct unwind_beside *beside = &walk->beside;
	__u64 *frame = beside->scratch, *function = frame + 7;
	int is_php = 0;

	if (unwind_read(world, frame, 7 * sizeof(__u64), beside->frame)) {
		beside->frame = 0;
		return 1;
	}
	/* A frame without a function only links two lists. */
	if (frame[PHP_FUNCTION]) {
		if (unwind_read(world, function, 2 * sizeof(__u64), frame[PHP_FUNCTION]))
			function[PHP_TYPE] = function[PHP_NAME] = 0;
		is_php = PHP_IS_PHP(function[PHP_TYPE]);
		unwind_add_runtime(walk, RUNTIME_PHP, frame[PHP_FUNCTION],
				   is_php ? frame[PHP_INSTRUCTION] : 0, function[PHP_NAME] >> 3);
	}
	beside->frame = frame[PHP_PREVIOUS];
	if (!beside->frame)
		return 1;
	return is_php && frame[PHP_CALL] & PHP_CALLED_BY_C && !beside->loose;
}
