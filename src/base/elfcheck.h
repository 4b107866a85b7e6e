/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the numbers of an ELF file that libelf trusts without a limit. */
#pragma once

/*
 * When libelf opens a file, it allocates 200 bytes for every section that the file claims. -EFBIG:
 * more sections than any program has. -ENOEXEC: foreign byte order, nothing was checked. 0 also if
 * it is not an ELF file or cannot be read.
 */
int elfcheck__sections(int fd);
/* The same for a file in memory. */
int elfcheck__sections_of(const void *bytes, unsigned long size);
