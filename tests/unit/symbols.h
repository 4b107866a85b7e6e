/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of symbols share. */
#pragma once

#include "../harness.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

static inline struct symbols *new_symbols(void)
{
	const struct symbols_options options = { .no_debuginfod = true };
	struct symbols *symbols;

	assert_int_equal(symbols__new(&options, &symbols), 0);
	return symbols;
}

/* A module for each path, by its own open. */
static inline void ask(struct symbols *symbols, const char *root, const char *path,
		       uint64_t address, struct symbol_chain *ret)
{
	struct symbol_module module = { .fd = -1, .path = path, .root = root };

	for (const char *c = path; *c; c++)
		module.key = module.key * 31 + (unsigned char)*c;
	assert_int_equal(symbols__in_module(symbols, &module, address, ret), 0);
}

/* Where a symbol is, by its table; the program must have it. */
static inline GElf_Sym look_up(const char *path, const char *name)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Sym symbol = {}, found = {};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 1; gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++) {
			const char *its_name = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (its_name && !strcmp(its_name, name))
				found = symbol;
		}
	}
	elf_end(elf);
	assert_true(found.st_value > 0);
	return found;
}

__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
	char command[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	/* NOLINTNEXTLINE(bugprone-command-processor) */
	if (system(command))
		fail_msg("'%s' failed", command);
}
