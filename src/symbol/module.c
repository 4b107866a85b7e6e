/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/module.h"

#include <errno.h>

#include "base/cleanup.h"
#include "symbol/broker.h"

void module__close_tables(struct module *module)
{
	dwarf__close(TAKE(module->dwarf));
	symtab__release(&module->functions);
	symtab__release(&module->variables);
	image__close(TAKE(module->mini));
	module->is_open = false;
}

void module__close(struct module *module)
{
	module__close_tables(module);
	image__close(TAKE(module->debug));
	image__close(TAKE(module->image));
}

bool module__has_copy(const struct module *module)
{
	return (module->image && module->image->map) || (module->debug && module->debug->map);
}

static int open_image(const struct symbol_module *name, struct image **ret)
{
	int fd;

	if (name->fd >= 0)
		return image__borrow(name->fd, ret);
	if (!name->path)
		return -ENOENT;
	fd = broker__open(&(struct broker_request) {
		.kind = BROKER_ELF, .root = name->root, .path = name->path });
	return fd < 0 ? fd : image__open(fd, ret);
}

static int open_file(struct module *module, const struct symbol_module *name,
		     struct debug_finder *finder)
{
	int err = name->by_id ? debug_finder__find_by_id(finder, name, &module->image)
			      : open_image(name, &module->image);

	if (err)
		return err;
	/* The values of its symbols are offsets in sections. */
	if (!image__has_addresses(module->image)) {
		image__close(TAKE(module->image));
		return -ENOEXEC;
	}
	return image__use_copy(module->image, name->depth == SYMBOL_WHOLE);
}

static bool needs_debug_file(const struct module *module, const struct symbol_module *name)
{
	if (module->has_no_debug || name->depth == SYMBOL_OWN_TABLES)
		return false;
	return name->depth == SYMBOL_WHOLE || !image__has_table(module->image, SHT_SYMTAB);
}

static int find_debug_file(struct module *module, const struct symbol_module *name,
			   struct debug_finder *finder)
{
	int err = debug_finder__find(finder, name, module->image, &module->debug);

	module->has_no_debug = err && err != -ENOMEM;
	return err ? err : image__use_copy(module->debug, name->depth == SYMBOL_WHOLE);
}

static void count_too_large(struct module *module, int err, struct symbols_quality *quality)
{
	quality->too_large += err == -EFBIG && !module->is_too_large;
	module->is_too_large |= err == -EFBIG;
}

/* The file is open. If there is no DWARF, that is no error. */
static int open_dwarf(struct module *module, const struct symbol_module *name,
		      struct debug_finder *finder, struct symbols_quality *quality)
{
	bool whole = name->depth == SYMBOL_WHOLE;
	int err = 0;

	if (!module->debug) {
		err = whole ? dwarf__open(module->image, finder, name, &module->dwarf) : -ENOENT;
		count_too_large(module, err, quality);
		if (err && err != -ENOMEM && needs_debug_file(module, name))
			err = find_debug_file(module, name, finder);
	}
	if (err != -ENOMEM && module->debug && whole) {
		err = dwarf__open(module->debug, finder, name, &module->dwarf);
		count_too_large(module, err, quality);
	}
	return err == -ENOMEM ? err : 0;
}

int module__open(struct module *module, const struct symbol_module *name,
		 struct debug_finder *finder, struct symbols_quality *quality)
{
	int err;

	if (module->is_open || module->is_unreadable)
		return 0;
	err = module->image ? 0 : open_file(module, name, finder);
	if (!err)
		err = open_dwarf(module, name, finder, quality);
	if (err == -ENOMEM) {
		module__close(module);
		return err;
	}
	count_too_large(module, err, quality);
	if (!module->is_counted) {
		quality->modules++;
		quality->modules_failed += err != 0;
		quality->with_debug += module->dwarf != NULL;
	}
	module->is_counted = true;
	module->is_open = !err;
	module->is_unreadable = err != 0;
	return 0;
}

static int add_functions(struct module *module, struct symtab *tab)
{
	int err = image__add_symbols(module->image, SHT_SYMTAB, tab);

	if (err == -ENOENT && module->debug)
		err = image__add_symbols(module->debug, SHT_SYMTAB, tab);
	if (err != -ENOENT)
		return err;
	err = module->mini ? 0 : image__open_mini(module->image, &module->mini);
	if (!err)
		err = image__add_symbols(module->mini, SHT_SYMTAB, tab);
	/* The compressed table omits what .dynsym has. */
	return err == -ENOMEM ? err : image__add_symbols(module->image, SHT_DYNSYM, tab);
}

static int add_variables(struct module *module, struct symtab *tab)
{
	int err = image__add_variables(module->image, SHT_SYMTAB, tab);

	if (err == -ENOENT && module->debug)
		err = image__add_variables(module->debug, SHT_SYMTAB, tab);
	return err == -ENOENT ? image__add_variables(module->image, SHT_DYNSYM, tab) : err;
}

int module__find_symbol(const struct module *module, const char *name, uint64_t *ret)
{
	int err = module->image ? image__find_symbol(module->image, name, ret) : -ENOENT;

	if (err && err != -ENOMEM && module->debug)
		err = image__find_symbol(module->debug, name, ret);
	return err && err != -ENOMEM ? -ENOENT : err;
}

/* If a table is missing or broken, its names are unknown; that is no error. */
static int read_table(struct module *module, const struct addresses *wanted, struct symtab *tab,
		      int (*add)(struct module *module, struct symtab *tab),
		      struct symbols_quality *quality)
{
	int err = symtab__want(tab, wanted);

	if (!err)
		err = add(module, tab);
	if (err != -ENOMEM) {
		symtab__keep(tab);
		err = add(module, tab);
	}
	if (err == -ENOMEM)
		return err;
	count_too_large(module, err, quality);
	err = symtab__seal(tab);
	return err == -ENOMEM ? err : 0;
}

int module__read_functions(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality)
{
	int err = 0;

	if (module->functions.version == wanted->version || !module->image)
		return 0;
	if (module->dwarf)
		err = dwarf__want(module->dwarf, wanted);
	return err ? err : read_table(module, wanted, &module->functions, add_functions, quality);
}

int module__read_variables(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality)
{
	if (module->variables.version == wanted->version || !module->image)
		return 0;
	return read_table(module, wanted, &module->variables, add_variables, quality);
}
