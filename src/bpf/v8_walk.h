/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for V8. Included by bpf/unwind_walk.h.
 *
 * All of V8's code keeps a frame pointer, so a step follows it. Above a frame pointer are the
 * caller's and the return address; below it are a context, or an even number that says which kind
 * of frame it is, then the function, the number of its arguments, and in the interpreter the
 * bytecode and the position in it.
 *
 * There are three kinds of code without rows. The builtins are a part of the program; they are
 * native frames, with names from its symbols. The interpreter is some of these builtins: its frame
 * is that of the function that it runs. What the compilers make lies in no file.
 *
 * The object of a frame is the SharedFunctionInfo, which seldom moves. (The JSFunction often does.)
 * Compiled code is found by its address, in user space: a function can have several versions of it
 * at once, and none of them need be the one that the function has now.
 *
 * The innermost frame need not be there yet, or may be gone already: then the frame pointer is the
 * caller's.
 */
#pragma once

#define V8_TAGGED(word) (((word) & 3) == 1) /* a pointer to an object, plus 1 */
#define V8_SMI(word)    (!(__u32)(word))    /* a number, in the upper half */

#define V8_FRAME_BELOW      40 /* what is read of a frame, below the frame pointer … */
#define V8_FRAME_BYTES      56 /* … and in all */
#define V8_SHARED_DATA      8  /* in a SharedFunctionInfo: the bytecode, the code or a number */
#define V8_SHARED_BYTES     56
#define V8_MAP_TYPE         12
#define V8_DWARF_FUNCTION   5 /* rdi: the function that is being called */
#define V8_MOST_PROLOGUE    24
#define V8_MOST_EPILOGUE    10
#define V8_BEFORE_PC        16
#define V8_RETURNS          8 /* words of the stack in which a return address is looked for */
#define V8_ENTER            0xe5894855 /* push %rbp; mov %rsp,%rbp */
#define V8_LEAVE            0x5de58b48 /* mov %rbp,%rsp; pop %rbp */
#define V8_COMPARE_COUNT    0xf98348   /* cmp $N,%rcx: the number of arguments */
#define V8_COMPARE_COUNT_R8 0xf88349

/* What is where in `scratch`. */
enum v8_word {
	V8_OFFSET, /* the frame, as it is on the stack */
	V8_BYTECODE,
	V8_ARGUMENTS,
	V8_FUNCTION,
	V8_CONTEXT,
	V8_SAVED,
	V8_RETURN,
	V8_SHARED, /* the address of the SharedFunctionInfo; what it has from V8_SHARED_DATA on: */
	V8_DATA,
	V8_STACK = 16, /* the top of the stack */
	V8_CODE = 24,  /* code around the pc */
};
_Static_assert(V8_CODE + 8 <= 44, "scratch");

/* Reads the frame of the frame pointer. */
UNWIND_FN int v8_read_frame(void *world, struct unwind *walk)
{
	__u64 bp = walk->bp;

	if (!bp || bp & 7 || bp < walk->sp || bp - walk->sp > UNWIND_MOST_FRAME_BYTES)
		return 1;
	return unwind_read(world, walk->beside.scratch, V8_FRAME_BYTES, bp - V8_FRAME_BELOW);
}

/* Reads what the walk needs of the frame's function. 1: it is not a frame of a function. */
UNWIND_FN int v8_read_function(void *world, struct unwind *walk, const struct runtime_v8 *v8)
{
	__u64 *scratch = walk->beside.scratch;

	if (!V8_TAGGED(scratch[V8_CONTEXT]) || !V8_TAGGED(scratch[V8_FUNCTION]) ||
	    unwind_read(world, &scratch[V8_SHARED], sizeof(__u64),
			scratch[V8_FUNCTION] - 1 + v8->function_shared) ||
	    !V8_TAGGED(scratch[V8_SHARED]))
		return 1;
	return unwind_read(world, &scratch[V8_DATA], V8_SHARED_BYTES,
			   scratch[V8_SHARED] - 1 + V8_SHARED_DATA);
}

