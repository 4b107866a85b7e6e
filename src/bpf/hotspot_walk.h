/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for HotSpot, 8 to 25. Included by bpf/unwind_walk.h.
 *
 * Java code runs in the interpreter, whose code is one area, or is compiled, into blobs that lie in
 * one to three heaps. A heap is divided into segments, and its segment map tells how many segments
 * before an address its blob begins. A blob knows the size of its frame, so no other tables are
 * needed. The frame pointer is kept by the interpreter and by stubs only: compiled code uses it as
 * any other register, but saves it below the return address.
 *
 * A frame of the interpreter has the Method and the index into its bytecode. A frame of a blob has
 * the blob and the offset from its first instruction: user space knows which functions were inlined
 * there. Bit 29 of the cookie tells which kind a frame is (hotspot_frames.h).
 *
 * The thread's first frame of Java returns to the call stub, which libjvm.so has called. Its frame
 * pointer leads back to native code.
 */
#pragma once

#include "bpf/hotspot_frames.h"

/* What was read of the blob is at the start of `scratch`, words of the stack are behind it. */
#define HOTSPOT_STACK 48
#define HOTSPOT_WORDS 12
#define HOTSPOT_U64(walk, offset)                                                                  \
	UNWIND_U64((__u8 *)(walk)->beside.scratch + ((offset) & HOTSPOT_OFFSET_MASK))
#define HOTSPOT_U32(walk, offset)                                                                  \
	UNWIND_U32((__u8 *)(walk)->beside.scratch + ((offset) & HOTSPOT_OFFSET_MASK))
#define HOTSPOT_U16(walk, offset)                                                                  \
	UNWIND_U16((__u8 *)(walk)->beside.scratch + ((offset) & HOTSPOT_OFFSET_MASK))
_Static_assert(sizeof(((struct unwind_beside *)0)->scratch) >= HOTSPOT_OFFSET_MASK + 8, "offsets");
_Static_assert(HOTSPOT_MOST_BLOB <= 8 * HOTSPOT_STACK, "scratch");
_Static_assert(sizeof(((struct unwind_beside *)0)->scratch) >= 8 * (HOTSPOT_STACK + HOTSPOT_WORDS),
	       "scratch");

UNWIND_FN int hotspot_is_code(const struct runtime_hotspot *hotspot, __u64 address)
{
	return address >= hotspot->low && address < hotspot->high;
}

/* Stubs are also called by the virtual machine itself. */
UNWIND_FN int hotspot_is_stub_caller(const struct runtime_hotspot *hotspot, __u64 address)
{
	return hotspot_is_code(hotspot, address) ||
	       (address >= hotspot->vm_low && address < hotspot->vm_high);
}

/* Reads `count` words of the stack, at most HOTSPOT_WORDS. */
UNWIND_FN int hotspot_read_stack(void *world, struct unwind *walk, __u64 address, __u32 count)
{
	return unwind_read(world, &walk->beside.scratch[HOTSPOT_STACK], 8 * count, address);
}

UNWIND_FN int hotspot_arrive(struct unwind *walk, __u64 pc, __u64 sp, __u64 bp)
{
	walk->how |= STACK_BY_RUNTIME;
	walk->sp_lost = 0;
	if (sp <= walk->sp || sp - walk->sp > UNWIND_MOST_FRAME_BYTES)
		return unwind_ends(walk, STACK_END_NO_PROGRESS);
	return unwind_arrive(walk, pc, sp, bp);
}

/* Goes on at the first of the next words that is a return address into generated code. */
UNWIND_FN int hotspot_look(void *world, struct unwind *walk, const struct runtime_hotspot *hotspot,
			   __u64 sp)
{
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];

	if (hotspot_read_stack(world, walk, sp, HOTSPOT_WORDS))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	for (__u32 i = 0; i < HOTSPOT_WORDS; i++)
		if (hotspot_is_code(hotspot, words[i]))
			return hotspot_arrive(walk, words[i], sp + 8 * (i + 1),
					      i ? words[i - 1] : walk->bp);
	return unwind_ends(walk, STACK_END_NOWHERE);
}

