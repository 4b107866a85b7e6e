/* One compilation unit of DWARF: which functions, inlined ones too, hold which addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol/rangemap.h"

#define NO_FUNCTION UINT32_MAX

struct function {
	Dwarf_Die die;
	uint32_t outer; /* what it is inlined into; NO_FUNCTION if it stands for itself */
};

/* Zeroes, but for `die` and `end`, is a unit that was not read yet. */
struct unit {
	Dwarf_Die die;
	const unsigned char *end; /* of its bytes */
	bool is_read;
	bool has_lines; /* of a size that we are ready to read */
	struct function *functions;
	size_t count;
	struct rangemap ranges; /* values are indices into `functions` */
};

/*
 * Adds a DIE's ranges to `map`, at most `*budget`, which goes down. -ENOMEM; -E2BIG if there are
 * more, or the DIE has so many attributes that it cannot be meant well.
 */
int unit__add_ranges(Dwarf_Die *die, struct rangemap *map, uint32_t value, uint32_t *budget);

/*
 * Reads it, if that was not done yet; functions and their ranges take from the budget. Broken DWARF
 * ends it early, as does too much of it. -ENOMEM.
 */
int unit__read(struct unit *unit, uint32_t *budget);
void unit__release(struct unit *unit);