/*
 * Adds the frame of a function. The number of the function in its script is after the flags, and
 * does not change. `at`: the address of compiled code; else 0.
 */
UNWIND_FN void v8_add(struct unwind *walk, const struct runtime_v8 *v8, enum v8_kind kind,
		      __u32 position, __u64 at)
{
	__u64 *scratch = walk->beside.scratch;
	__u32 id = scratch[V8_DATA + (v8->flags_word & 7)] >> 32;

	unwind_add_runtime(walk, RUNTIME_V8, scratch[V8_SHARED] - 1, position,
			   V8_COOKIE(kind, id, at));
}

UNWIND_FN void v8_add_code(struct unwind *walk, __u64 at)
{
	unwind_add_runtime(walk, RUNTIME_V8, at, 0, V8_COOKIE(V8_IS_CODE, 0, 0));
}

/* Goes to the caller of the frame that was read. */
UNWIND_FN int v8_step(struct unwind *walk, __u64 sp)
{
	__u64 *scratch = walk->beside.scratch;

	walk->how |= STACK_BY_RUNTIME;
	return unwind_arrive(walk, scratch[V8_RETURN], sp, scratch[V8_SAVED]);
}

/* --- builtins --------------------------------------------------------------------------------- */

/* Whether the interpreter runs the function that has this frame. */
UNWIND_FN int v8_is_interpreted(void *world, struct unwind *walk, const struct runtime_v8 *v8)
{
	__u64 *scratch = walk->beside.scratch;
	__u16 type = 0;

	if (!V8_SMI(scratch[V8_OFFSET]) || !V8_TAGGED(scratch[V8_BYTECODE]))
		return 0;
	/* If there is code of a compiler by now, the function has that instead of the bytecode. */
	if (scratch[V8_BYTECODE] == scratch[V8_DATA])
		return 1;
	if (unwind_read(world, &scratch[V8_STACK], sizeof(__u64), scratch[V8_BYTECODE] - 1) ||
	    !V8_TAGGED(scratch[V8_STACK]) ||
	    unwind_read(world, &type, sizeof(type), scratch[V8_STACK] - 1 + V8_MAP_TYPE))
		return 0;
	return type == v8->bytecode_type;
}

/*
 * A builtin without a frame of its own was called by the compiled code that has this frame: looks
 * for the return address. 0: it is not there.
 */
UNWIND_FN __u64 v8_find_return(void *world, struct unwind *walk, const struct runtime *runtime)
{
	__u64 *scratch = walk->beside.scratch;
	__u32 at;

	if (unwind_read(world, &scratch[V8_STACK], V8_RETURNS * sizeof(__u64), walk->sp))
		return 0;
	UNWIND_AT(walk) = V8_RETURNS;
	for (__u32 i = V8_RETURNS; i; i--) {
		__u64 word = scratch[V8_STACK + i - 1];

		if (word >= runtime->areas[0].begin && word < runtime->areas[0].end)
			UNWIND_AT(walk) = i - 1;
	}
	at = UNWIND_AT(walk);
	return at < V8_RETURNS ? scratch[V8_STACK + at] : 0;
}

/* Takes back the native frame. */
UNWIND_FN void v8_undo(struct unwind *walk)
{
	walk->count = walk->beside.undo_count;
	walk->hash = walk->beside.undo_hash;
}