/* --- frames of the interpreter -------------------------------------------------------------- */

/*
 * The method has been entered, but has no frame yet: its return address is at the top of the stack
 * or, while the arguments are prepared, in a register. The frame pointer is the caller's.
 */
UNWIND_FN int hotspot_entered(void *world, struct unwind *walk,
			      const struct runtime_hotspot *hotspot)
{
	__u64 *words = &walk->beside.scratch[HOTSPOT_STACK];

	if (hotspot_read_stack(world, walk, walk->sp, 1))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	if (hotspot_is_code(hotspot, words[0]))
		return hotspot_arrive(walk, words[0], walk->sp + 8, walk->bp);
	words[1] = walk->registers[ARCH_JAVA_RETURN];
	if (hotspot_is_code(hotspot, words[1]))
		return hotspot_arrive(walk, words[1], walk->registers[ARCH_JAVA_BYTECODE],
				      walk->bp);
	return unwind_by_bp(world, walk, STACK_BY_RUNTIME);
}

UNWIND_FN void hotspot_add_method(void *world, struct unwind *walk,
				  const struct runtime_hotspot *hotspot)
{
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];
	__u64 begin = walk->beside.scratch[0] + hotspot->const_bytes;
	__u64 index = walk->registers[ARCH_JAVA_BYTECODE] - begin;

	if (!walk->exact || index >= HOTSPOT_MOST_INDEX)
		index = words[hotspot->bytecode_word & 7] - begin;
	if (index >= HOTSPOT_MOST_INDEX)
		index = HOTSPOT_NO_INDEX;
	unwind_add_runtime(walk, RUNTIME_HOTSPOT, words[HOTSPOT_METHOD_WORD], index,
			   HOTSPOT_COOKIE(walk->beside.scratch[0] >> 3));
}

UNWIND_FN int hotspot_interpreted(void *world, struct unwind *walk,
				  const struct runtime_hotspot *hotspot)
{
	/* From 64 bytes below the frame pointer on. */
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];
	__u64 bp = walk->bp, sp;

	if (bp & 7 || bp < walk->sp || bp - walk->sp > UNWIND_MOST_FRAME_BYTES ||
	    hotspot_read_stack(world, walk, bp - 64, 10) || !hotspot_is_code(hotspot, words[9]))
		return walk->exact ? hotspot_entered(world, walk, hotspot)
				   : unwind_ends(walk, STACK_END_NO_FRAME);
	if (!unwind_read(world, walk->beside.scratch, sizeof(__u64),
			 words[HOTSPOT_METHOD_WORD] + hotspot->method_const))
		hotspot_add_method(world, walk, hotspot);
	else if (walk->exact)
		return hotspot_entered(world, walk, hotspot);
	else /* the frame is being made out of a compiled method's */
		unwind_add_frame(walk, walk->pc - 1);
	/* Where the caller's stack pointer was before it made room for locals. */
	sp = words[7];
	if (sp < bp + 16 || sp - bp > UNWIND_MOST_FRAME_BYTES)
		sp = bp + 16;
	return hotspot_arrive(walk, words[9], sp, words[8]);
}

/* --- frames of blobs ------------------------------------------------------------------------ */

