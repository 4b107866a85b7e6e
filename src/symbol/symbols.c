/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module is opened when it is first needed: its symbol tables are sorted once, and its DWARF is
 * indexed by unit. A failure is remembered too, so that it is tried only once.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "symbol/debug.h"
#include "symbol/demangle.h"
#include "symbol/dwarf.h"
#include "symbol/foreign.h"
#include "symbol/image.h"
#include "symbol/kallsyms.h"
#include "symbol/perfmap.h"
#include "symbol/symtab.h"

struct module {
	struct image *image, *mini, *debug; /* NULL: none */
	struct symtab tab;
	struct symtab variables; /* read when first needed */
	bool has_variables;
	struct dwarf *dwarf; /* of `image` or `debug`; NULL: none */
};

struct symbols {
	struct symbols_options options;
	struct debug_finder finder;
	struct map modules; /* key → struct module */
	struct map jits;    /* pid → struct perfmap */
	struct map shown;   /* original name → displayed name */
	struct module *vdso;
	struct kallsyms kallsyms;
	bool kallsyms_read;
	struct symbols_quality quality;
};

static void module_free(struct module *module)
{
	if (!module)
		return;
	dwarf__close(module->dwarf);
	symtab__release(&module->tab);
	symtab__release(&module->variables);
	image__close(module->debug);
	image__close(module->mini);
	image__close(module->image);
	free(module);
}
DEFINE_CLEANUP(struct module *, module_free)

int symbols__new(const struct symbols_options *options, struct symbols **ret)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	if (options)
		symbols->options = *options;
	symbols->finder.options = &symbols->options;
	*ret = symbols;
	return 0;
}

void symbols__free(struct symbols *symbols)
{
	struct module *module;
	struct perfmap *jit;
	size_t at = 0;

	if (!symbols)
		return;
	while ((module = map__next(&symbols->modules, &at)))
		module_free(module);
	for (at = 0; (jit = map__next(&symbols->jits, &at));)
		perfmap__free(jit);
	map__release(&symbols->modules);
	map__release(&symbols->jits);
	demangle__release(&symbols->shown);
	kallsyms__release(&symbols->kallsyms);
	module_free(symbols->vdso);
	debug_finder__release(&symbols->finder);
	free(symbols);
}

static int open_image(const struct symbol_module *name, struct image **ret)
{
	int fd;

	if (name->fd >= 0)
		return image__borrow(name->fd, ret);
	if (!name->path)
		return -ENOENT;
	fd = foreign__open(name->root ? name->root : "", name->path);
	return fd < 0 ? fd : image__open(fd, ret);
}

/* If a table is missing or broken, its names are unknown; that is no error. */
static int unless_no_memory(int err)
{
	return err == -ENOMEM ? err : 0;
}

static int read_symbols(struct module *module, bool *ret_too_large)
{
	int err = image__add_symbols(module->image, SHT_SYMTAB, &module->tab);

	if (err == -ENOENT && module->debug)
		err = image__add_symbols(module->debug, SHT_SYMTAB, &module->tab);
	if (err == -ENOENT) {
		err = image__open_mini(module->image, &module->mini);
		if (!err)
			err = image__add_symbols(module->mini, SHT_SYMTAB, &module->tab);
		/* The compressed table omits what .dynsym has. */
		if (err != -ENOMEM)
			err = image__add_symbols(module->image, SHT_DYNSYM, &module->tab);
	}
	if (err == -ENOMEM)
		return err;
	if (err == -EFBIG)
		*ret_too_large = true;
	return unless_no_memory(symtab__seal(&module->tab));
}

/* module->image is already open. */
static int read_module(struct symbols *symbols, const struct symbol_module *name,
		       struct module *module)
{
	bool too_large = false;
	int err = -ENOENT;

	if (name->depth == SYMBOL_WHOLE)
		err = dwarf__open(module->image, &symbols->finder, name, &module->dwarf);

