/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files with any symbol tables, compressed tables and DWARF. The seeds have code at 0x1000. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct symbol_chain *chain)
{
	static volatile size_t length;

	if (chain->count < 0 || chain->count > SYMBOL_MOST_INLINED)
		abort();
	for (int i = 0; i < chain->count; i++) {
		const struct symbol *frame = &chain->frames[i];

		length += strlen(frame->name) + strlen(frame->system_name);
		length += frame->file ? strlen(frame->file) : 0;
	}
}

#define FIRST 0x0ff0
#define STEP  13
#define COUNT 80

static void look_up_all(struct symbols *symbols, const struct symbol_module *module)
{
	static struct symbol_chain chain;
	const char *name;
	uint64_t offset;

	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t address = FIRST + i * STEP;

		if (symbols__in_module(symbols, module, address, &chain))
			abort();
		check(&chain);
		if (!symbols__variable(symbols, module, address, &name, &offset) && !*name)
			abort();
	}
}

/* Each address alone, then all of them together with the files opened again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct symbols_options options = { .no_debuginfod = true };
	struct symbol_module module = { .key = 1, .path = "/memfd:fuzz", .root = "" };
	struct symbols *symbols;
	uint64_t wanted[COUNT];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || symbols__new(&options, &symbols))
		abort();
	module.fd = fd;
	look_up_all(symbols, &module);
	symbols__shrink(symbols, 0);
	for (uint64_t i = 0; i < COUNT; i++)
		wanted[i] = FIRST + i * STEP;
	if (symbols__want(symbols, wanted, COUNT))
		abort();
	look_up_all(symbols, &module);
	symbols__free(symbols);
	close(fd);
	return 0;
}