/* Reads the blob that has the current pc. 0, or the end of the walk. */
UNWIND_FN int hotspot_read_blob(void *world, struct unwind *walk, const struct runtime *runtime,
				__u32 area)
{
	const struct runtime_hotspot *hotspot = &runtime->hotspot;
	struct unwind_beside *beside = &walk->beside;
	__u64 begin;

	UNWIND_FORGET(area);
	if (area >= RUNTIME_AREAS)
		return unwind_ends(walk, STACK_END_NOWHERE);
	begin = runtime->areas[area].begin;
	UNWIND_AT(walk) = (walk->pc - !walk->exact - begin) >> (hotspot->shift & 31);
	for (int i = 0; i < HOTSPOT_MOST_STEPS; i++) {
		if (unwind_read(world, &beside->tag, sizeof(beside->tag),
				hotspot->segment_maps[area] + UNWIND_AT(walk)))
			return unwind_ends(walk, STACK_END_NO_MEMORY);
		if (!beside->tag || beside->tag == HOTSPOT_FREE_SEGMENT)
			break;
		UNWIND_AT(walk) -= beside->tag;
	}
	if (beside->tag)
		return unwind_ends(walk, STACK_END_NOWHERE);
	beside->blob =
		begin + ((__u64)UNWIND_AT(walk) << (hotspot->shift & 31)) + hotspot->block_bytes;
	/* A blob that is no method is smaller, and can be the last one in the heap. */
	if (unwind_read(world, beside->scratch, HOTSPOT_MOST_BLOB, beside->blob) &&
	    unwind_read(world, beside->scratch, HOTSPOT_LEAST_BLOB, beside->blob))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	return 0;
}

UNWIND_FN __u64 hotspot_address(struct unwind *walk, const struct runtime_hotspot *hotspot,
				__u32 offset)
{
	return hotspot->is_relative ? walk->beside.blob + HOTSPOT_U32(walk, offset)
				    : HOTSPOT_U64(walk, offset);
}

UNWIND_FN int hotspot_is_method(struct unwind *walk, const struct runtime_hotspot *hotspot)
{
	__u32 bytes = hotspot->is_short ? HOTSPOT_U16(walk, hotspot->header_bytes)
					: HOTSPOT_U32(walk, hotspot->header_bytes);

	return bytes == hotspot->method_bytes;
}

/*
 * Adds the frame. If the method is going to be deoptimized, the return address has been replaced,
 * and the frame keeps the real one.
 */
UNWIND_FN void hotspot_add_blob(void *world, struct unwind *walk,
				const struct runtime_hotspot *hotspot)
{
	__u64 begin = hotspot_address(walk, hotspot, hotspot->code_begin), pc = walk->pc;
	__u64 *word = &walk->beside.scratch[HOTSPOT_STACK];
	__u32 cookie = HOTSPOT_U32(walk, hotspot->blob_name);

	if (hotspot_is_method(walk, hotspot)) {
		cookie = HOTSPOT_U32(walk, hotspot->compile_id);
		if (pc == hotspot_address(walk, hotspot, hotspot->deopt_handler) &&
		    !hotspot_read_stack(world, walk, walk->sp + HOTSPOT_U32(walk, hotspot->real_pc),
					1) &&
		    hotspot_is_code(hotspot, *word))
			pc = *word;
	}
	unwind_add_runtime(walk, RUNTIME_HOTSPOT, walk->beside.blob, pc - begin,
			   HOTSPOT_OF_BLOB | HOTSPOT_COOKIE(cookie));
}

/*
 * The thread has stopped in a blob that has no frame yet or none any more: its return address is at
 * the top of the stack, or one word above if the frame pointer has been saved. Stubs tell less of
 * themselves than methods do, but return addresses are seldom in these two words otherwise. 1: it
 * was so, and *ret is what to return.
 */
UNWIND_FN int hotspot_without_frame(void *world, struct unwind *walk,
				    const struct runtime_hotspot *hotspot, int *ret)
{
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];
	__s32 complete = hotspot->is_short ? (__s16)HOTSPOT_U16(walk, hotspot->frame_complete)
					   : (__s32)HOTSPOT_U32(walk, hotspot->frame_complete);
	__s64 offset = walk->pc - hotspot_address(walk, hotspot, hotspot->code_begin);
	__u64 code = 0;

	if (!walk->exact || unwind_read(world, &code, sizeof(code), walk->pc))
		return 0;
	if (hotspot_is_method(walk, hotspot) && offset >= complete && !ARCH_JAVA_IS_EDGE(code))
		return 0;
	if (hotspot_read_stack(world, walk, walk->sp, 2))
		return 0;
	if (hotspot_is_stub_caller(hotspot, words[0]) && !ARCH_JAVA_IS_POP(code)) {
		*ret = hotspot_arrive(walk, words[0], walk->sp + 8, walk->bp);
		return 1;
	}
	if (!hotspot_is_stub_caller(hotspot, words[1]))
		return 0;
	*ret = hotspot_arrive(walk, words[1], walk->sp + 16, words[0]);
	return 1;
}