/* Code of a file without rows, whose native frame has been added. */
UNWIND_FN int v8_builtin(void *world, struct unwind *walk, const struct runtime *runtime)
{
	const struct runtime_v8 *v8 = &runtime->v8;
	__u64 *scratch = walk->beside.scratch, at;

	/* Its frame is not complete yet. */
	if (walk->exact && walk->bp - walk->sp < 16)
		return unwind_by_frame(world, walk);
	if (v8_read_frame(world, walk) || v8_read_function(world, walk, v8))
		return unwind_without_row(world, walk);
	/* The function is a builtin: this frame is that of the builtin itself. */
	if (V8_SMI(scratch[V8_DATA]))
		return v8_step(walk, walk->bp + 16);
	if (v8_is_interpreted(world, walk, v8)) {
		/* The return address is in the interpreter: that is the function itself. */
		if (!walk->exact)
			v8_undo(walk);
		v8_add(walk, v8, V8_IS_INTERPRETED, scratch[V8_OFFSET] >> 32, 0);
		return v8_step(walk, walk->bp + 16);
	}
	at = walk->exact ? v8_find_return(world, walk, runtime) : 0;
	v8_add(walk, v8, V8_IS_COMPILED, at - 1, at - 1);
	return v8_step(walk, walk->bp + 16);
}

/* --- compiled code ---------------------------------------------------------------------------- */

enum v8_edge {
	V8_INSIDE, /* the frame pointer is that of the function */
	V8_BEFORE, /* it is still the caller's, and the return address is on top of the stack, … */
	V8_PUSHED, /* … or the second word there */
	V8_BEHIND, /* it is the caller's again */
};

/* Where the thread has stopped in compiled code, by the instructions around it. */
UNWIND_FN __u32 v8_edge(void *world, struct unwind *walk)
{
	__u64 *scratch = walk->beside.scratch;
	const __u8 *code = (const __u8 *)&scratch[V8_CODE];

	if (unwind_read(world, &scratch[V8_CODE], 64, walk->pc - V8_BEFORE_PC))
		return V8_INSIDE;
	UNWIND_AT(walk) = V8_INSIDE;
	if (UNWIND_U32(code + V8_BEFORE_PC - 1) == V8_ENTER)
		UNWIND_AT(walk) = V8_PUSHED;
	for (__u32 i = 0; i <= V8_MOST_PROLOGUE; i++)
		if (UNWIND_U32(code + V8_BEFORE_PC + i) == V8_ENTER)
			UNWIND_AT(walk) = V8_BEFORE;
	for (__u32 i = 0; i <= V8_MOST_EPILOGUE; i++) {
		const __u8 *end = code + V8_BEFORE_PC - i;
		__u32 compare = UNWIND_U32(end) & 0xffffff;

		if (UNWIND_U32(end - 4) == V8_LEAVE &&
		    (compare == V8_COMPARE_COUNT || compare == V8_COMPARE_COUNT_R8))
			UNWIND_AT(walk) = V8_BEHIND;
	}
	return UNWIND_AT(walk);
}

/* Code that is in no file. */
UNWIND_FN int v8_generated(void *world, struct unwind *walk, const struct runtime *runtime)
{
	__u64 *scratch = walk->beside.scratch, at = walk->pc - !walk->exact, sp = walk->bp + 16;
	__u32 edge = walk->exact ? v8_edge(world, walk) : V8_INSIDE;

	if (edge != V8_INSIDE) {
		sp = walk->sp + (edge == V8_PUSHED ? 16 : 8);
		if (unwind_read(world, &scratch[V8_RETURN], sizeof(__u64), sp - 8))
			return unwind_ends(walk, STACK_END_NO_MEMORY);
		scratch[V8_SAVED] = walk->bp;
		scratch[V8_FUNCTION] = edge == V8_BEHIND ? 0 : walk->registers[V8_DWARF_FUNCTION];
		scratch[V8_CONTEXT] = 1;
	} else if (v8_read_frame(world, walk)) {
		v8_add_code(walk, at);
		return unwind_by_frame(world, walk);
	} else if (walk->exact && walk->bp - walk->sp < 16) {
		scratch[V8_FUNCTION] = walk->registers[V8_DWARF_FUNCTION];
		scratch[V8_CONTEXT] = 1;
	}
	if (v8_read_function(world, walk, &runtime->v8))
		v8_add_code(walk, at);
	else
		v8_add(walk, &runtime->v8, V8_IS_COMPILED, at, at);
	return v8_step(walk, sp);
}
