/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make KIND LIBRARY FILE: writes a copy of a library that still runs, but lies to whoever reads its
 * symbols.
 *
 *   sections  claims 30,000,000 sections
 *   symbols   symbol and string tables of 500 MB, all of it a hole
 *   dwarf     .debug_info, .debug_abbrev, .debug_line and .debug_str of 500 MB, likewise
 *   frames    .eh_frame of 500 MB, likewise
 *   packed    a .debug_info of 3 MB that unpacks to 3 GB
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MANY_SECTIONS 30000000UL
#define HOLE_BYTES    (500UL << 20)
#define PACKED_BYTES  (3UL << 30)
#define FIRST_HOLE    (1UL << 20) /* after all that the library needs */

struct library {
	char *bytes;
	size_t size;
	Elf64_Ehdr *head;
	Elf64_Shdr *sections;
	uint64_t end; /* of the file, including what was added */
};

static struct library read_library(const char *path)
{
	struct library library = {};
	struct stat about;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &about))
		err(1, "%s", path);
	library.size = (size_t)about.st_size;
	library.bytes = malloc(library.size);
	if (!library.bytes || library.size >= FIRST_HOLE ||
	    read(fd, library.bytes, library.size) != about.st_size)
		err(1, "%s", path);
	close(fd);
	library.head = (void *)library.bytes;
	library.sections = (void *)(library.bytes + library.head->e_shoff);
	library.end = FIRST_HOLE;
	return library;
}

static Elf64_Shdr *find(const struct library *library, const char *name)
{
	const char *names = library->bytes + library->sections[library->head->e_shstrndx].sh_offset;

	for (int i = 0; i < library->head->e_shnum; i++)
		if (!strcmp(names + library->sections[i].sh_name, name))
			return &library->sections[i];
	errx(1, "no section %s", name);
}

static void make_hole(struct library *library, const char *name)
{
	Elf64_Shdr *section = find(library, name);

	section->sh_offset = library->end;
	section->sh_size = HOLE_BYTES / 24 * 24;
	library->end += HOLE_BYTES;
}

/* The number of sections does not fit into the ELF header, so it is in the first section header. */
static void claim_sections(struct library *library, int fd)
{
	const Elf64_Shdr first = { .sh_size = MANY_SECTIONS, .sh_link = 1 };

	library->head->e_shnum = 0;
	library->head->e_shoff = library->end;
	if (pwrite(fd, &first, sizeof(first), (off_t)library->end) != sizeof(first))
		err(1, "write");
	library->end += MANY_SECTIONS * sizeof(Elf64_Shdr);
}

static void put(int fd, uint64_t *at, const void *bytes, size_t size)
{
	if (pwrite(fd, bytes, size, (off_t)*at) != (ssize_t)size)
		err(1, "write");
	*at += size;
}

static void pack_zeroes(struct library *library, int fd)
{
	static unsigned char zeroes[1 << 20], out[1 << 16];
	const Elf64_Chdr head = { .ch_type = ELFCOMPRESS_ZLIB,
				  .ch_size = PACKED_BYTES,
				  .ch_addralign = 1 };
	Elf64_Shdr *section = find(library, ".debug_info");
	uint64_t left = PACKED_BYTES;
	z_stream stream = {};

	if (deflateInit(&stream, 1) != Z_OK)
		errx(1, "zlib");
	section->sh_offset = library->end;
	section->sh_flags |= SHF_COMPRESSED;
	put(fd, &library->end, &head, sizeof(head));
	do {
		if (!stream.avail_in && left) {
			stream.next_in = zeroes;
			stream.avail_in = sizeof(zeroes);
			left -= sizeof(zeroes);
		}
		stream.next_out = out;
		stream.avail_out = sizeof(out);
		deflate(&stream, left || stream.avail_in ? Z_NO_FLUSH : Z_FINISH);
		put(fd, &library->end, out, sizeof(out) - stream.avail_out);
	} while (left || stream.avail_in || !stream.avail_out);
	deflateEnd(&stream);
	section->sh_size = library->end - section->sh_offset;
}

static bool change(struct library *library, const char *kind, int fd)
{
	static const char *const holes[][5] = {
		{ "symbols", ".symtab", ".strtab" },
		{ "dwarf", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_str" },
		{ "frames", ".eh_frame" },
	};

	if (!strcmp(kind, "sections"))
		claim_sections(library, fd);
	else if (!strcmp(kind, "packed"))
		pack_zeroes(library, fd);
	for (size_t i = 0; i < sizeof(holes) / sizeof(*holes); i++)
		for (size_t j = 1; j < 5 && holes[i][j] && !strcmp(kind, holes[i][0]); j++)
			make_hole(library, holes[i][j]);
	return library->end > FIRST_HOLE;
}

int main(int argc, char **argv)
{
	struct library library;
	uint64_t begin = 0;
	int fd;

	if (argc != 4)
		errx(1, "usage: make KIND LIBRARY FILE");
	library = read_library(argv[2]);
	fd = open(argv[3], O_CREAT | O_TRUNC | O_WRONLY, 0755);
	if (fd < 0)
		err(1, "%s", argv[3]);
	if (!change(&library, argv[1], fd))
		errx(1, "'%s' is no kind", argv[1]);
	put(fd, &begin, library.bytes, library.size);
	if (ftruncate(fd, (off_t)library.end) || close(fd))
		err(1, "%s", argv[3]);
	free(library.bytes);
	return 0;
}
