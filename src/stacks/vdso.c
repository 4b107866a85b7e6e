/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/vdso.h"

#include <string.h>

#define INSTRUCTION_BYTES 4
#define MOST_SYMBOLS      256

/* Instructions of arm64, and which of their bits are not operands. */
static const struct {
	uint32_t mask, code;
} moves_stack_or_calls[] = {
	{ 0xfc000000, 0x94000000 }, /* bl */
	{ 0xfffffc1f, 0xd63f0000 }, /* blr */
	{ 0xff0003ff, 0xd10003ff }, /* sub sp, …, # */
	{ 0xffe003ff, 0xcb2003ff }, /* sub sp, …, register */
	{ 0xffc003e0, 0xa98003e0 }, /* stp …, [sp, #]! */
	{ 0xffe00fe0, 0xf8000fe0 }, /* str …, [sp, #]! */
};

static bool is_leaf(const uint8_t *code, uint64_t size)
{
	for (uint64_t at = 0; at + INSTRUCTION_BYTES <= size; at += INSTRUCTION_BYTES) {
		uint32_t instruction;

		memcpy(&instruction, code + at, sizeof(instruction));
		for (size_t i = 0; i < sizeof(moves_stack_or_calls) / sizeof(*moves_stack_or_calls);
		     i++)
			if ((instruction & moves_stack_or_calls[i].mask) ==
			    moves_stack_or_calls[i].code)
				return false;
	}
	return true;
}

static bool is_sigreturn(const uint8_t *code, uint64_t size)
{
	const uint64_t wanted = ARCH_SIGRETURN_CODE;

	return size >= sizeof(wanted) && !memcmp(code, &wanted, sizeof(wanted));
}

/* The code of a function, or NULL if its symbol makes no sense. */
static const uint8_t *code_of(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	Elf_Data *data;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS)
		return NULL;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || symbol->st_value < header.sh_addr ||
	    symbol->st_size > data->d_size ||
	    symbol->st_value - header.sh_addr > data->d_size - symbol->st_size)
		return NULL;
	return (const uint8_t *)data->d_buf + (symbol->st_value - header.sh_addr);
}

static int add_function(Elf *elf, const GElf_Sym *symbol, struct frames *frames)
{
	const uint8_t *code = code_of(elf, symbol);
	struct span span = { .begin = symbol->st_value,
			     .end = symbol->st_value + symbol->st_size,
			     .first = (uint32_t)frames->place_count,
			     .count = 1 };
	struct unwind_row row = { .kind = UNWIND_SP };
	int err;

	if (!code || !symbol->st_size)
		return 0;
	/* A handler's return address is no call's: the byte before it is not in the function. */
	if (is_sigreturn(code, symbol->st_size)) {
		row.kind = UNWIND_SIGNAL;
		span.begin--;
	} else if (!is_leaf(code, symbol->st_size)) {
		return 0;
	}
	if (!frames__clip(frames, &span))
		return 0;
	err = frames__add_place(frames, &span, span.begin, row);
	return err ? err : frames__add_span(frames, &span);
}

int vdso__read(Elf *elf, struct frames *frames)
{
	Elf_Data *symbols = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	int err = 0;

	while (!symbols && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			symbols = elf_getdata(section, NULL);
	for (int i = 0; symbols && !err && i < MOST_SYMBOLS && gelf_getsym(symbols, i, &symbol);
	     i++)
		err = add_function(elf, &symbol, frames);
	return err;
}
