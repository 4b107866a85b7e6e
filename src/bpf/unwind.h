/*
 * Walking a user stack without frame pointers: the tables that say how, and the walk itself. One
 * text for both sides: the kernel half walks at a sample, user space walks threads that are still
 * blocked at the end, and the unit tests and fuzzers walk images of memory.
 *
 * A compiler describes in .eh_frame, for every instruction, where its caller's frame is. User space
 * compiles that into rows of 8 bytes (stacks/rows.c). The rows of a file ("module") are cut into
 * blocks of 1 KiB of code, each beginning with the row that is in force there, so that one step
 * needs two look-ups: the block by its number, and the page with its rows, within which it
 * searches. A search tree over all rows would need three or four; rows by bisection over the whole
 * file, one per halving.
 *
 * x86-64 only, for now: the registers' numbers and the signal frame are its own.
 */
#pragma once

#include <linux/types.h>

#include "bpf/stack.h"

/* --- tables --------------------------------------------------------------------------------- */

/*
 * How to find the caller's frame: first its CFA (the stack pointer before the call pushed the
 * return address, which is at CFA − 8), then its frame pointer.
 */
enum unwind_kind {
	UNWIND_NONE,     /* no rule: try the frame pointer */
	UNWIND_END,      /* the thread's first function: nobody called it */
	UNWIND_SP,       /* CFA = sp + offset */
	UNWIND_BP,       /* CFA = bp + offset */
	UNWIND_PLT,      /* CFA = sp + 8, and 8 more from instruction `offset` of 16 bytes on */
	UNWIND_SIGNAL,   /* a signal handler's caller: all registers are in the frame at sp */
	UNWIND_SP_DEREF, /* CFA = *(sp + offset) + 8: OpenSSL's assembler */
	UNWIND_BP_DEREF, /* CFA = *(bp + offset): gcc, where it aligns the stack anew */
	UNWIND_HARD,     /* a rule that we do not follow */
	UNWIND_REGISTER =
		16, /* + n: CFA = register n (as DWARF counts them) + offset; only innermost */
	UNWIND_KINDS = UNWIND_REGISTER + 16,
};

/* row.bp: 0: unchanged; n: saved at CFA − 8n; or: saved where bp points to. */
#define UNWIND_BP_AT_BP 255

struct unwind_row {
	__u16 pc; /* where it begins, from the begin of its block */
	__u8 kind;
	__u8 bp;
	__s32 offset;
};
_Static_assert(sizeof(struct unwind_row) == 8, "table format");

#define UNWIND_BLOCK_BITS  10
#define UNWIND_BLOCK_BYTES (1U << UNWIND_BLOCK_BITS)

/* Where the rows of one block are: within one page of rows. count 0: no code there. */
struct unwind_block {
	__u32 page;
	__u16 first;
	__u16 count;
};
_Static_assert(sizeof(struct unwind_block) == 8, "table format");

/*
 * A map's element of 4 KiB, its head included, holds one page. Keys: the module's id in the upper
 * half; below it the number of a page of blocks, or UNWIND_ROWS and the number of a page of rows.
 */
#define UNWIND_PAGE_BYTES        4032
#define UNWIND_PAGE_ROWS         (UNWIND_PAGE_BYTES / sizeof(struct unwind_row))
#define UNWIND_PAGE_BLOCKS       (UNWIND_PAGE_BYTES / sizeof(struct unwind_block))
#define UNWIND_ROWS              (1U << 31)
#define UNWIND_KEY(module, page) ((__u64)(module) << 32 | (page))

struct unwind_page {
	union {
		struct unwind_row rows[UNWIND_PAGE_ROWS];
		struct unwind_block blocks[UNWIND_PAGE_BLOCKS];
	};
};
_Static_assert(sizeof(struct unwind_page) == UNWIND_PAGE_BYTES, "table format");

/* A file's code in a process: pages of 4 KiB from `page` on. */
struct unwind_mapping {
	__u64 page_and_module; /* page << 28 | module id */
	__u32 pages;
	__u32 file_page; /* the address that the ELF file has for its begin, in pages */
};
_Static_assert(sizeof(struct unwind_mapping) == 16, "table format");

#define UNWIND_PAGE_SHIFT  12
#define UNWIND_MODULE_BITS 28
#define UNWIND_MODULE_MASK ((1U << UNWIND_MODULE_BITS) - 1)
#define UNWIND_MAPPINGS    251

/* A process, by its number in gapless's namespace; mappings[count] ascend and do not overlap. */
struct unwind_process {
	__u64 start_ticks; /* start of the process in 1/100 s since boot: numbers are used again */
	__u32 count;
	__u32 pad;
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
};
_Static_assert(sizeof(struct unwind_process) == UNWIND_PAGE_BYTES, "table format");

#define UNWIND_TICK_NS 10000000ULL

/* What the kernel half asks user space for: once each, through a ring of its own. */
enum unwind_need { UNWIND_NEED_PROCESS = 1, UNWIND_NEED_MODULE };

