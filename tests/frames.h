/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests of the row compiler and of the walk: ELF images with descriptions of frames, byte by
 * byte as the formats want them, and what must be true of every table.
 */
#pragma once

#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/rows.h"

struct bytes {
	uint8_t at[1 << 16];
	size_t size;
};

/* What does not fit is cut off: a fuzzer may ask for anything. */
static inline void put(struct bytes *bytes, const void *from, size_t size)
{
	if (size > sizeof(bytes->at) - bytes->size)
		size = sizeof(bytes->at) - bytes->size;
	memcpy(bytes->at + bytes->size, from, size);
	bytes->size += size;
}

static inline void put_fixed(struct bytes *bytes, uint64_t value, size_t size)
{
	put(bytes, &value, size);
}

static inline void put_unsigned(struct bytes *bytes, uint64_t value)
{
	do {
		put_fixed(bytes, (value & 0x7f) | (value > 0x7f ? 0x80 : 0), 1);
		value >>= 7;
	} while (value);
}

/* --- descriptions --------------------------------------------------------------------------- */

/* A section under construction. */
struct frame_section {
	struct bytes bytes;
	uint64_t address;
	bool is_debug;
	uint8_t encoding; /* of the last CIE */
	size_t cie;       /* where it is */
};

struct program {
	uint8_t code[4096];
	size_t size;
};

#define PROGRAM(...)                                                                               \
	(&(struct program) { .code = { __VA_ARGS__ }, .size = sizeof((uint8_t[]) { __VA_ARGS__ }) })

static inline void put_program(struct bytes *bytes, const struct program *program)
{
	put(bytes, program->code, program->size);
	while (bytes->size % 4)
		put_fixed(bytes, DW_CFA_nop, 1);
}

static inline void finish_entry(struct bytes *bytes, size_t begin)
{
	uint32_t size = (uint32_t)(bytes->size - begin - 4);

	memcpy(bytes->at + begin, &size, sizeof(size));
}

/* `augmentation`: "", or "zR" and further letters without data. */
static inline void put_cie(struct frame_section *section, const char *augmentation,
			   uint8_t encoding, const struct program *program)
{
	struct bytes *bytes = &section->bytes;

	section->cie = bytes->size;
	section->encoding = *augmentation ? encoding : DW_EH_PE_absptr;
	put_fixed(bytes, 0, 4);
	put_fixed(bytes, section->is_debug ? UINT32_MAX : 0, 4);
	put_fixed(bytes, 1, 1); /* version */
	put(bytes, augmentation, strlen(augmentation) + 1);
	put_unsigned(bytes, 1);    /* code alignment */
	put_fixed(bytes, 0x78, 1); /* data alignment: -8 */
	put_unsigned(bytes, ARCH_DWARF_RETURN);
	if (*augmentation == 'z') {
		put_unsigned(bytes, 1);
		put_fixed(bytes, encoding, 1);
	}
	put_program(bytes, program);
	finish_entry(bytes, section->cie);
}

static inline size_t bytes_of_encoding(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	default:
		return 8;
	}
}

static inline void put_fde_based(struct frame_section *section, uint64_t begin, uint64_t size,
				 uint64_t base, const struct program *program)
{
	struct bytes *bytes = &section->bytes;
	size_t start = bytes->size, width = bytes_of_encoding(section->encoding);
	bool is_sized = section->bytes.at[section->cie + 9] == 'z';

	put_fixed(bytes, 0, 4);
	put_fixed(bytes, section->is_debug ? section->cie : start + 4 - section->cie, 4);
	if ((section->encoding & 0x70) == DW_EH_PE_pcrel)
		base = section->address + bytes->size;
	put_fixed(bytes, begin - base, width);
	put_fixed(bytes, size, width);
	if (is_sized)
		put_unsigned(bytes, 0);
	put_program(bytes, program);
	finish_entry(bytes, start);
}

static inline void put_fde(struct frame_section *section, uint64_t begin, uint64_t size,
			   const struct program *program)
{
	put_fde_based(section, begin, size, 0, program);
}

/* What compilers begin with: CFA = sp + 8, the return address at CFA - 8; or CFA = sp. */
#if ARCH_LINK_REGISTER
#define USUAL_CIE PROGRAM(DW_CFA_def_cfa, ARCH_DWARF_SP, 0)
#else
#define USUAL_CIE PROGRAM(DW_CFA_def_cfa, ARCH_DWARF_SP, 8, DW_CFA_offset | ARCH_DWARF_RETURN, 1)
#endif

