/* What an ELF file claims that libelf believes without a limit. */
#pragma once

/*
 * libelf makes room for every section that the file claims when it opens it, 200 bytes each. -EFBIG
 * if there are more than any program has; -ENOEXEC: the byte order is that of other machines, and
 * no number in it was looked at; 0 also for what is no ELF file or cannot be read.
 */
int elfcheck__sections(int fd);
/* The same for a file in memory. */
int elfcheck__sections_of(const void *bytes, unsigned long size);