	too_large |= err == -EFBIG;
	if (err && err != -ENOMEM && name->depth != SYMBOL_OWN_TABLES &&
	    !(name->depth == SYMBOL_TABLES && image__has_table(module->image, SHT_SYMTAB)))
		err = debug_finder__find(&symbols->finder, name, module->image, &module->debug);
	if (module->debug && name->depth == SYMBOL_WHOLE)
		err = dwarf__open(module->debug, &symbols->finder, name, &module->dwarf);
	too_large |= err == -EFBIG;
	if (err == -ENOMEM)
		return err;
	symbols->quality.with_debug += module->dwarf != NULL;
	err = read_symbols(module, &too_large);
	symbols->quality.too_large += !err && too_large;
	return err;
}

static int find_module(struct symbols *symbols, const struct symbol_module *name,
		       struct module **ret)
{
	cleanup(module_free_p) struct module *module = map__get(&symbols->modules, name->key);
	int err;

	if (module) {
		*ret = TAKE(module);
		return 0;
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	err = open_image(name, &module->image);
	if (err == -ENOMEM)
		return err;
	if (!err && !image__has_addresses(module->image))
		err = -ENOEXEC;
	symbols->quality.modules++;
	symbols->quality.modules_failed += err != 0;
	symbols->quality.too_large += err == -EFBIG;
	if (!err)
		err = read_module(symbols, name, module);
	if (err == -ENOMEM)
		return err;
	err = map__put(&symbols->modules, name->key, module);
	if (err)
		return err;
	*ret = TAKE(module);
	return 0;
}

static int show(struct symbols *symbols, struct symbol_chain *chain)
{
	for (int i = 0; i < chain->count; i++) {
		struct symbol *frame = &chain->frames[i];

		frame->name = demangle__show(&symbols->shown, frame->system_name);
		if (!frame->name)
			return -ENOMEM;
	}
	return 0;
}

static int answer(struct symbols *symbols, int err, struct symbol_chain *chain)
{
	if (err)
		chain->count = 0;
	symbols->quality.addresses++;
	symbols->quality.unnamed += !chain->count;
	return err;
}

static int ask_module(struct symbols *symbols, struct module *module, uint64_t address,
		      struct symbol_chain *ret)
{
	const struct symtab_entry *entry = symtab__find(&module->tab, address);
	struct symbol *outermost;

