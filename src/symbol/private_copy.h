/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the symbol tables and the debug information of a large ELF file, in a file of our own
 * that has no name. Nobody else can change or truncate it, so it can be mapped, and only the pages
 * that are being read take memory. Compressed sections are decompressed on the way.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

struct private_copy {
	void *map; /* unmapping it frees the copy */
	size_t size;
};

/*
 * `elf` is the file behind `fd`, opened with ELF_C_READ. Without `with_dwarf`, only symbol tables
 * are copied. -ENOTSUP: it is too small to need a copy, or it cannot be copied; it can still be
 * read into memory. -ENOSPC, -ENOMEM and others.
 */
int private_copy__make(Elf *elf, int fd, bool with_dwarf, struct private_copy *ret);
