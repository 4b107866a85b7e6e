/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A unit is read once, from its first byte to its last. The result is a map from addresses to
 * innermost functions. After that, a look-up costs one search, and one step per inlined function.
 * Rejected: dwarf_getscopes(), which reads the whole unit for each look-up, and recurses as deep as
 * a hostile file demands.
 */
#include "symbol/unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Functions deeper than this are ignored. */
#define MOST_DEPTH 256
/*
 * libdw goes through all attributes of a DIE for each query about it, and attributes may take no
 * space in the DIE. So a few bytes could take hours. Compilers write at most a dozen attributes,
 * and less than one per byte.
 */
#define MOST_ATTRIBUTES          256
#define MOST_ATTRIBUTES_PER_BYTE 4

struct walk {
	const struct addresses *wanted;
	Dwarf_Die die;
	size_t depth;
	uint32_t inside[MOST_DEPTH]; /* for each depth: the function that contains its DIEs */
	size_t attributes;           /* the number of attributes that may still be read */
};

void unit__reset(struct unit *unit)
{
	free(unit->functions);
	unit->functions = NULL;
	unit->count = 0;
	unit->is_read = false;
	rangemap__release(&unit->ranges);
}

/* -E2BIG if there are too many; -EBADMSG. */
static int count_attributes(Dwarf_Die *die, size_t *ret)
{
	/* dwarf_tag() has the side effect of finding the abbreviation. */
	if (!dwarf_tag(die) || dwarf_getattrcnt(die->abbrev, ret))
		return -EBADMSG;
	return *ret > MOST_ATTRIBUTES ? -E2BIG : 0;
}

int unit__add_ranges(Dwarf_Die *die, const struct addresses *wanted, struct rangemap *map,
		     uint32_t value, uint32_t *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	size_t count;
	int added = 0, err = count_attributes(die, &count);

	if (err)
		return err == -E2BIG ? err : 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (!*budget)
			return -E2BIG;
		--*budget;
		if (!addresses__any(wanted, start, end))
			continue;
		err = rangemap__add(map, start, end, value);
		if (err)
			return err;
		added++;
	}
	return added;
}

/*
 * Adds a function even if it contains no wanted address, because a function that is inlined into it
 * may contain one: compilers write inlined functions outside of the ranges of their parents.
 */
static int add_function(struct unit *unit, struct walk *walk, uint32_t outer, uint32_t *budget)
{
	struct function *function;
	int added;

	/* A function without ranges must use up budget too. */
	if (!*budget)
		return -E2BIG;
	--*budget;
	function = APPEND(&unit->functions, &unit->count);
	if (!function)
		return -ENOMEM;
	*function = (struct function) { .die = walk->die,
					.outer = outer,
					.depth = (uint16_t)walk->depth };
	added = unit__add_ranges(&walk->die, walk->wanted, &unit->ranges,
				 (uint32_t)(unit->count - 1), budget);
	function->is_wanted = added > 0;
	return added < 0 ? added : 0;
}

/* Removes functions that have ended if neither they nor functions inside them are wanted. */
static void remove_unwanted(struct unit *unit, const struct walk *walk)
{
	while (unit->count && !unit->functions[unit->count - 1].is_wanted &&
	       unit->functions[unit->count - 1].depth >= walk->depth)
		unit->count--;
}

static int spend_attributes(struct walk *walk)
{
	size_t count;
	int err = count_attributes(&walk->die, &count);

	if (err)
		return err;
	if (count > walk->attributes)
		return -E2BIG;
	walk->attributes -= count;
	return 0;
}

/* Records the DIE if it is a function with code. *ret_inside: the function around its children. */
static int visit(struct unit *unit, struct walk *walk, uint32_t *budget, uint32_t *ret_inside)
{
	uint32_t outer = walk->depth < MOST_DEPTH ? walk->inside[walk->depth] : NO_FUNCTION;
	int tag = dwarf_tag(&walk->die), err;

	remove_unwanted(unit, walk);
	*ret_inside = outer;
	if (walk->depth >= MOST_DEPTH)
		return 0;
	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return 0;
	if (!dwarf_hasattr(&walk->die, DW_AT_low_pc) && !dwarf_hasattr(&walk->die, DW_AT_ranges))
		return 0;
	/* A function nested in a function has a frame of its own. */
	if (tag == DW_TAG_subprogram)
		outer = NO_FUNCTION;
	err = add_function(unit, walk, outer, budget);
	*ret_inside = (uint32_t)unit->count - 1;
	return err;
}

/*
 * Moves up, out of all child lists that end at `at`, to the next DIE. `at` is the 0 that ends a
 * list. dwarf_siblingof() returns this position, so no byte is read twice. To ask for the parent's
 * sibling would read all children again.
 */
static bool go_up(const struct unit *unit, struct walk *walk, unsigned char *at)
{
	while (at && at < unit->end && !*at && walk->depth) {
		at++;
		walk->depth--;
	}
	if (!at || at >= unit->end || !*at)
		return false;
	walk->die = (Dwarf_Die) { .addr = at, .cu = unit->die.cu };
	return true;
}

static bool go_on(const struct unit *unit, struct walk *walk, uint32_t inside)
{
	const unsigned char *from = walk->die.addr;
	Dwarf_Die next = {};
	int status;

	if (!dwarf_child(&walk->die, &next)) {
		if (++walk->depth < MOST_DEPTH)
			walk->inside[walk->depth] = inside;
		walk->die = next;
	} else {
		status = dwarf_siblingof(&walk->die, &next);
		if (status < 0)
			return false;
		if (status > 0 && !go_up(unit, walk, next.addr))
			return false;
		if (!status)
			walk->die = next;
	}
	/* A hostile file can point backwards or outside of the unit. */
	return (unsigned char *)walk->die.addr > from &&
	       (unsigned char *)walk->die.addr < unit->end;
}

/* Bytes of a unit between two calls of image__drop_pages(). */
#define DROP_BYTES (4UL << 20)

int unit__read_functions(struct unit *unit, const struct addresses *wanted,
			 const struct image *image, uint32_t *budget)
{
	const unsigned char *dropped = unit->die.addr;
	struct walk walk = { .wanted = wanted,
			     .die = unit->die,
			     .inside = { NO_FUNCTION },
			     .attributes =
				     MOST_ATTRIBUTES_PER_BYTE * (size_t)(unit->end - dropped) };
	uint32_t inside;
	int err;

	if (unit->is_read)
		return 0;
	unit->is_read = true;
	do {
		err = spend_attributes(&walk);
		if (!err)
			err = visit(unit, &walk, budget, &inside);
		if ((const unsigned char *)walk.die.addr - dropped > (ptrdiff_t)DROP_BYTES) {
			dropped = walk.die.addr;
			image__drop_pages(image);
		}
	} while (!err && go_on(unit, &walk, inside));
	image__drop_pages(image);
	if (err == -ENOMEM)
		return err;
	return rangemap__seal(&unit->ranges);
}