	ret->count = 0;
	ret->frames[0] = (struct symbol) {};
	if (module->dwarf) {
		int err = dwarf__find(module->dwarf, address, ret);

		if (err)
			return err;
	}
	if (entry) {
		/*
		 * The symbol table distinguishes parts of functions ("f.cold"), which DWARF does
		 * not. And DWARF may not know the function at all, for example if it is assembler
		 * code.
		 */
		ret->count += !ret->count;
		outermost = &ret->frames[ret->count - 1];
		outermost->system_name = entry->name;
	}
	return show(symbols, ret);
}

int symbols__in_module(struct symbols *symbols, const struct symbol_module *module,
		       uint64_t address, struct symbol_chain *ret)
{
	struct module *found;
	int err;

	ret->count = 0;
	err = find_module(symbols, module, &found);
	return answer(symbols, err ? err : ask_module(symbols, found, address, ret), ret);
}

static int read_variables(struct module *module)
{
	struct symtab *tab = &module->variables;
	int err = image__add_variables(module->image, SHT_SYMTAB, tab);

	module->has_variables = true;
	if (err == -ENOENT && module->debug)
		err = image__add_variables(module->debug, SHT_SYMTAB, tab);
	if (err == -ENOENT)
		err = image__add_variables(module->image, SHT_DYNSYM, tab);
	return err == -ENOMEM ? err : unless_no_memory(symtab__seal(tab));
}

int symbols__variable(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		      const char **ret_name, uint64_t *ret_offset)
{
	const struct symtab_entry *entry;
	struct module *found;
	const char *name;
	int err = find_module(symbols, module, &found);

	if (!err && found->image && !found->has_variables)
		err = read_variables(found);
	if (err)
		return err;
	entry = symtab__find(&found->variables, address);
	if (!entry)
		return -ENOENT;
	name = demangle__show(&symbols->shown, entry->name);
	if (!name)
		return -ENOMEM;
	*ret_name = name;
	*ret_offset = address - entry->start;
	return 0;
}

static int open_vdso(struct symbols *symbols)
{
	const struct symbol_module name = { .fd = -1, .path = "[vdso]" };
	cleanup(module_free_p) struct module *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	err = image__of_vdso(&module->image);
	if (!err)
		err = read_module(symbols, &name, module);
	if (err == -ENOMEM)
		return err;
	symbols->vdso = TAKE(module);
	return 0;
}

int symbols__in_vdso(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	int err = symbols->vdso ? 0 : open_vdso(symbols);

	ret->count = 0;
	return answer(symbols, err ? err : ask_module(symbols, symbols->vdso, address, ret), ret);
}

/* "nf_hook_slow [nf_tables]" */
static const char *with_owner(struct symbols *symbols, const char *name, const char *owner)
{
	char *both = map__get(&symbols->shown, (uintptr_t)owner);

	if (both)
		return both;
	if (asprintf(&both, "%s %s", name, owner) < 0)
		return NULL;
	if (map__put(&symbols->shown, (uintptr_t)owner, both)) {
		free(both);
		return NULL;
	}
	return both;
}

static int ask_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	const struct symtab_entry *entry;
	int err;

	ret->count = 0;
	if (!symbols->kallsyms_read) {
		err = kallsyms__read("/proc/kallsyms", &symbols->kallsyms);
		if (err == -ENOMEM)
			return err;
		symbols->kallsyms_read = true;
	}
	entry = symtab__find(&symbols->kallsyms.tab, address);
	if (!entry)
		return 0;
	ret->frames[0] = (struct symbol) { .system_name = entry->name };
	ret->count = 1;
	err = show(symbols, ret);
	if (err || !entry->owner)
		return err;
	ret->frames[0].name = with_owner(symbols, ret->frames[0].name, entry->owner);
	return ret->frames[0].name ? 0 : -ENOMEM;
}

int symbols__in_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	return answer(symbols, ask_kernel(symbols, address, ret), ret);
}

static int find_jit(struct symbols *symbols, int pid, struct perfmap **ret)
{
	cleanup(free_p) char *nothing = NULL;
	struct perfmap *map = map__get(&symbols->jits, (uint64_t)pid);
	int err;

	if (map) {
		*ret = map;
		return 0;
	}
	err = perfmap__open(pid, &map);
	symbols->quality.too_large += err == -EFBIG;
	if (err && err != -ENOMEM) {
		nothing = strdup("");
		err = nothing ? perfmap__parse(nothing, 0, &map) : -ENOMEM;
		if (!err)
			nothing = NULL;
	}
	if (err)
		return err;
	err = map__put(&symbols->jits, (uint64_t)pid, map);
	if (err) {
		perfmap__free(map);
		return err;
	}
	*ret = map;
	return 0;
}

int symbols__in_jit(struct symbols *symbols, int pid, uint64_t address, struct symbol_chain *ret)
{
	struct perfmap *map;
	const char *name;
	int err = find_jit(symbols, pid, &map);

	ret->count = 0;
	name = err ? NULL : perfmap__find(map, address);
	if (name) {
		ret->frames[0] = (struct symbol) { .name = name, .system_name = name };
		ret->count = 1;
	}
	return answer(symbols, err, ret);
}

struct symbols_quality symbols__quality(const struct symbols *symbols)
{
	struct symbols_quality quality = symbols->quality;

	quality.downloads_ended = symbols->finder.ended;
	return quality;
}
