/*
 * What the mapper wants to know of an ELF file before its rows are needed: where its code is, and
 * its build-id. By pread() alone: a file that is mapped can be cut short under one's feet. What it
 * reads is foreign and may be hostile.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HEADERS_MOST_SEGMENTS 16
#define HEADERS_BUILD_ID      64 /* bytes at most; 20 are usual */

/* A part of the file with code. */
struct segment {
	uint64_t offset, size;
	uint64_t address;
};

struct headers {
	struct segment segments[HEADERS_MOST_SEGMENTS];
	size_t segment_count;
	uint64_t begin, end; /* addresses of all that it has in memory; without `end` */
	uint8_t build_id[HEADERS_BUILD_ID];
	size_t build_id_bytes; /* 0: it has none */
};

/* -ENOEXEC: not a program or library of this machine, or nonsense; or what pread() said. */
int headers__read(int fd, struct headers *ret);

/* The ELF address of the page at `offset` of the file. -ENOENT: no code there. */
int headers__address(const struct headers *headers, uint64_t offset, uint64_t *ret);
