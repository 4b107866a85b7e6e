/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the tables of bpf/unwind.h. The includer must define these first (`world` is the
 * first argument of unwind_frame()):
 *   int unwind_read(void *world, void *to, __u32 bytes, __u64 address)     0: all bytes were read
 *   const struct unwind_page *unwind_page(void *world, __u64 key)          NULL: no such page
 *   #define UNWIND_FN                                                      e.g. static inline
 */
#pragma once

#include "bpf/unwind.h"

/* A larger frame is treated as an error. */
#define UNWIND_MOST_FRAME_BYTES (64ULL << 20)
#define UNWIND_LEAST_ADDRESS    4096

/* Compilers drop checks that cannot fail, but the verifier needs them. */
#define UNWIND_FORGET(var) __asm__ volatile("" : "+r"(var))

/*
 * Numbers at any address. The kernel reads them as they are; clang would put together their bytes,
 * which takes longer.
 */
#ifdef __bpf__
#define UNWIND_PACKED
#else
#define UNWIND_PACKED __attribute__((packed))
#endif
struct unwind_u16 {
	__u16 value;
} UNWIND_PACKED;
struct unwind_u32 {
	__u32 value;
} UNWIND_PACKED;
struct unwind_u64 {
	__u64 value;
} UNWIND_PACKED;
#define UNWIND_U16(at) (((const struct unwind_u16 *)(at))->value)
#define UNWIND_U32(at) (((const struct unwind_u32 *)(at))->value)
#define UNWIND_U64(at) (((const struct unwind_u64 *)(at))->value)

/* Not a frame: user space has none in the kernel. 0 is one, of a call through a null pointer. */
#define UNWIND_NOTHING_HELD ~0ULL

/* What a step is left with in a process with V8: the frame is code that V8 knows. */
enum unwind_left { UNWIND_LEFT_BUILTIN = 2, UNWIND_LEFT_GENERATED };

