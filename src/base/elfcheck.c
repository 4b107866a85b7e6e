/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/elfcheck.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Usually a few dozen; object files with a section per function have some thousands. */
#define MOST_SECTIONS   65536
#define BYTE_ORDER_HERE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

struct source {
	int fd; /* -1: in memory */
	const char *bytes;
	size_t size;
};

/* False: not all bytes exist. */
static bool read_at(const struct source *source, void *to, size_t size, uint64_t offset)
{
	if (source->fd >= 0)
		return offset <= INT64_MAX - size &&
		       pread(source->fd, to, size, (off_t)offset) == (ssize_t)size;
	if (offset > source->size || source->size - offset < size)
		return false;
	memcpy(to, source->bytes + offset, size);
	return true;
}

/* If the header's number of sections is 0, the number is the size of the first section. */
static int check(const struct source *source)
{
	Elf64_Ehdr head;
	Elf64_Shdr first;
	Elf32_Ehdr short_head;
	Elf32_Shdr short_first;

	if (!read_at(source, &short_head, sizeof(short_head), 0) ||
	    memcmp(short_head.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	if (short_head.e_ident[EI_DATA] != BYTE_ORDER_HERE)
		return -ENOEXEC;
	if (short_head.e_ident[EI_CLASS] == ELFCLASS32)
		return !short_head.e_shnum && short_head.e_shoff &&
				       read_at(source, &short_first, sizeof(short_first),
					       short_head.e_shoff) &&
				       short_first.sh_size > MOST_SECTIONS
			       ? -EFBIG
			       : 0;
	return read_at(source, &head, sizeof(head), 0) && !head.e_shnum && head.e_shoff &&
			       read_at(source, &first, sizeof(first), head.e_shoff) &&
			       first.sh_size > MOST_SECTIONS
		       ? -EFBIG
		       : 0;
}

int elfcheck__sections(int fd)
{
	return check(&(struct source) { .fd = fd });
}

int elfcheck__sections_of(const void *bytes, unsigned long size)
{
	return check(&(struct source) { .fd = -1, .bytes = bytes, .size = size });
}
