/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One DWARF compilation unit: which functions, including inlined ones, contain which of the wanted
 * addresses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol/addresses.h"
#include "symbol/image.h"
#include "symbol/rangemap.h"

#define NO_FUNCTION UINT32_MAX

struct function {
	Dwarf_Die die;
	uint32_t outer; /* the function that it is inlined into; NO_FUNCTION if it is not inlined */
	uint16_t depth; /* of its DIE */
	bool is_wanted; /* it contains a wanted address; otherwise only a function inside it may */
};
_Static_assert(sizeof(struct function) == 40, "there are very many");

/* All zeroes except `die` and `end`: a unit that was not read yet. */
struct unit {
	Dwarf_Die die;
	const unsigned char *end; /* of its bytes */
	bool is_read;             /* for the wanted addresses */
	bool has_lines;           /* the line table is small enough to read */
	bool is_judged;           /* has_lines is set */
	struct function *functions;
	size_t count;
	struct rangemap ranges; /* values are indices into `functions` */
};

/*
 * Adds the ranges of a DIE to `map` that contain wanted addresses. It reads at most `*budget`
 * ranges, which is reduced. Returns the number of added ranges; -ENOMEM; -E2BIG if there are more,
 * or if the DIE has more attributes than any compiler writes.
 */
int unit__add_ranges(Dwarf_Die *die, const struct addresses *wanted, struct rangemap *map,
		     uint32_t value, uint32_t *budget);

/*
 * Reads the unit, unless it was already read. Functions and their ranges reduce the budget. Stops
 * early if the DWARF is broken or too large. -ENOMEM.
 */
int unit__read_functions(struct unit *unit, const struct addresses *wanted,
			 const struct image *image, uint32_t *budget);
/* Forgets what was read. */
void unit__reset(struct unit *unit);