struct unwind_request {
	struct wire_head head; /* head.kind: enum unwind_need */
	__u32 id;              /* a process's number, or a module's id */
	__u32 pad;
};
_Static_assert(sizeof(struct unwind_request) == 32, "wire format");
/* The key under which the kernel half remembers that it asked; removed, it asks again. */
#define UNWIND_ASKED(need, id) ((__u64)(need) << 32 | (id))

/* --- the walk ------------------------------------------------------------------------------- */

/* As DWARF counts them. */
#define UNWIND_REGISTERS 16
#define UNWIND_REG_BP    6
#define UNWIND_REG_SP    7

/* The state of a walk, and what it found. */
struct unwind {
	__u64 pc, sp, bp;
	__u64 hash;
	__u32 count;
	__u32 pid;
	__u8 how;                          /* enum stack_how, or'ed */
	__u8 end;                          /* enum stack_end */
	__u8 exact;                        /* pc is where it stopped, not a return address */
	__u8 need;                         /* enum unwind_need: what would have helped … */
	__u32 need_id;                     /* … and which */
	__u64 registers[UNWIND_REGISTERS]; /* of the innermost frame */
	__u64 frames[STACK_MOST_FRAMES];
};

/*
 * Whoever includes this for a walk defines UNWIND_WALK and, before, these three (`world` is
 * passed on from unwind_frame()):
 *   int unwind_read(void *world, void *to, __u32 bytes, __u64 address)     0: all were read
 *   const struct unwind_page *unwind_page(void *world, __u64 key)          NULL: not there
 *   #define UNWIND_FN                                                      static inline, or so
 */
#ifdef UNWIND_WALK

/* mov $15, %rax; syscall: how a signal handler returns, in a C library without rows for it. */
#define UNWIND_SIGRETURN 0x0f0000000fc0c748ULL

/* Where the kernel keeps registers in the frame of a signal (struct ucontext). */
#define UNWIND_UCONTEXT_BP 120
#define UNWIND_UCONTEXT_SP 160

/* Frames larger than this are taken for nonsense. */
#define UNWIND_MOST_FRAME_BYTES (64ULL << 20)
#define UNWIND_LEAST_ADDRESS    4096
#define UNWIND_MOST_ADDRESS     (1ULL << 47)

