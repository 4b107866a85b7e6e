/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined functions and lines from the DWARF of one image.
 *
 * dwarf__want() finds the units of the wanted addresses. A unit is read when an address in it is
 * first looked up. Look-ups are fastest in the order of addresses.
 */
#pragma once

#include <stdint.h>

#include "symbol/debug.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

struct dwarf;

/*
 * The image still belongs to the caller and must stay open. -ENOENT if it has no usable DWARF,
 * -EFBIG if it has too much, -ENOMEM.
 */
int dwarf__open(struct image *image, struct debug_finder *finder,
		const struct symbol_module *module, struct dwarf **ret);
void dwarf__close(struct dwarf *dwarf);

/*
 * What follows is about these addresses, until they change and it is called again. Strings of
 * earlier answers become invalid. -ENOMEM.
 */
int dwarf__want(struct dwarf *dwarf, const struct addresses *wanted);

/*
 * Looks up a wanted address. Fills in `ret`, with DWARF's name in both name fields. If no function
 * is known (count 0), frames[0] still has the position. -ENOMEM.
 */
int dwarf__find(struct dwarf *dwarf, uint64_t address, struct symbol_chain *ret);

/* Units that have no lines because there is not enough memory for their line tables. */
uint64_t dwarf__without_lines(const struct dwarf *dwarf);