UNWIND_FN __u64 unwind_hash(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/*
 * The position of a binary search is kept in memory, so that the verifier forgets its value.
 * Otherwise the verifier would follow both branches of each of the nine steps, which exceeds its
 * limit up to Linux 6.1.
 */
#define UNWIND_AT(walk) (*(volatile __u32 *)&(walk)->at)

/* The mapping that contains `address`, or NULL. */
UNWIND_FN const struct unwind_mapping *unwind_find_mapping(struct unwind *walk,
							   const struct unwind_process *process,
							   __u64 address)
{
	__u64 page = address >> UNWIND_PAGE_SHIFT, begin;
	const struct unwind_mapping *mapping;
	__u32 at;

	UNWIND_AT(walk) = 0;
	for (__u32 step = 128; step; step >>= 1) {
		__u32 next = UNWIND_AT(walk) + step;

		if (next < UNWIND_MAPPINGS && next < process->count &&
		    process->mappings[next].page_and_module >> UNWIND_MODULE_BITS <= page)
			UNWIND_AT(walk) = next;
	}
	at = UNWIND_AT(walk);
	if (at >= UNWIND_MAPPINGS || at >= process->count)
		return 0;
	mapping = &process->mappings[at];
	begin = mapping->page_and_module >> UNWIND_MODULE_BITS;
	return page >= begin && page - begin < mapping->pages ? mapping : 0;
}

/* The row in force at `address` of a module, or NULL. *ret_known: the module has tables. */
UNWIND_FN const struct unwind_row *unwind_find_row(void *world, struct unwind *walk, __u32 module,
						   __u64 address, int *ret_known)
{
	__u64 number = address >> UNWIND_BLOCK_BITS;
	__u32 offset = address & (UNWIND_BLOCK_BYTES - 1), at, in_page, first, count;
	const struct unwind_page *page;

	page = unwind_page(world, UNWIND_KEY(module, (__u32)(number / UNWIND_PAGE_BLOCKS)));
	*ret_known = page != 0;
	in_page = number % UNWIND_PAGE_BLOCKS;
	UNWIND_FORGET(in_page);
	if (!page || in_page >= UNWIND_PAGE_BLOCKS)
		return 0;
	first = page->blocks[in_page].first;
	count = page->blocks[in_page].count;
	if (!count)
		return 0;
	page = unwind_page(world, UNWIND_KEY(module, UNWIND_ROWS | page->blocks[in_page].page));
	if (!page)
		return 0;
	UNWIND_AT(walk) = 0;
	for (__u32 step = 256; step; step >>= 1) {
		__u32 next = UNWIND_AT(walk) + step, row = first + next;

		UNWIND_FORGET(row);
		if (next < count && row < UNWIND_PAGE_ROWS && page->rows[row].pc <= offset)
			UNWIND_AT(walk) = next;
	}
	at = first + UNWIND_AT(walk);
	UNWIND_FORGET(at);
	if (at >= UNWIND_PAGE_ROWS)
		return 0;
	UNWIND_FORGET(page); /* otherwise clang adds before it checks */
	return &page->rows[at];
}

/* Each of these moves `walk` to the caller and returns 0, or sets walk->end and returns 1. */

UNWIND_FN int unwind_ends(struct unwind *walk, enum stack_end why)
{
	walk->end = why;
	return 1;
}

UNWIND_FN int unwind_arrive(struct unwind *walk, __u64 address, __u64 sp, __u64 bp)
{
	__u64 pc = ARCH_CODE_ADDRESS(address);

	if (!pc)
		return unwind_ends(walk, STACK_END_ROOT);
	if (pc < UNWIND_LEAST_ADDRESS || pc >= ARCH_MOST_ADDRESS)
		return unwind_ends(walk, STACK_END_NOWHERE);
	walk->pc = pc;
	walk->sp = sp;
	walk->bp = bp;
	walk->exact = 0;
	return 0;
}

/* Follows bp, which points to the saved bp and the return address. */
UNWIND_FN int unwind_by_bp(void *world, struct unwind *walk, enum stack_how how)
{
	__u64 saved[2], bp = walk->bp;

	if (!bp || bp & 7)
		return unwind_ends(walk, STACK_END_NO_FRAME);
	if (unwind_read(world, saved, sizeof(saved), bp))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	walk->how |= how;
	/* With a link register, the saved pair can be anywhere in a frame, so sp is unknown. */
	walk->sp_lost = ARCH_LINK_REGISTER;
	return unwind_arrive(walk, saved[1], bp + 16, saved[0]);
}

UNWIND_FN int unwind_by_frame(void *world, struct unwind *walk)
{
	__u64 bp = walk->bp;

	/*
	 * The ABI requires code with frame pointers to start a thread with bp = 0. In code without
	 * frame pointers, bp = 0 means nothing. So it is the root only if the walk came here by
	 * frame pointers.
	 */
	if (!bp)
		return unwind_ends(walk, !walk->exact && walk->how & STACK_BY_FRAMES
						 ? STACK_END_ROOT
						 : STACK_END_NO_FRAME);
	if (bp < walk->sp || bp - walk->sp > UNWIND_MOST_FRAME_BYTES)
		return unwind_ends(walk, STACK_END_NO_FRAME);
	return unwind_by_bp(world, walk, STACK_BY_FRAMES);
}

UNWIND_FN int unwind_by_signal(void *world, struct unwind *walk)
{
	__u64 bp, saved[2]; /* sp, pc */

	if (unwind_read(world, &bp, sizeof(bp), walk->sp + ARCH_SIGNAL_FP) ||
	    unwind_read(world, saved, sizeof(saved), walk->sp + ARCH_SIGNAL_SP))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
#if ARCH_LINK_REGISTER
	if (unwind_read(world, &walk->registers[ARCH_DWARF_LINK], sizeof(__u64),
			walk->sp + ARCH_SIGNAL_LINK))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
#endif
	if (unwind_arrive(walk, saved[1], saved[0], bp))
		return 1;
	walk->exact = 1;
	walk->sp_lost = 0;
	return 0;
}

/* Computes the CFA by a row. Returns 0 and sets *ret, or ends the walk. */
UNWIND_FN int unwind_cfa(void *world, struct unwind *walk, const struct unwind_row *row, __u64 *ret)
{
	__u32 kind = row->kind;
	__u64 at;

	if (kind == UNWIND_SP || kind == UNWIND_BOTTOM) {
		*ret = walk->sp + row->offset;
	} else if (kind == UNWIND_BP) {
		*ret = walk->bp + row->offset;
	} else if (kind == UNWIND_PLT) {
		*ret = walk->sp + 8 + ((walk->pc & 15) >= (__u64)row->offset ? 8 : 0);
	} else if (kind == UNWIND_SP_DEREF || kind == UNWIND_BP_DEREF) {
		at = (kind == UNWIND_SP_DEREF ? walk->sp : walk->bp) + row->offset;
		if (unwind_read(world, ret, sizeof(*ret), at))
			return unwind_ends(walk, STACK_END_NO_MEMORY);
		*ret += kind == UNWIND_SP_DEREF ? 8 : 0;
	} else if (kind >= UNWIND_REGISTER && walk->count == 1) {
		*ret = walk->registers[(kind - UNWIND_REGISTER) & (ARCH_REGISTERS - 1)] +
		       row->offset;
	} else {
		return unwind_ends(walk, STACK_END_NO_RULE);
	}
	return 0;
}

#if ARCH_LINK_REGISTER
/* Where a register is saved according to `rule`, see struct unwind_row. */
UNWIND_FN __u64 unwind_saved_at(const struct unwind_row *row, __u32 rule, __u64 cfa)
{
	if (rule == UNWIND_AT_BASE || rule == UNWIND_ABOVE_BASE)
		return cfa - row->offset + (rule == UNWIND_ABOVE_BASE ? 8 : 0);
	return cfa - 8ULL * rule;
}

UNWIND_FN int unwind_by_row(void *world, struct unwind *walk, const struct unwind_row *row)
{
	__u64 cfa = 0, link = walk->registers[ARCH_DWARF_LINK], bp = walk->bp;
	__u32 rule = row->bp;

	if (walk->sp_lost && row->kind != UNWIND_BP)
		return unwind_by_frame(world, walk);
	if (unwind_cfa(world, walk, row, &cfa))
		return 1;
	/* A function that made a call has its own return address no longer in the register. */
	if (!row->link && !walk->exact)
		return unwind_ends(walk, STACK_END_NO_RULE);
	if (cfa < walk->sp || (cfa == walk->sp && row->link) ||
	    cfa - walk->sp > UNWIND_MOST_FRAME_BYTES)
		return unwind_ends(walk, STACK_END_NO_PROGRESS);
	if (row->link &&
	    unwind_read(world, &link, sizeof(link), unwind_saved_at(row, row->link, cfa)))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	if (rule &&
	    unwind_read(world, &bp, sizeof(bp),
			rule == UNWIND_BP_AT_BP ? walk->bp : unwind_saved_at(row, rule, cfa)))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	walk->how |= STACK_BY_ROWS;
	walk->sp_lost = 0;
	return unwind_arrive(walk, link, cfa, bp);
}
#else
UNWIND_FN int unwind_by_row(void *world, struct unwind *walk, const struct unwind_row *row)
{
	__u64 cfa = 0, saved[2], bp = walk->bp; /* saved: usually bp and return address */
	__u32 rule = row->bp;

	if (unwind_cfa(world, walk, row, &cfa))
		return 1;
	if (cfa <= walk->sp || cfa - walk->sp > UNWIND_MOST_FRAME_BYTES)
		return unwind_ends(walk, STACK_END_NO_PROGRESS);
	if (unwind_read(world, saved, sizeof(saved), cfa - 16))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	if (rule == 2)
		bp = saved[0];
	else if (rule && unwind_read(world, &bp, sizeof(bp),
				     rule == UNWIND_BP_AT_BP ? walk->bp : cfa - 8ULL * rule))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	walk->how |= STACK_BY_ROWS;
	return unwind_arrive(walk, saved[1], cfa, bp);
}
#endif

/* The pc is in code without a row. */
UNWIND_FN int unwind_without_row(void *world, struct unwind *walk)
{
	__u64 code;

	if (!walk->exact && !unwind_read(world, &code, sizeof(code), walk->pc) &&
	    code == ARCH_SIGRETURN_CODE)
		return unwind_by_signal(world, walk);
	return unwind_by_frame(world, walk);
}

UNWIND_FN void unwind_add_frame(struct unwind *walk, __u64 frame)
{
	__u32 at = walk->count;

	UNWIND_FORGET(at);
	if (at >= STACK_MOST_WORDS)
		return;
	walk->frames[at] = frame;
	walk->plain |= !(frame & FRAME_IN_MODULE);
	walk->count = at + 1;
	walk->hash = unwind_hash(walk->hash, frame);
}

/* A frame of a language runtime. The address of its object is valid only in its process. */
UNWIND_FN void unwind_add_runtime(struct unwind *walk, __u32 kind, __u64 object, __u32 position,
				  __u32 cookie)
{
	__u64 first = FRAME_MAKE_RUNTIME(kind, object);
	__u64 second = FRAME_MAKE_POSITION(position, cookie);
	__u32 at = walk->count;

	if (at >= STACK_MOST_WORDS - 1)
		return;
	walk->frames[at] = first;
	walk->frames[at + 1] = second;
	walk->plain = walk->has_objects = 1;
	walk->count = at + 2;
	walk->hash = unwind_hash(unwind_hash(walk->hash, first), second);
}

/* A frame of native code. In a process with V8 also enum unwind_left: the step is not done. */
UNWIND_FN int unwind_native(void *world, struct unwind *walk, const struct unwind_process *process)
{
	__u64 at = walk->pc - !walk->exact, address;
	const struct unwind_mapping *mapping = process ? unwind_find_mapping(walk, process, at) : 0;
	const struct unwind_row *row;
	__u32 module;
	int known;

	if (!process) {
		walk->need = UNWIND_NEED_PROCESS;
		walk->need_id = walk->pid;
	}
	if (!mapping) {
		/* The previous frame's file has no tables yet, so this pc is not reliable. */
		if (walk->need == UNWIND_NEED_MODULE)
			return unwind_ends(walk, STACK_END_NOT_READY);
		if (process && process->runtime.kind == RUNTIME_V8)
			return UNWIND_LEFT_GENERATED;
		unwind_add_frame(walk, at);
		return unwind_by_frame(world, walk);
	}
	module = mapping->page_and_module & UNWIND_MODULE_MASK;
	address = at - (mapping->page_and_module >> UNWIND_MODULE_BITS << UNWIND_PAGE_SHIFT) +
		  ((__u64)mapping->file_page << UNWIND_PAGE_SHIFT);
	unwind_add_frame(walk, FRAME_MAKE(module, address));
	row = unwind_find_row(world, walk, module, address, &known);
	if (!known && !walk->need) {
		walk->need = UNWIND_NEED_MODULE;
		walk->need_id = module;
	}
	if (!row || row->kind == UNWIND_NONE)
		return process->runtime.kind == RUNTIME_V8 ? UNWIND_LEFT_BUILTIN
							   : unwind_without_row(world, walk);
	if (row->kind == UNWIND_END || (row->kind == UNWIND_BOTTOM && !walk->exact))
		return unwind_ends(walk, STACK_END_ROOT);
	if (row->kind == UNWIND_SIGNAL)
		return unwind_by_signal(world, walk);
	if (row->kind == UNWIND_SWITCH)
		return unwind_by_bp(world, walk, STACK_BY_ROWS);
	return unwind_by_row(world, walk, row);
}

#include "bpf/unwind_runtime.h"

/*
 * Records the current frame of `walk` and moves on to its caller. 0: go on; 1: the walk is over,
 * and walk->end says why. `process` may be NULL: its tables are not there yet.
 */
UNWIND_FN int unwind_frame(void *world, struct unwind *walk, const struct unwind_process *process)
{
	const struct runtime *runtime = process ? &process->runtime : 0;
	struct unwind_beside *beside = &walk->beside;
	int left;

	beside->area = RUNTIME_AREAS;
	if (runtime && runtime->kind) {
		if (beside->mode == UNWIND_BESIDE)
			return unwind_beside(world, walk, runtime) ? unwind_rescue(walk, runtime)
								   : 0;
		beside->area = unwind_area(walk, runtime);
		if (runtime->kind == RUNTIME_HOTSPOT && beside->area != RUNTIME_AREAS)
			return hotspot_frame(world, walk, runtime, beside->area);
		beside->low = walk->sp;
		beside->undo_hash = walk->hash;
		beside->undo_count = walk->count;
	}
	/* The only place where it is called: it is long. */
	left = unwind_native(world, walk, process);
	if (runtime && runtime->kind)
		left = unwind_left(world, walk, runtime, left);
	return left != 0; /* for the verifier */
}

/*
 * Call it after the last frame. Plain addresses are valid only in their process, so the hash of a
 * stack with plain addresses includes the pid.
 */
UNWIND_FN void unwind_finish(struct unwind *walk)
{
	/* Too many functions of an interpreter: the native frame that they run in was taken back.
	 */
	if (walk->beside.mode == UNWIND_BESIDE && walk->beside.held != UNWIND_NOTHING_HELD)
		unwind_add_frame(walk, walk->beside.held);
	/* Without tables, it used frame pointers that may not exist: the end means nothing. */
	if (walk->need)
		walk->end = STACK_END_NOT_READY;
	walk->hash = unwind_hash(walk->hash, walk->plain ? walk->pid : 0);
	walk->hash = unwind_hash(walk->hash, walk->end << 8 | walk->how) | 1; /* 0 means no stack */
}

/* Call it at any time after unwind_begin(). */
UNWIND_FN void unwind_find_fiber(void *world, struct unwind *walk,
				 const struct unwind_process *process)
{
	if (process && process->runtime.kind == RUNTIME_GO)
		walk->fiber = go_fiber(world, walk, &process->runtime.go);
}

/*
 * Starts a walk at these registers. The caller has filled in walk->registers, and may set
 * walk->beside.thread_pointer after it.
 */
UNWIND_FN void unwind_begin(struct unwind *walk, __u32 pid, __u64 pc, __u64 sp, __u64 bp)
{
	walk->pc = pc;
	walk->sp = sp;
	walk->bp = bp;
	walk->sp_lost = 0;
	walk->pid = pid;
	walk->hash = 0;
	walk->count = 0;
	walk->how = 0;
	walk->end = STACK_END_TOO_DEEP;
	walk->exact = 1;
	walk->need = 0;
	walk->plain = 0;
	walk->has_objects = 0;
	walk->fiber = FIBER_UNKNOWN;
	walk->beside.thread_pointer = 0;
	walk->beside.mode = UNWIND_NATIVE;
	walk->beside.has_begun = 0;
	walk->beside.ends = 0;
	walk->beside.loose = 0;
	walk->beside.paired = 0;
	walk->beside.frame = 0;
}
