/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the mapper needs from an ELF file before it needs the rows: the code segments and the
 * build-id. Uses pread() only, because another process can truncate a file while it is mapped. The
 * input is untrusted and may be hostile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HEADERS_MOST_SEGMENTS 16
#define HEADERS_BUILD_ID      64 /* maximum in bytes; 20 is usual */

/* A code segment of the file. */
struct segment {
	uint64_t offset, size;
	uint64_t address;
};

struct headers {
	struct segment segments[HEADERS_MOST_SEGMENTS];
	size_t segment_count;
	uint64_t begin, end; /* address range of all segments in memory; `end` is exclusive */
	uint8_t build_id[HEADERS_BUILD_ID];
	size_t build_id_bytes; /* 0: none */
};

/* Reads code segments and build-id. -ENOEXEC: invalid, or not a program or library for this
 * machine. Or the errno of pread(). */
int headers__read(int fd, struct headers *ret);

/* The ELF address of the page at `offset` of the file. -ENOENT: no code there. */
int headers__address(const struct headers *headers, uint64_t offset, uint64_t *ret);
