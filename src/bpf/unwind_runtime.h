/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for processes with a language runtime, whichever it is. Included by
 * bpf/unwind_walk.h.
 */
#pragma once

/* The number of the runtime's area that has the current frame; RUNTIME_AREAS: none. */
UNWIND_FN __u32 unwind_area(const struct unwind *walk, const struct runtime *runtime)
{
	__u64 at = walk->pc - !walk->exact;

	for (__u32 i = 0; i < RUNTIME_AREAS; i++)
		if (at >= runtime->areas[i].begin && at < runtime->areas[i].end)
			return i;
	return RUNTIME_AREAS;
}

#include "bpf/go_walk.h"
#include "bpf/hotspot_walk.h"
#include "bpf/php_walk.h"
#include "bpf/python_walk.h"
#include "bpf/ruby_walk.h"
#include "bpf/v8_walk.h"

/* Whether functions of the program run in the native frame that the walk has just left. */
UNWIND_FN int unwind_begins(void *world, struct unwind *walk, const struct runtime *runtime)
{
	switch (runtime->kind) {
	case RUNTIME_PYTHON:
		return python_begins(world, walk, runtime);
	case RUNTIME_RUBY:
		return ruby_begins(world, walk, runtime);
	case RUNTIME_PHP:
		return php_begins(world, walk, runtime);
	default:
		return 0;
	}
}

/* Adds one function. 1: it was the last one that the native frame was entered for. */
UNWIND_FN int unwind_function(void *world, struct unwind *walk, const struct runtime *runtime)
{
	switch (runtime->kind) {
	case RUNTIME_PYTHON:
		return python_frame(world, walk, runtime);
	case RUNTIME_RUBY:
		return ruby_frame(world, walk, runtime);
	case RUNTIME_PHP:
		return php_frame(world, walk);
	default:
		return 1;
	}
}

/*
 * One frame of an interpreter, while the walk is in those of the native frame that is held. `done`:
 * it was the last one of this native frame, which is added now.
 */
UNWIND_FN int unwind_beside(void *world, struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;

	if (!unwind_function(world, walk, runtime))
		return 0;
	beside->mode = UNWIND_NATIVE;
	if (beside->held != UNWIND_NOTHING_HELD)
		unwind_add_frame(walk, beside->held);
	return beside->ends != 0;
}

/*
 * The walk has left a native frame of the interpreter's loop. If functions of the program run in
 * it, the native frame is taken back and held, so that it comes after them. Where it lies on the
 * stack is known only now that the walk has moved on to its caller.
 */
UNWIND_FN int unwind_interpreter(void *world, struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;
	__u32 at = beside->undo_count;

	beside->high = beside->ends ? ~0ULL : walk->sp;
	UNWIND_FORGET(at);
	if (at >= STACK_MOST_WORDS || walk->frames[at] == UNWIND_NOTHING_HELD ||
	    !unwind_begins(world, walk, runtime))
		return beside->ends != 0;
	beside->held = walk->frames[at];
	walk->count = at;
	walk->hash = beside->undo_hash;
	beside->mode = UNWIND_BESIDE;
	return 0;
}

/*
 * The native walk is over. If it failed, the rest of the interpreter's frames is still known.
 *
 * Ruby and PHP add a function to their list shortly before they enter the loop for it, and nothing
 * in the list tells which native frame it belongs to. A thread that was stopped in between has one
 * frame of the loop less, so the outermost functions are still there when the native walk is over.
 */
UNWIND_FN int unwind_rescue(struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;

	if (walk->need || !beside->has_begun || !beside->frame || beside->loose)
		return 1;
	if (walk->end != STACK_END_ROOT)
		walk->how |= STACK_BY_RUNTIME;
	else if (runtime->kind == RUNTIME_PYTHON)
		return 1;
	beside->mode = UNWIND_BESIDE;
	beside->held = UNWIND_NOTHING_HELD;
	beside->ends = beside->loose = 1;
	return 0;
}

/* The walk has left a native frame of a process with a runtime. `left`: unwind_native()'s word. */
UNWIND_FN int unwind_left(void *world, struct unwind *walk, const struct runtime *runtime, int left)
{
	if (runtime->kind == RUNTIME_V8) {
		if (left == UNWIND_LEFT_BUILTIN)
			return v8_builtin(world, walk, runtime);
		return left == UNWIND_LEFT_GENERATED ? v8_generated(world, walk, runtime) : left;
	}
	walk->beside.ends = left != 0;
	/*
	 * If the native walk failed before it came to the loop, as it does in code that Ruby's or
	 * PHP's JIT compiler made, all functions are still known.
	 */
	if (walk->beside.area != RUNTIME_AREAS ||
	    (left && !walk->need && walk->end != STACK_END_ROOT && !walk->beside.has_begun))
		left = unwind_interpreter(world, walk, runtime);
	return left ? unwind_rescue(walk, runtime) : 0;
}
