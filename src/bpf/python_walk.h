/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for CPython. Included by bpf/unwind_walk.h.
 *
 * A thread's frames are a list that begins in the thread's state, to which a pthread key leads. A
 * thread keeps that key when it gives up the GIL, so waits have their frames too. (The variable
 * `_Py_tss_tstate` of 3.12 and later is 0 then.) Up to 3.10, each function has a native frame of
 * _PyEval_EvalFrameDefault(). Since 3.11 a native frame runs many, up to a boundary. Which native
 * frame they belong to is told by an object that lies in it: the cframe in 3.11, later the boundary
 * itself, a frame without a function.
 *
 * The object of a frame is its code object; the cookie is in the address of the function's name.
 * The position is what the version has: an index into the bytecode, or bytes from the code object.
 */
#pragma once

#define PYTHON_AT(walk, offset)   (*(__u64 *)((__u8 *)(walk)->beside.scratch + ((offset) & 0xf8)))
#define PYTHON_U32(walk, offset)  (*(__u32 *)((__u8 *)(walk)->beside.scratch + ((offset) & 0xfc)))
#define PYTHON_BYTE(walk, offset) (((__u8 *)(walk)->beside.scratch)[(offset) & 0xff])
#define PYTHON_CODE               128 /* where the code object is; the frame is before it */
_Static_assert(sizeof(((struct unwind_beside *)0)->scratch) >= 0x100, "PYTHON_AT");

/* Finds the list of the thread's frames. */
UNWIND_FN void python_find_frames(void *world, struct unwind *walk,
				  const struct runtime_python *python)
{
	struct unwind_beside *beside = &walk->beside;
	__u64 at = beside->thread_pointer;

	beside->has_begun = 1;
	if (!at)
		return;
	if (python->slot_block &&
	    (unwind_read(world, &at, sizeof(at), at + python->slot_block) || !at))
		return;
	if (unwind_read(world, &at, sizeof(at), at + python->slot) || !at)
		return;
	if (unwind_read(world, &at, sizeof(at), at + python->thread_frame))
		return;
	if (python->has_cframe) {
		beside->entry = at;
		if (!at || unwind_read(world, &at, sizeof(at), at + python->cframe_frame))
			return;
	}
	beside->frame = at;
}

/* Whether functions of the program run in the native frame between `low` and `high`. */
UNWIND_FN int python_begins(void *world, struct unwind *walk, const struct runtime *runtime)
{
	const struct runtime_python *python = &runtime->python;
	struct unwind_beside *beside = &walk->beside;

	if (!beside->has_begun)
		python_find_frames(world, walk, python);
	if (!beside->frame)
		return 0;
	beside->undo_frame = beside->frame;
	return !python->cframe_previous ||
	       (beside->entry >= beside->low && beside->entry < beside->high);
}

/* The boundary is in another native frame: this one has not begun a function, or has ended it. */
UNWIND_FN void python_undo(struct unwind *walk)
{
	walk->count = walk->beside.undo_count;
	walk->hash = walk->beside.undo_hash;
	walk->beside.frame = walk->beside.undo_frame;
}

UNWIND_FN void python_add(void *world, struct unwind *walk, const struct runtime_python *python)
{
	__u64 code = PYTHON_AT(walk, python->frame_code), at = python->code_first_line & ~7;
	__u64 position = PYTHON_AT(walk, python->frame_position), name = 0;

	if (python->tagged)
		code &= ~3ULL;
	position = python->position_bytes == 8 ? position - code : (__u32)position;
	/* The name is read again by user space, which notices if it is not there. */
	if (!unwind_read(world, (__u8 *)walk->beside.scratch + PYTHON_CODE,
			 python->code_bytes & 0x7f, code + at)) {
		name = PYTHON_AT(walk, PYTHON_CODE + python->code_name - at);
		/*
		 * Since 3.12, a call of a class has a frame of the interpreter's own code between
		 * the caller and __init__().
		 */
		if (python->is_shim &&
		    !PYTHON_U32(walk, PYTHON_CODE + python->code_first_line - at))
			return;
	}
	unwind_add_runtime(walk, RUNTIME_PYTHON, code, position, name >> 3);
}

/* Adds one function. 1: it was the last one that the native frame was entered for. */
UNWIND_FN int python_frame(void *world, struct unwind *walk, const struct runtime *runtime)
{
	const struct runtime_python *python = &runtime->python;
	struct unwind_beside *beside = &walk->beside;
	__u64 frame = beside->frame;
	int is_boundary;
	__u8 owner;

	if (unwind_read(world, beside->scratch, python->frame_bytes & 0x7f, frame)) {
		beside->frame = 0;
		return 1;
	}
	owner = PYTHON_BYTE(walk, python->frame_owner);
	is_boundary =
		!python->has_owner || (owner >= python->least_owner && owner <= python->most_owner);
	if (is_boundary && python->is_shim && !beside->loose &&
	    (frame < beside->low || frame >= beside->high)) {
		python_undo(walk);
		return 1;
	}
	/* From the boundaries on, frames are not functions of the program. */
	if (!python->is_shim || owner < python->least_owner)
		python_add(world, walk, python);
	frame = PYTHON_AT(walk, python->frame_previous);
	beside->frame = frame;
	if (!frame)
		return 1;
	if (!is_boundary || beside->loose)
		return 0;
	if (python->cframe_previous && unwind_read(world, &beside->entry, sizeof(beside->entry),
						   beside->entry + python->cframe_previous))
		beside->entry = 0;
	return 1;
}
