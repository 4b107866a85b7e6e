/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of modules, in the map that the kernel half reads, within a budget. Only one thread may
 * call these, except for tables__update().
 */
#pragma once

#include <stdint.h>

#include "stacks/modules.h"
#include "stacks/quality.h"
#include "stacks/rows.h"

struct tables;

int tables__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		struct tables **ret);
void tables__free(struct tables *tables);

/*
 * Adds the rows of a module and makes it MODULE_LOADED. If necessary, evicts the least recently
 * used modules; they become MODULE_KNOWN, and the kernel half may request them again. -EFBIG:
 * larger than the budget, or than the map.
 */
int tables__load(struct tables *tables, struct module *module, const struct rows *rows);
/* Removes the rows of a module, if it is loaded: then it is MODULE_KNOWN. */
void tables__drop(struct tables *tables, const struct module *module);

/*
 * Updates a map and retries on ENOMEM and EBUSY. A map without preallocation takes memory from a
 * small per-CPU cache. If the cache is empty, updates fail with ENOMEM until it is refilled a
 * moment later.
 */
int tables__update(int map_fd, const void *key, const void *value);
