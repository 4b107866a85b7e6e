/*
 * The rows of modules in the map that the kernel half reads, within a budget. For one thread alone,
 * but for tables__update().
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
 * Puts a module's rows there and makes it MODULE_LOADED. Modules that were of no use for longest
 * give way first; they become MODULE_KNOWN, and the kernel half may ask for them again. -EFBIG:
 * larger than the budget, or than the map.
 */
int tables__load(struct tables *tables, struct module *module, const struct rows *rows);
/* Takes the rows of a module out, if they are there: it is then MODULE_KNOWN. */
void tables__drop(struct tables *tables, const struct module *module);

/*
 * An update of a map that does not give up at once: a map without preallocation takes memory from a
 * small cache of its CPU, which is refilled a moment later, and says ENOMEM until then.
 */
int tables__update(int map_fd, const void *key, const void *value);
