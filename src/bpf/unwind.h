/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking a user stack without frame pointers: the tables and the walk. Both halves share this
 * code: the kernel half walks at a sample, user space walks the threads that are still blocked at
 * the end, and the unit tests and fuzzers walk memory images.
 *
 * The compiler describes in .eh_frame, for every instruction, where the caller's frame is. User
 * space compiles that into rows of 8 bytes (stacks/rows.c). The rows of a file ("module") are
 * divided into blocks of 1 KiB of code. Each block begins with the row in force at its start, so
 * one step needs two map look-ups: the block by its number, and the page with the block's rows,
 * which is then searched. Rejected: a search tree over all rows (three or four look-ups), and
 * bisection over the whole file (one look-up per halving).
 *
 * Everything that depends on the machine is in bpf/arch: the register numbers, the signal frame,
 * and whether a call pushes the return address.
 */
#pragma once

#include <linux/types.h>

#include "bpf/arch/arch.h"
#include "bpf/runtime.h"
#include "bpf/stack.h"

/* --- tables --------------------------------------------------------------------------------- */

/*
 * How to find the caller's frame: first the CFA (the stack pointer before the call instruction
 * pushed anything), then the return address and the saved frame pointer.
 */
enum unwind_kind {
	UNWIND_NONE,     /* no rule: try the frame pointer */
	UNWIND_END,      /* the first function of a thread: it has no caller */
	UNWIND_SP,       /* CFA = sp + offset */
	UNWIND_BP,       /* CFA = bp + offset */
	UNWIND_PLT,      /* CFA = sp + 8, or sp + 16 from byte `offset` of a 16-byte PLT entry on */
	UNWIND_SIGNAL,   /* a signal frame: all registers are saved at sp */
	UNWIND_SP_DEREF, /* CFA = *(sp + offset) + 8: OpenSSL's assembler code */
	UNWIND_BP_DEREF, /* CFA = *(bp + offset): gcc, in functions that realign the stack */
	UNWIND_SWITCH,   /* stack switch, or unknown sp: bp points to saved bp and return address */
	UNWIND_BOTTOM,   /* as UNWIND_SP if innermost; else the root: its callee never returns */
	UNWIND_UNSUPPORTED,   /* a rule that is not supported */
	UNWIND_REGISTER = 16, /* + n: CFA = DWARF register n + offset; innermost frame only */
	UNWIND_KINDS = UNWIND_REGISTER + ARCH_REGISTERS,
};

/* Values of row.bp. 0: unchanged; n: saved at CFA − 8n; 255: saved where bp points to. */
#define UNWIND_BP_AT_BP 255
/*
 * Only with a link register: saved at the base, which is CFA − offset. gcc saves bp and the link
 * register at the lowest address of a frame, whatever its size.
 */
#define UNWIND_AT_BASE    254
#define UNWIND_ABOVE_BASE 253 /* saved 8 bytes above the base */
#define UNWIND_MOST_SAVED (ARCH_LINK_REGISTER ? 252 : 254)

#define UNWIND_BLOCK_BITS  10
#define UNWIND_BLOCK_BYTES (1U << UNWIND_BLOCK_BITS)

struct unwind_row {
	__u16 pc : UNWIND_BLOCK_BITS; /* where the row begins, as an offset in its block */
	__u16 kind : 16 - UNWIND_BLOCK_BITS;
	__u8 bp;
	__u8 link; /* 0: return address is in the link register; n: as bp. No link register: 0 */
	__s32 offset;
};
_Static_assert(sizeof(struct unwind_row) == 8, "table format");
_Static_assert(UNWIND_KINDS <= 1 << (16 - UNWIND_BLOCK_BITS), "table format");

/* Where the rows of one block are. A block does not cross pages. count 0: no code there. */
struct unwind_block {
	__u32 page;
	__u16 first;
	__u16 count;
};
_Static_assert(sizeof(struct unwind_block) == 8, "table format");

/*
 * A page fits into a map element of 4 KiB with the element's header. The key has the module's id in
 * the upper half. The lower half is the number of a page of blocks, or UNWIND_ROWS plus the number
 * of a page of rows.
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

/* The code of a file in a process: `pages` pages of 4 KiB. */
struct unwind_mapping {
	__u64 page_and_module; /* first page << 28 | module id */
	__u32 pages;
	__u32 file_page; /* the address of the first page in the ELF file, in pages */
};
_Static_assert(sizeof(struct unwind_mapping) == 16, "table format");

#define UNWIND_PAGE_SHIFT  12
#define UNWIND_MODULE_BITS 28
#define UNWIND_MODULE_MASK ((1U << UNWIND_MODULE_BITS) - 1)
#define UNWIND_MAPPINGS    231

/*
 * The mappings of a process. The key is its pid in gapless's namespace. mappings[0..count) are
 * sorted and do not overlap.
 */
struct unwind_process {
	__u64 start_ticks; /* start of the process in 1/100 s since boot: pids are reused */
	__u32 count;
	__u32 pid; /* again: the map element can be replaced while it is read */
	struct runtime runtime;
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
};
_Static_assert(sizeof(struct unwind_process) == UNWIND_PAGE_BYTES, "table format");

#define UNWIND_TICK_NS 10000000ULL

/* What the kernel half requests from user space: once each, through its own ring buffer. */
enum unwind_need { UNWIND_NEED_PROCESS = 1, UNWIND_NEED_MODULE };

struct unwind_request {
	struct wire_head head; /* head.kind: enum unwind_need */
	__u32 id;              /* a pid, or a module's id */
	__u32 pad;
};
_Static_assert(sizeof(struct unwind_request) == 32, "wire format");
/* The key under which the kernel half remembers a request. If it is removed, it asks again. */
#define UNWIND_ASKED(need, id) ((__u64)(need) << 32 | (id))

/* --- the walk ------------------------------------------------------------------------------- */

/* The state and the result of a walk. */
struct unwind {
	__u64 pc, sp, bp;
	__u64 hash;
	__u32 count; /* of words in `frames` */
	__u32 pid;
	__u8 how;          /* enum stack_how, or'ed */
	__u8 end;          /* enum stack_end */
	__u8 exact;        /* pc is where the thread stopped, not a return address */
	__u8 need;         /* enum unwind_need: the missing table */
	__u32 need_id;     /* its process or module */
	__u32 plain;       /* nonzero: some frames are plain addresses */
	__u32 at;          /* position of a binary search */
	__u32 sp_lost;     /* sp is unknown after a frame-pointer step; only with a link register */
	__u32 has_objects; /* nonzero: some frames are of a language runtime */
	__u64 registers[ARCH_REGISTERS]; /* of the innermost frame, in DWARF order */
	struct unwind_beside beside;     /* the frames of a language runtime */
	__u64 fiber;                     /* as in struct sample_record */
	struct stack_record record;      /* is sent, followed by the frames */
	__u64 frames[STACK_MOST_WORDS];
};
