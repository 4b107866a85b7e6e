/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the rows of a file from its sections. The file is read, never mapped: if it is truncated
 * meanwhile, read() fails, whereas a memory access would raise SIGBUS.
 */
#include "stacks/rows.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/elfcheck.h"
#include "stacks/cfi.h"
#include "stacks/go.h"
#include "stacks/vdso.h"

/* Limits the memory that hostile files can cost. Real files stay far below. */
#define MOST_SECTION_BYTES (128ULL << 20)
/* Code that is not position-independent is linked below 2 GiB; other code begins near 0. */
#define MOST_ADDRESS (2ULL << 30)

DEFINE_CLEANUP(Elf *, elf_end)

static int find_code(Elf *elf, struct frames *frames)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return -ENOEXEC;
	for (size_t i = 0; i < count && frames->code_count < MOST_SEGMENTS; i++) {
		struct segment *code = &frames->code[frames->code_count];
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return -ENOEXEC;
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || !phdr.p_filesz)
			continue;
		code->begin = phdr.p_vaddr;
		if (__builtin_add_overflow(phdr.p_vaddr, phdr.p_filesz, &code->end) ||
		    code->end > MOST_ADDRESS)
			return -EFBIG;
		frames->code_count++;
	}
	return frames->code_count ? 0 : -ENODATA;
}

/* The section with this name, and its header in *ret_header. NULL: there is none. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, ret_header))
			continue;
		found = elf_strptr(elf, names, ret_header->sh_name);
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

/* Reads a section, and decompresses it if necessary; *ret is NULL if it has no bytes. */
static int read_section(Elf_Scn *section, GElf_Shdr *header, Elf_Data **ret)
{
	GElf_Chdr packed;

	*ret = NULL;
	if (header->sh_type == SHT_NOBITS || !header->sh_size)
		return 0;
	if (header->sh_size > MOST_SECTION_BYTES)
		return -EFBIG;
	if (header->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(section, &packed))
			return 0;
		if (packed.ch_size > MOST_SECTION_BYTES)
			return -EFBIG;
		if (elf_compress(section, 0, 0) < 0)
			return 0;
	}
	*ret = elf_rawdata(section, NULL);
	if (*ret && !(*ret)->d_buf)
		*ret = NULL;
	return 0;
}

/* Adds the FDEs of section `name`, if it exists. */
static int read_frames(Elf *elf, const char *name, bool is_debug, struct frames *frames)
{
	struct section section = { .ident = (const unsigned char *)elf_getident(elf, NULL),
				   .is_debug = is_debug };
	GElf_Shdr header;
	Elf_Scn *found;
	int err;

	if (find_section(elf, ".got.plt", &header) || find_section(elf, ".got", &header))
		section.data_base = header.sh_addr;
	found = find_section(elf, name, &header);
	if (!found)
		return 0;
	section.address = header.sh_addr;
	err = read_section(found, &header, &section.data);
	if (err || !section.data)
		return err;
	return cfi__read(&section, frames);
}

/* Adds the functions of Go's own table. -ENODATA: there is none, or of an unknown version. */
static int read_go(Elf *elf, uint64_t entry, struct frames *frames)
{
	GElf_Shdr header, text;
	Elf_Data *table;
	Elf_Scn *found;
	int err;

	found = find_section(elf, ".gopclntab", &header);
	if (!found) /* position-independent executable */
		found = find_section(elf, ".data.rel.ro.gopclntab", &header);
	if (!found || !find_section(elf, ".text", &text))
		return -ENODATA;
	err = read_section(found, &header, &table);
	if (err || !table)
		return err ? err : -ENODATA;
	return go__read(table, text.sh_addr, entry, frames);
}

static int compile(Elf *elf, bool is_vdso, struct rows *ret)
{
	cleanup(frames__release) struct frames frames = {};
	GElf_Ehdr header;
	int err;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != ARCH_ELF_MACHINE)
		return -ENOEXEC;
	err = find_code(elf, &frames);
	if (!err)
		err = read_frames(elf, ".eh_frame", false, &frames);
	if (!err) {
		err = read_go(elf, header.e_entry, &frames);
		if (err == -ENODATA)
			err = read_frames(elf, ".debug_frame", true, &frames);
	}
	if (!err && is_vdso && ARCH_LINK_REGISTER && !frames.span_count)
		err = vdso__read(elf, &frames);
	return err ? err : cfi_table__build(&frames, ret);
}

int rows__compile(int fd, struct rows *ret)
{
	cleanup(elf_end_p) Elf *elf = NULL;
	int err = elfcheck__sections(fd);

	if (err)
		return err;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	return compile(elf, false, ret);
}

int rows__compile_image(const void *image, size_t size, struct rows *ret)
{
	/* libelf may write to the image. The copy is freed after the Elf that points into it. */
	cleanup(free_p) char *copy = malloc(size + 1);
	cleanup(elf_end_p) Elf *elf = NULL;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, image, size);
	elf_version(EV_CURRENT);
	elf = elf_memory(copy, size);
	return compile(elf, true, ret);
}

void rows__release(struct rows *rows)
{
	free(rows->block_pages);
	free(rows->row_pages);
	*rows = (struct rows) {};
}
