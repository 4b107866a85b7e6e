/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module stays in `modules` for good, also while its files are closed to save memory, so that it
 * is counted once. Its tables are read again for each set of addresses (addresses.h).
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "symbol/broker.h"
#include "symbol/demangle.h"
#include "symbol/kallsyms.h"
#include "symbol/module.h"
#include "symbol/perfmap.h"

/* Above this, private copies of files are not kept for the next question. */
#define MOST_COPIED_BYTES (256UL << 20)

struct symbols {
	struct addresses wanted;
	struct debug_finder finder;
	struct map modules; /* key → struct module */
	struct map jits;    /* pid → struct perfmap, of the addresses in `wanted` */
	uint64_t jits_version;
	struct map shown;    /* original name → displayed name */
	struct module *last; /* used; NULL: none */
	struct module *vdso;
	struct kallsyms kallsyms;
	bool kallsyms_read;
	size_t before_bytes; /* allocated when this was made, and by reading kallsyms */
	struct symbols_quality quality;
};

static void module_free(struct module *module)
{
	if (!module)
		return;
	module__close(module);
	free(module);
}
DEFINE_CLEANUP(struct module *, module_free)

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

int symbols__new(const struct symbols_options *options, struct symbols **ret)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->finder.no_debuginfod = options && options->no_debuginfod;
	symbols->before_bytes = allocated_bytes();
	*ret = symbols;
	return 0;
}

static void forget_jits(struct symbols *symbols)
{
	struct perfmap *jit;
	size_t at = 0;

	while ((jit = map__next(&symbols->jits, &at)))
		perfmap__free(jit);
	map__release(&symbols->jits);
}

void symbols__free(struct symbols *symbols)
{
	struct module *module;
	size_t at = 0;

	if (!symbols)
		return;
	while ((module = map__next(&symbols->modules, &at)))
		module_free(module);
	map__release(&symbols->modules);
	demangle__release(&symbols->shown);
	forget_jits(symbols);
	addresses__release(&symbols->wanted);
	kallsyms__release(&symbols->kallsyms);
	module_free(symbols->vdso);
	free(symbols);
}

static int find_module(struct symbols *symbols, const struct symbol_module *name,
		       struct module **ret)
{
	struct module *module = map__get(&symbols->modules, name->key);
	int err;

	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module || map__put(&symbols->modules, name->key, module)) {
			free(module);
			return -ENOMEM;
		}
	}
	err = module__open(module, name, &symbols->finder, &symbols->quality);
	if (err)
		return err;
	*ret = symbols->last = module;
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

static int find_in_dwarf(struct symbols *symbols, struct dwarf *dwarf, uint64_t address,
			 struct symbol_chain *ret)
{
	uint64_t before = dwarf__without_lines(dwarf);
	int err = dwarf__find(dwarf, address, ret);

	symbols->quality.without_lines += dwarf__without_lines(dwarf) - before;
	return err;
}

static int ask_module(struct symbols *symbols, struct module *module, uint64_t address,
		      struct symbol_chain *ret)
{
	const struct symtab_entry *entry;
	struct symbol *outermost;
	int err = module__read_functions(module, &symbols->wanted, &symbols->quality);

	ret->count = 0;
	ret->frames[0] = (struct symbol) {};
	if (!err && module->dwarf)
		err = find_in_dwarf(symbols, module->dwarf, address, ret);
	if (err)
		return err;
	entry = symtab__find(&module->functions, address);
	if (entry) {
		/*
		 * The symbol table distinguishes parts of functions ("f.cold"), which DWARF does
		 * not. And DWARF may not know the function at all, for example if it is assembler
		 * code.
		 */
		if (!ret->count) {
			ret->count = 1;
			ret->frames[0].source = entry->is_dynamic ? NAME_DYNSYM : NAME_SYMTAB;
		}
		outermost = &ret->frames[ret->count - 1];
		outermost->system_name = entry->name;
	}
	return show(symbols, ret);
}

int symbols__want(struct symbols *symbols, const uint64_t *list, size_t count)
{
	return addresses__set(&symbols->wanted, list, count);
}

/* The caller looks up an address that it did not announce. */
static int want_one(struct symbols *symbols, uint64_t address)
{
	size_t at = addresses__from(&symbols->wanted, address);

	if (at < symbols->wanted.count && symbols->wanted.sorted[at] == address)
		return 0;
	return symbols__want(symbols, &address, 1);
}

int symbols__rebase(struct symbols *symbols, const struct symbol_module *module, uint64_t *list,
		    size_t count)
{
	struct module *found;
	uint64_t base;
	int err = find_module(symbols, module, &found);

	if (!err)
		err = module__find_symbol(found, module->base, &base);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		list[i] += base;
	return 0;
}

