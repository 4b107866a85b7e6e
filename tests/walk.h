/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk of bpf/unwind_walk.h for tests: tables are `struct rows`, memory is what the test says.
 */
#pragma once

#include <linux/types.h>

struct unwind_page;
static inline int unwind_read(void *world, void *to, __u32 bytes, __u64 address);
static inline const struct unwind_page *unwind_page(void *world, __u64 key);

#define UNWIND_FN static inline
#include "bpf/unwind_walk.h"
#include "stacks/rows.h"

#define WORLD_MODULES 64

struct world {
	const struct rows *modules[WORLD_MODULES]; /* by id */
	int (*read)(void *from, void *to, uint32_t bytes, uint64_t address);
	void *from;
	uint64_t reads, pages; /* how often each was asked for */
};

static inline int unwind_read(void *world, void *to, __u32 bytes, __u64 address)
{
	struct world *w = world;

	w->reads++;
	return w->read(w->from, to, bytes, address);
}

static inline const struct unwind_page *unwind_page(void *world, __u64 key)
{
	struct world *w = world;
	uint64_t module = key >> 32;
	uint32_t page = (uint32_t)key & ~UNWIND_ROWS;
	const struct rows *rows = module < WORLD_MODULES ? w->modules[module] : NULL;

	w->pages++;
	if (!rows)
		return NULL;
	if (key & UNWIND_ROWS)
		return page < rows->row_page_count ? &rows->row_pages[page] : NULL;
	return page < rows->block_page_count ? &rows->block_pages[page] : NULL;
}

/* All steps. */
static inline void walk_all(struct world *world, struct unwind *walk,
			    const struct unwind_process *process)
{
	for (int i = 0; i < STACK_MOST_FRAMES; i++)
		if (unwind_frame(world, walk, process))
			return;
}
