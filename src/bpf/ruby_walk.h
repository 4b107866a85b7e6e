/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the walk for CRuby. Included by bpf/unwind_walk.h.
 *
 * A thread's functions are control frames, one after the other from the innermost one to the end of
 * the thread's own stack. One native frame of vm_exec_core() runs many, up to one with the flag
 * "finish": C code called that one. Functions in C have control frames too, which are left out:
 * what they are called is in tables of the interpreter, and their native frames are there anyway.
 *
 * The object of a frame is its instruction sequence; the cookie is in the address of the sequence's
 * body. The position is the lower half of the instruction's address.
 */
#pragma once

/* The area of the loop. The others are the functions that call it: rb_vm_exec(). */
#define RUBY_LOOP 0
/* Words of a control frame. */
#define RUBY_PC   0
#define RUBY_ISEQ 2
#define RUBY_EP   4
/* Words of an execution context. */
#define RUBY_STACK       0
#define RUBY_STACK_WORDS 1
#define RUBY_FRAME       2
/* Flags of a frame, in the word that RUBY_EP points to. */
#define RUBY_FINISH 0x20
#define RUBY_IN_C   0x80
#define RUBY_KIND   0x7fff0001
/* The outermost frame of a thread: no function. */
#define RUBY_DUMMY 0x79990001
/* Where an instruction sequence has the pointer to its body. */
#define RUBY_BODY 16
/* A larger stack is not one: the default is 1 MiB, and 8 bytes a word. */
#define RUBY_MOST_WORDS (1ULL << 32)

UNWIND_FN void ruby_find_frames(void *world, struct unwind *walk, const struct runtime_ruby *ruby)
{
	struct unwind_beside *beside = &walk->beside;
	__u64 at = beside->thread_pointer;

	beside->has_begun = 1;
	if (!at)
		return;
	if (!ruby->block)
		at += ruby->from_thread;
	else if (unwind_read(world, &at, sizeof(at), at + 8) ||
		 unwind_read(world, &at, sizeof(at), at + ruby->block))
		return;
	else
		at += ruby->in_block;
	if (unwind_read(world, &at, sizeof(at), at) || !at ||
	    unwind_read(world, beside->scratch, 3 * sizeof(__u64), at))
		return;
	at = beside->scratch[RUBY_FRAME];
	if (beside->scratch[RUBY_STACK_WORDS] >= RUBY_MOST_WORDS ||
	    at < beside->scratch[RUBY_STACK])
		return;
	beside->entry =
		beside->scratch[RUBY_STACK] + sizeof(__u64) * beside->scratch[RUBY_STACK_WORDS];
	if (at < beside->entry)
		beside->frame = at;
}

/* Whether the innermost function that is left is one in C. Reads its frame and its flags. */
UNWIND_FN int ruby_is_in_c(void *world, struct unwind *walk)
{
	__u64 *frame = walk->beside.scratch, *flags = frame + 5;

	if (unwind_read(world, frame, 5 * sizeof(__u64), walk->beside.frame) ||
	    unwind_read(world, flags, sizeof(*flags), frame[RUBY_EP])) {
		walk->beside.frame = 0;
		return 1;
	}
	return (*flags & RUBY_IN_C) != 0;
}

/*
 * rb_vm_exec() enters and leaves the loop. If both are on the stack, the loop gets the functions.
 * If a function in C is innermost and no code of it runs, the function that the native frame was
 * entered for has already returned.
 */
UNWIND_FN int ruby_begins(void *world, struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;
	int is_loop = beside->area == RUBY_LOOP;

	if (!beside->has_begun)
		ruby_find_frames(world, walk, &runtime->ruby);
	if (!beside->frame)
		return 0;
	if (!is_loop && beside->paired) {
		beside->paired = 0;
		return 0;
	}
	if ((!is_loop || !beside->undo_count) && ruby_is_in_c(world, walk))
		return 0;
	beside->paired = is_loop;
	return 1;
}

UNWIND_FN int ruby_frame(void *world, struct unwind *walk, const struct runtime *runtime)
{
	struct unwind_beside *beside = &walk->beside;
	__u64 *frame = beside->scratch, *flags = frame + 5, *body = frame + 6;
	int is_in_c;

	is_in_c = ruby_is_in_c(world, walk);
	if (!beside->frame)
		return 1;
	if (!is_in_c && frame[RUBY_ISEQ] && (*flags & RUBY_KIND) != RUBY_DUMMY) {
		/* The body is read again by user space, which notices if it is not there. */
		if (unwind_read(world, body, sizeof(*body), frame[RUBY_ISEQ] + RUBY_BODY))
			*body = 0;
		unwind_add_runtime(walk, RUNTIME_RUBY, frame[RUBY_ISEQ], frame[RUBY_PC],
				   *body >> 4);
	}
	beside->frame += runtime->ruby.frame_bytes;
	if (beside->frame >= beside->entry)
		beside->frame = 0;
	return !beside->frame || (*flags & RUBY_FINISH && !beside->loose);
}
