/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The internal interface of the row compiler. The FDEs ("descriptions") of a file (cfi.c) contain
 * CFA programs (program.c). A program yields a span of places. The spans become the tables
 * (table.c).
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks/cursor.h"
#include "stacks/rows.h"

/* A row and the first address at which it is in force; row.pc is unused. */
struct place {
	uint64_t address;
	struct unwind_row row;
};

/* The code that one FDE covers: places[first … first + count), the first of which is at `begin`. */
struct span {
	uint64_t begin, end;
	uint32_t first, count;
	bool is_debug; /* not from .eh_frame, which takes precedence */
};

#define MOST_SEGMENTS 16
struct segment {
	uint64_t begin, end;
};

/* The content of all FDEs of a file. */
struct frames {
	struct segment code[MOST_SEGMENTS]; /* executable segments, at their ELF addresses */
	size_t code_count;
	struct span *spans;
	size_t span_count, span_room;
	struct place *places;
	size_t place_count, place_room;
	uint64_t broken_count;
};

void frames__release(struct frames *frames);
/* Adds nothing if the row is the one already in force. -EFBIG, -ENOMEM. */
int frames__add_place(struct frames *frames, const struct span *span, uint64_t address,
		      struct unwind_row row);
int frames__add_span(struct frames *frames, const struct span *span);
/* Clips a span to the code segment that it begins in; false: it begins in none. */
bool frames__clip(const struct frames *frames, struct span *span);

struct section {
	const unsigned char *ident; /* e_ident of the file */
	Elf_Data *data;
	uint64_t address;
	uint64_t data_base; /* the base of DW_EH_PE_datarel */
	bool is_debug;      /* .debug_frame */
};

/* Adds the FDEs of a section. Invalid entries are counted; -EFBIG, -ENOMEM. */
int cfi__read(const struct section *section, struct frames *frames);

/* Reads a pointer in the format `encoding` (DW_EH_PE_…). cursor->bad: invalid or not supported. */
uint64_t cfi__pointer(const struct section *section, struct cursor *cursor, uint8_t encoding);

/* The rules at one place of a CFA program, without those of registers that we do not need. */
struct rules {
	uint8_t expression; /* enum unwind_kind of the CFA's expression; 0: register and offset */
	uint8_t bp;         /* enum bp_rule */
	uint8_t caller;     /* enum caller_rule of the return address */
	int64_t bp_at, caller_at; /* if saved: offset from the CFA */
	uint64_t cfa_register;
	int64_t cfa_offset;
};
enum bp_rule { BP_KEPT, BP_SAVED, BP_AT_BP /* at *bp */, BP_UNSUPPORTED };
enum caller_rule { CALLER_KEPT /* link register */, CALLER_SAVED, CALLER_NONE, CALLER_UNKNOWN };

/* A CIE: what several FDEs have in common. */
struct common {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;    /* DW_EH_PE_… of pointers */
	bool is_sized;       /* FDEs have augmentation data, preceded by its size */
	bool is_signal;      /* signal frame */
	struct rules begins; /* the rules in force at the start of a function */
};

/* Runs the initial instructions of a CIE; *ret: the rules after them. -EBADMSG. */
int program__run_initial(const struct section *section, const struct common *common,
			 struct cursor code, struct rules *ret);
/* Runs the program of an FDE and adds its places to `frames`. -EBADMSG, -EFBIG, -ENOMEM. */
int program__run(const struct section *section, const struct common *common, struct cursor code,
		 struct span *span, struct frames *frames);

/* Turns spans into tables. Sorts and shortens `frames` while doing so. -ENODATA, -ENOMEM. */
int cfi_table__build(struct frames *frames, struct rows *ret);
