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
 * What depends on the machine is in bpf/arch: the registers' numbers, the signal frame, and whether
 * a call pushes the return address.
 */
#pragma once

#include <linux/types.h>

#include "bpf/arch/arch.h"
#include "bpf/stack.h"

/* --- tables --------------------------------------------------------------------------------- */

/*
 * How to find the caller's frame: first its CFA (the stack pointer at the call, before a return
 * address was pushed), then the return address and its frame pointer.
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
	UNWIND_SWITCH,   /* another stack, or sp moved out of sight: bp points to saved bp and pc */
	UNWIND_BOTTOM,   /* as UNWIND_SP where a thread stopped; but what it called never returns */
	UNWIND_HARD,     /* a rule that we do not follow */
	UNWIND_REGISTER =
		16, /* + n: CFA = register n (as DWARF counts them) + offset; only innermost */
	UNWIND_KINDS = UNWIND_REGISTER + ARCH_REGISTERS,
};

/* row.bp: 0: unchanged; n: saved at CFA − 8n; or: saved where bp points to. */
#define UNWIND_BP_AT_BP 255
/*
 * With a link register, also at the base, which is CFA − offset: gcc saves bp and the link register
 * at the lowest end of a frame, however large that is.
 */
#define UNWIND_AT_BASE    254
#define UNWIND_ABOVE_BASE 253 /* 8 bytes above it */
#define UNWIND_MOST_SAVED (ARCH_LINK_REGISTER ? 252 : 254)

#define UNWIND_BLOCK_BITS  10
#define UNWIND_BLOCK_BYTES (1U << UNWIND_BLOCK_BITS)

struct unwind_row {
	__u16 pc : UNWIND_BLOCK_BITS; /* where it begins, from the begin of its block */
	__u16 kind : 16 - UNWIND_BLOCK_BITS;
	__u8 bp;
	__u8 link; /* with a link register, 0: the return address is there; n: as bp. Else 0 */
	__s32 offset;
};
_Static_assert(sizeof(struct unwind_row) == 8, "table format");
_Static_assert(UNWIND_KINDS <= 1 << (16 - UNWIND_BLOCK_BITS), "table format");

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
	__u32 pid; /* once more: a table can be replaced while it is read */
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

/* The state of a walk, and what it found. */
struct unwind {
	__u64 pc, sp, bp;
	__u64 hash;
	__u32 count;
	__u32 pid;
	__u8 how;      /* enum stack_how, or'ed */
	__u8 end;      /* enum stack_end */
	__u8 exact;    /* pc is where it stopped, not a return address */
	__u8 need;     /* enum unwind_need: what would have helped … */
	__u32 need_id; /* … and which */
	__u32 plain;   /* some frames are plain addresses */
	__u32 at;      /* of a search */
	__u32 sp_lost; /* by a step with the frame pointer, on a machine with a link register */
	__u32 pad;
	__u64 registers[ARCH_REGISTERS]; /* of the innermost frame, as DWARF counts them */
	struct stack_record record;      /* with the frames, what is sent */
	__u64 frames[STACK_MOST_FRAMES];
};