/*
 * A stub that has no frame of a known size keeps the frame pointer, and that of the call stub leads
 * to native code. Between the interpreter and compiled methods, adapters move the arguments, and
 * have the return address in a register meanwhile.
 */
UNWIND_FN int hotspot_stub(void *world, struct unwind *walk, const struct runtime_hotspot *hotspot)
{
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];
	__u64 bp = walk->bp, pc = walk->registers[ARCH_JAVA_RETURN];

	if (walk->exact && hotspot_is_code(hotspot, pc) &&
	    walk->registers[ARCH_JAVA_BYTECODE] > walk->sp &&
	    walk->registers[ARCH_JAVA_BYTECODE] - walk->sp < HOTSPOT_MOST_STUB)
		return hotspot_arrive(walk, pc, walk->registers[ARCH_JAVA_BYTECODE], bp);
	if (!(bp & 7) && bp >= walk->sp && bp - walk->sp < HOTSPOT_MOST_STUB &&
	    !hotspot_read_stack(world, walk, bp, 2) &&
	    (walk->pc == hotspot->call_stub || hotspot_is_stub_caller(hotspot, words[1])))
		return hotspot_arrive(walk, words[1], bp + 16, words[0]);
	return hotspot_look(world, walk, hotspot, walk->sp);
}

UNWIND_FN int hotspot_blob(void *world, struct unwind *walk, const struct runtime *runtime,
			   __u32 area)
{
	const struct runtime_hotspot *hotspot = &runtime->hotspot;
	const __u64 *words = &walk->beside.scratch[HOTSPOT_STACK];
	__u32 size;
	__u64 sp;
	int ret;

	if (hotspot_read_blob(world, walk, runtime, area))
		return 1;
	hotspot_add_blob(world, walk, hotspot);
	if (hotspot_without_frame(world, walk, hotspot, &ret))
		return ret;
	size = HOTSPOT_U32(walk, hotspot->frame_size);
	if (!size)
		return hotspot_stub(world, walk, hotspot);
	sp = walk->sp;
	if (size < HOTSPOT_MOST_FRAME) {
		/* Stubs of C1 keep the frame pointer, and save registers step by step. */
		if (walk->exact && !(walk->bp & 7) && walk->bp - sp < 8ULL * size &&
		    !hotspot_is_method(walk, hotspot) &&
		    !hotspot_read_stack(world, walk, walk->bp, 2) &&
		    hotspot_is_code(hotspot, words[1]))
			return hotspot_arrive(walk, words[1], walk->bp + 16, words[0]);
		sp += 8ULL * size;
		if (hotspot_read_stack(world, walk, sp - 16, 2))
			return unwind_ends(walk, STACK_END_NO_MEMORY);
		if (hotspot_is_code(hotspot, words[1]))
			return hotspot_arrive(walk, words[1], sp, words[0]);
	}
	/* Some code pushes more than its frame is large, or does not tell how large it is. */
	return hotspot_look(world, walk, hotspot, sp);
}

/* One frame of generated code. If nothing is known of it, it has its address. */
UNWIND_FN int hotspot_frame(void *world, struct unwind *walk, const struct runtime *runtime,
			    __u32 area)
{
	__u32 count = walk->count;
	int ret = area == HOTSPOT_INTERPRETED_AREA
			  ? hotspot_interpreted(world, walk, &runtime->hotspot)
			  : hotspot_blob(world, walk, runtime, area);

	if (ret && walk->count == count)
		unwind_add_frame(walk, walk->pc - !walk->exact);
	return ret;
}
