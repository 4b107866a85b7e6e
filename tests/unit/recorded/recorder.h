/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs that record memory share: all that src/runtimes/remote.h reads of `memory_fd`
 * is kept, and printed in the format of recorded.h. To be linked with --wrap=pread64.
 */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtimes/language.h"

#define MOST_PIECES 4096

static struct piece {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
} pieces[MOST_PIECES];
static size_t piece_count;
static int memory_fd = -1;

static void record(uint64_t address, const void *bytes, size_t size)
{
	struct piece *piece = &pieces[piece_count];

	for (size_t i = 0; i < piece_count; i++)
		if (pieces[i].address == address && pieces[i].size >= size)
			return;
	*piece = (struct piece) { address, size, malloc(size) };
	if (!piece->bytes || ++piece_count == MOST_PIECES)
		exit(1);
	memcpy(piece->bytes, bytes, size);
}

/* The linker makes it the pread() of src/runtimes/remote.c. */
ssize_t __real_pread64(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got = __real_pread64(fd, to, size, offset);

	if (got > 0 && fd == memory_fd)
		record((uint64_t)offset, to, (size_t)got);
	return got;
}

static uint64_t bias_of(const char *pid, const char *library, Elf *elf)
{
	uint64_t begin = 0;
	GElf_Phdr header;
	char path[64], line[4096];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	while (maps && !begin && fgets(line, sizeof(line), maps))
		if (strstr(line, library))
			begin = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	for (int i = 0; gelf_getphdr(elf, i, &header); i++)
		if (header.p_type == PT_LOAD)
			return begin - (header.p_vaddr & ~UINT64_C(4095));
	return begin;
}

static void print_pieces(void)
{
	for (size_t i = 0; i < piece_count; i++) {
		printf("at %" PRIx64 " ", pieces[i].address);
		for (size_t k = 0; k < pieces[i].size; k++)
			printf("%02x", pieces[i].bytes[k]);
		printf("\n");
	}
}

/* Opens the runtime in `library` of a process. Everything is recorded from then on. */
static int open_subject(const struct language *language, const char *library, const char *pid,
			struct subject *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	ret->maps_fd = -1;
	if (remote__new(memory_fd, &ret->memory) ||
	    image__open(open(library, O_RDONLY | O_CLOEXEC), &ret->file.image))
		return -1;
	ret->file.path = library;
	ret->file.bias = bias_of(pid, library, ret->file.image->elf);
	ret->runtime.kind = language->kind;
	if (language->open(ret)) {
		fprintf(stderr, "version '%s' cannot be read\n", ret->version);
		return -1;
	}
	return 0;
}
