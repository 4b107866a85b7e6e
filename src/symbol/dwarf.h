/*
 * Functions, inlined functions and lines from the DWARF of one image.
 *
 * Units are indexed by address when it is opened, and read when first asked about.
 */
#pragma once

#include <stdint.h>

#include "symbol/debug.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

struct dwarf;

/* The image stays the caller's, and open. -ENOENT if it has none that can be used,
 * -EFBIG if it has too much, -ENOMEM. */
int dwarf__open(struct image *image, struct debug_finder *finder,
		const struct symbol_module *module, struct dwarf **ret);
void dwarf__close(struct dwarf *dwarf);

/*
 * Fills `ret`, with names as DWARF has them in both fields. If no function is known (count 0),
 * frames[0] has the position nevertheless. -ENOMEM.
 */
int dwarf__find(struct dwarf *dwarf, uint64_t address, struct symbol_chain *ret);
