/*
 * The inside of the row compiler: what its parts hand to each other. Descriptions of frames
 * (cfi.c) hold programs (program.c), which give spans of places; the spans become the tables
 * (table.c).
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks/cursor.h"
#include "stacks/rows.h"

/* A row and the address from which on it is in force; row.pc is unused. */
struct place {
	uint64_t address;
	struct unwind_row row;
};

/* What one description covers: places[first … first + count), the first of them at `begin`. */
struct span {
	uint64_t begin, end;
	uint32_t first, count;
	bool is_debug; /* not from .eh_frame: gives way to it */
};

#define MOST_SEGMENTS 16
struct segment {
	uint64_t begin, end;
};

/* All that the descriptions of a file say. */
struct frames {
	struct segment code[MOST_SEGMENTS]; /* executable, by the file's own addresses */
	size_t code_count;
	struct span *spans;
	size_t span_count, span_room;
	struct place *places;
	size_t place_count, place_room;
	uint64_t broken_count;
};

void frames__release(struct frames *frames);
/* The same rule as in force already adds nothing. -EFBIG, -ENOMEM. */
int frames__add_place(struct frames *frames, const struct span *span, uint64_t address,
		      struct unwind_row row);
int frames__add_span(struct frames *frames, const struct span *span);
/* Leaves of a span what is code; false: it does not begin with code. */
bool frames__clip(const struct frames *frames, struct span *span);

struct section {
	const unsigned char *ident; /* e_ident of the file */
	Elf_Data *data;
	uint64_t address;
	uint64_t data_base; /* what DW_EH_PE_datarel is relative to */
	bool is_debug;      /* .debug_frame */
};

/* Adds what a section describes. Nonsense is counted; -EFBIG, -ENOMEM. */
int cfi__read(const struct section *section, struct frames *frames);

/* A pointer as `encoding` (DW_EH_PE_…) has it. cursor->bad: none that we read. */
uint64_t cfi__pointer(const struct section *section, struct cursor *cursor, uint8_t encoding);

/* What is known at one place of a program; what does not concern us is left out. */
struct rules {
	uint8_t expression; /* enum unwind_kind of the CFA's expression, 0: register and offset */
	uint8_t bp;         /* enum bp_rule */
	uint8_t caller;     /* enum caller_rule: the return address */
	int64_t bp_at, caller_at; /* from the CFA, where saved */
	uint64_t cfa_register;
	int64_t cfa_offset;
};
enum bp_rule { BP_KEPT, BP_SAVED, BP_AT_BP /* where it points to */, BP_HARD };
enum caller_rule { CALLER_KEPT /* in its register */, CALLER_SAVED, CALLER_NONE, CALLER_UNKNOWN };

/* What descriptions have in common ("CIE"). */
struct common {
	uint64_t offset; /* in its section */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;    /* of pointers */
	bool is_sized;       /* descriptions have further data, and its size before it */
	bool is_signal;      /* a signal handler's caller */
	struct rules begins; /* in force where a function begins */
};

/* Runs the program of a CIE; *ret is what is in force after it. -EBADMSG. */
int program__begin(const struct section *section, const struct common *common, struct cursor code,
		   struct rules *ret);
/* Runs the program of a description and adds its places to `frames`. -EBADMSG, -EFBIG, -ENOMEM. */
int program__run(const struct section *section, const struct common *common, struct cursor code,
		 struct span *span, struct frames *frames);

/* Spans into tables. `frames` is sorted and shortened on the way. -ENOMEM. */
int cfi_table__build(struct frames *frames, struct rows *ret);