UNWIND_FN __u64 unwind_hash(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* The mapping that `address` is in, or NULL. */
UNWIND_FN const struct unwind_mapping *unwind_find_mapping(const struct unwind_process *process,
							   __u64 address)
{
	__u64 page = address >> UNWIND_PAGE_SHIFT, begin;
	const struct unwind_mapping *mapping;
	__u32 at = 0;

	/* The masks keep what the verifier knows the same on both ways through the loop. */
	for (__u32 step = 128; step; step >>= 1) {
		__u32 next = (at + step) & 255;

		if (next < UNWIND_MAPPINGS && next < process->count &&
		    process->mappings[next].page_and_module >> UNWIND_MODULE_BITS <= page)
			at = next;
		at &= 255;
	}
	if (at >= UNWIND_MAPPINGS || at >= process->count)
		return 0;
	mapping = &process->mappings[at];
	begin = mapping->page_and_module >> UNWIND_MODULE_BITS;
	return page >= begin && page - begin < mapping->pages ? mapping : 0;
}

/* The row in force at `address` of a module, or NULL; *ret_known: the module's tables are there. */
UNWIND_FN const struct unwind_row *unwind_find_row(void *world, __u32 module, __u64 address,
						   int *ret_known)
{
	__u64 number = address >> UNWIND_BLOCK_BITS;
	__u32 offset = address & (UNWIND_BLOCK_BYTES - 1), at = 0, in_page, first, count;
	const struct unwind_page *page;

	page = unwind_page(world, UNWIND_KEY(module, (__u32)(number / UNWIND_PAGE_BLOCKS)));
	*ret_known = page != 0;
	in_page = number % UNWIND_PAGE_BLOCKS;
	if (!page || in_page >= UNWIND_PAGE_BLOCKS)
		return 0;
	first = page->blocks[in_page].first;
	count = page->blocks[in_page].count;
	if (!count)
		return 0;
	page = unwind_page(world, UNWIND_KEY(module, UNWIND_ROWS | page->blocks[in_page].page));
	if (!page)
		return 0;
	for (__u32 step = 256; step; step >>= 1) {
		__u32 next = (at + step) & 511, row = first + next;

		if (next < count && row < UNWIND_PAGE_ROWS && page->rows[row].pc <= offset)
			at = next;
		at &= 511;
	}
	at += first;
	return at < UNWIND_PAGE_ROWS ? &page->rows[at] : 0;
}

/* Each of these moves `walk` to the caller and returns 0, or says why it cannot and returns 1. */

UNWIND_FN int unwind_ends(struct unwind *walk, enum stack_end why)
{
	walk->end = why;
	return 1;
}

UNWIND_FN int unwind_arrive(struct unwind *walk, __u64 pc, __u64 sp, __u64 bp)
{
	if (!pc)
		return unwind_ends(walk, STACK_END_ROOT);
	if (pc < UNWIND_LEAST_ADDRESS || pc >= UNWIND_MOST_ADDRESS)
		return unwind_ends(walk, STACK_END_NOWHERE);
	walk->pc = pc;
	walk->sp = sp;
	walk->bp = bp;
	walk->exact = 0;
	return 0;
}

UNWIND_FN int unwind_by_frame(void *world, struct unwind *walk)
{
	__u64 saved[2]; /* bp, return address */
	__u64 bp = walk->bp;

	/* The ABI asks code with frame pointers to begin a thread with bp = 0. */
	if (!bp)
		return unwind_ends(walk, walk->exact ? STACK_END_NO_FRAME : STACK_END_ROOT);
	if (bp < walk->sp || bp - walk->sp > UNWIND_MOST_FRAME_BYTES || bp & 7)
		return unwind_ends(walk, STACK_END_NO_FRAME);
	if (unwind_read(world, saved, sizeof(saved), bp))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	walk->how |= STACK_BY_FRAMES;
	return unwind_arrive(walk, saved[1], bp + 16, saved[0]);
}

UNWIND_FN int unwind_by_signal(void *world, struct unwind *walk)
{
	__u64 bp, saved[2]; /* sp, pc */

	if (unwind_read(world, &bp, sizeof(bp), walk->sp + UNWIND_UCONTEXT_BP) ||
	    unwind_read(world, saved, sizeof(saved), walk->sp + UNWIND_UCONTEXT_SP))
		return unwind_ends(walk, STACK_END_NO_MEMORY);
	if (unwind_arrive(walk, saved[1], saved[0], bp))
		return 1;
	walk->exact = 1;
	return 0;
}

/* A row that gives a CFA: 0, and *ret is it. */
UNWIND_FN int unwind_cfa(void *world, struct unwind *walk, const struct unwind_row *row, __u64 *ret)
{
	__u32 kind = row->kind;
	__u64 at;

	if (kind == UNWIND_SP) {
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
		*ret = walk->registers[kind & (UNWIND_REGISTERS - 1)] + row->offset;
	} else {
		return unwind_ends(walk, STACK_END_NO_RULE);
	}
	return 0;
}

UNWIND_FN int unwind_by_row(void *world, struct unwind *walk, const struct unwind_row *row)
{
	__u64 cfa = 0, saved[2], bp = walk->bp; /* saved: usually bp, return address */
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

/* A place in code that no row covers. */
UNWIND_FN int unwind_without_row(void *world, struct unwind *walk)
{
	__u64 code;

	if (!walk->exact && !unwind_read(world, &code, sizeof(code), walk->pc) &&
	    code == UNWIND_SIGRETURN)
		return unwind_by_signal(world, walk);
	return unwind_by_frame(world, walk);
}

UNWIND_FN void unwind_add_frame(struct unwind *walk, __u64 frame)
{
	__u32 at = walk->count;

	if (at >= STACK_MOST_FRAMES)
		return;
	walk->frames[at] = frame;
	walk->count = at + 1;
	walk->hash = unwind_hash(walk->hash, frame);
}

/*
 * Notes the frame that `walk` is at and moves on to its caller. 0: go on; 1: the walk is over, and
 * walk->end says why. `process` may be NULL: nothing is known of it yet.
 */
UNWIND_FN int unwind_frame(void *world, struct unwind *walk, const struct unwind_process *process)
{
	__u64 at = walk->pc - !walk->exact, address;
	const struct unwind_mapping *mapping = process ? unwind_find_mapping(process, at) : 0;
	const struct unwind_row *row;
	__u32 module;
	int known;

	if (!mapping) {
		unwind_add_frame(walk, at);
		return unwind_by_frame(world, walk);
	}
	module = mapping->page_and_module & UNWIND_MODULE_MASK;
	address = at - (mapping->page_and_module >> UNWIND_MODULE_BITS << UNWIND_PAGE_SHIFT) +
		  ((__u64)mapping->file_page << UNWIND_PAGE_SHIFT);
	unwind_add_frame(walk, FRAME_MAKE(module, address));
	row = unwind_find_row(world, module, address, &known);
	if (!known && !walk->need) {
		walk->need = UNWIND_NEED_MODULE;
		walk->need_id = module;
	}
	if (!row || row->kind == UNWIND_NONE)
		return unwind_without_row(world, walk);
	if (row->kind == UNWIND_END)
		return unwind_ends(walk, STACK_END_ROOT);
	if (row->kind == UNWIND_SIGNAL)
		return unwind_by_signal(world, walk);
	return unwind_by_row(world, walk, row);
}

/* A walk that begins at these registers. */
UNWIND_FN void unwind_begin(struct unwind *walk, __u32 pid, __u64 pc, __u64 sp, __u64 bp)
{
	walk->pc = pc;
	walk->sp = sp;
	walk->bp = bp;
	walk->pid = pid;
	walk->hash = 0;
	walk->count = 0;
	walk->how = 0;
	walk->end = STACK_END_TOO_DEEP;
	walk->exact = 1;
	walk->need = 0;
}

#endif