static inline void put_usual_cie(struct frame_section *section)
{
	put_cie(section, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4, USUAL_CIE);
}

/* --- files ---------------------------------------------------------------------------------- */

#define IMAGE_GOT 0x7000 /* address of .got */

struct image_head {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[7]; /* none, names, .eh_frame, .debug_frame, .gopclntab, .got, .text */
	char names[64];
};

/* A file whose code is [begin, end); a section may be NULL. `go`: Go's table of functions. */
static inline void make_go_image(struct bytes *image, uint64_t begin, uint64_t end, uint64_t entry,
				 const struct frame_section *eh, const struct frame_section *debug,
				 const struct frame_section *go)
{
	struct image_head head = {
		.ehdr = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = ARCH_ELF_MACHINE,
			  .e_version = EV_CURRENT,
			  .e_entry = entry,
			  .e_phoff = offsetof(struct image_head, phdr),
			  .e_shoff = offsetof(struct image_head, shdrs),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = 7,
			  .e_shstrndx = 1 },
		.phdr = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = begin,
			  .p_filesz = end - begin,
			  .p_memsz = end - begin },
		.shdrs = { {},
			   { .sh_name = 1,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = offsetof(struct image_head, names),
			     .sh_size = sizeof(head.names) },
			   { .sh_name = 7, .sh_type = SHT_NULL },
			   { .sh_name = 17, .sh_type = SHT_NULL },
			   { .sh_name = 30, .sh_type = SHT_NULL },
			   { .sh_name = 41, .sh_type = SHT_PROGBITS, .sh_addr = IMAGE_GOT },
			   { .sh_name = 46, .sh_type = SHT_NOBITS, .sh_addr = begin } },
		.names = "\0names\0.eh_frame\0.debug_frame\0.gopclntab\0.got\0.text",
	};
	const struct frame_section *const sections[] = { eh, debug, go };
	uint64_t offset = sizeof(head);

	for (int i = 0; i < 3; i++) {
		if (!sections[i])
			continue;
		head.shdrs[2 + i].sh_type = SHT_PROGBITS;
		head.shdrs[2 + i].sh_addr = sections[i]->address;
		head.shdrs[2 + i].sh_offset = offset;
		head.shdrs[2 + i].sh_size = sections[i]->bytes.size;
		offset += sections[i]->bytes.size;
	}
	image->size = 0;
	put(image, &head, sizeof(head));
	for (int i = 0; i < 3; i++)
		if (sections[i])
			put(image, sections[i]->bytes.at, sections[i]->bytes.size);
}

static inline void make_image(struct bytes *image, uint64_t begin, uint64_t end,
			      const struct frame_section *eh, const struct frame_section *debug)
{
	make_go_image(image, begin, end, 0, eh, debug, NULL);
}

/* --- tables --------------------------------------------------------------------------------- */

static inline bool is_sane_row(const struct unwind_row *row)
{
	return row->kind <= UNWIND_UNSUPPORTED ||
	       (row->kind >= UNWIND_REGISTER && row->kind < UNWIND_KINDS);
}

/* A block's rows: within their page, from 0 on, ascending, each unlike the one before. */
static inline bool is_sane_block(const struct rows *rows, const struct unwind_block *block)
{
	const struct unwind_row *row;

	if (block->page >= rows->row_page_count || block->first + block->count > UNWIND_PAGE_ROWS)
		return false;
	row = &rows->row_pages[block->page].rows[block->first];
	for (unsigned i = 0; i < block->count; i++, row++) {
		if (!is_sane_row(row) || (!i && row->pc))
			return false;
		if (i &&
		    (row->pc <= row[-1].pc || (row->kind == row[-1].kind && row->bp == row[-1].bp &&
					       row->offset == row[-1].offset)))
			return false;
	}
	return true;
}

static inline bool is_sane_table(const struct rows *rows)
{
	uint64_t count = 0;

	for (size_t i = 0; i < rows->block_page_count * UNWIND_PAGE_BLOCKS; i++) {
		const struct unwind_block *block =
			&rows->block_pages[i / UNWIND_PAGE_BLOCKS].blocks[i % UNWIND_PAGE_BLOCKS];

		if (block->count && !is_sane_block(rows, block))
			return false;
		count += block->count;
	}
	return count == rows->row_count && rows->unsupported_count <= rows->row_count;
}