int symbols__in_module(struct symbols *symbols, const struct symbol_module *module,
		       uint64_t address, struct symbol_chain *ret)
{
	struct module *found;
	int err;

	ret->count = 0;
	err = want_one(symbols, address);
	if (!err)
		err = find_module(symbols, module, &found);
	return answer(symbols, err ? err : ask_module(symbols, found, address, ret), ret);
}

int symbols__variable(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		      const char **ret_name, uint64_t *ret_offset)
{
	const struct symtab_entry *entry;
	struct module *found;
	const char *name;
	int err = want_one(symbols, address);

	if (!err)
		err = find_module(symbols, module, &found);
	if (!err)
		err = module__read_variables(found, &symbols->wanted, &symbols->quality);
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
	module->is_counted = true; /* it is no file */
	err = image__of_vdso(&module->image);
	if (!err)
		err = module__open(module, &name, &symbols->finder, &symbols->quality);
	if (err == -ENOMEM)
		return err;
	symbols->vdso = TAKE(module);
	return 0;
}

int symbols__in_vdso(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	int err = symbols->vdso ? 0 : open_vdso(symbols);

	if (!err)
		err = want_one(symbols, address);
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

static int read_kallsyms(struct symbols *symbols)
{
	size_t before_bytes = allocated_bytes();
	int fd = broker__open(&(struct broker_request) { .kind = BROKER_KALLSYMS });
	cleanup(fclose_p) FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int err = file ? kallsyms__read(file, &symbols->kallsyms) : 0;
	size_t after_bytes = allocated_bytes();

	symbols->kallsyms_read = true;
	if (after_bytes > before_bytes)
		symbols->before_bytes += after_bytes - before_bytes;
	return err;
}

static int ask_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	const char *name, *owner;
	int err;

	ret->count = 0;
	err = symbols->kallsyms_read ? 0 : read_kallsyms(symbols);
	if (err)
		return err;
	name = kallsyms__find(&symbols->kallsyms, address, &owner);
	if (!name)
		return 0;
	ret->frames[0] = (struct symbol) { .system_name = name, .source = NAME_KALLSYMS };
	ret->count = 1;
	err = show(symbols, ret);
	if (err || !owner)
		return err;
	ret->frames[0].name = with_owner(symbols, ret->frames[0].name, owner);
	return ret->frames[0].name ? 0 : -ENOMEM;
}

int symbols__in_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret)
{
	return answer(symbols, ask_kernel(symbols, address, ret), ret);
}

static int find_jit(struct symbols *symbols, int pid, struct perfmap **ret)
{
	struct perfmap *map;
	int err;

	if (symbols->jits_version != symbols->wanted.version)
		forget_jits(symbols);
	symbols->jits_version = symbols->wanted.version;
	map = map__get(&symbols->jits, (uint64_t)pid);
	if (map) {
		*ret = map;
		return 0;
	}
	err = perfmap__open(pid, &symbols->wanted, &map);
	symbols->quality.too_large += err == -EFBIG;
	if (err && err != -ENOMEM)
		err = perfmap__new(&map);
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
	int err = want_one(symbols, address);

	if (!err)
		err = find_jit(symbols, pid, &map);
	ret->count = 0;
	name = err ? NULL : perfmap__find(map, address);
	if (name) {
		ret->frames[0] = (struct symbol) { .name = name,
						   .system_name = name,
						   .source = NAME_PERF_MAP };
		ret->count = 1;
	}
	return answer(symbols, err, ret);
}

/* Calls `close` for each module except `kept`. */
static void close_modules(struct symbols *symbols, void (*close)(struct module *module),
			  const struct module *kept)
{
	struct module *module;
	size_t at = 0;

	/* Its keys are addresses of names in the modules. */
	demangle__release(&symbols->shown);
	while ((module = map__next(&symbols->modules, &at)))
		if (module != kept)
			close(module);
	malloc_trim(0);
}

/* Always with a limit of 0, also under AddressSanitizer, where mallinfo2() returns zeroes. */
static bool has_too_much(const struct symbols *symbols, size_t most_bytes)
{
	return allocated_bytes() >= symbols->before_bytes + most_bytes;
}

void symbols__shrink(struct symbols *symbols, size_t most_bytes)
{
	const struct module *last = symbols->last;

	if (has_too_much(symbols, most_bytes)) {
		forget_jits(symbols);
		close_modules(symbols, module__close_tables, NULL);
	}
	/* The next question is often about the same file, and making a copy takes long. */
	if (has_too_much(symbols, most_bytes) || image__copied_bytes() > MOST_COPIED_BYTES)
		close_modules(symbols, module__close, last && module__has_copy(last) ? last : NULL);
}

struct symbols_quality symbols__quality(const struct symbols *symbols)
{
	return symbols->quality;
}
