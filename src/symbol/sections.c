/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes up for checks that libdw lacks before it trusts the sections of a file.
 *
 * libdw takes strings from .debug_line_str and from .debug_info without looking for their end. So
 * each section that does not end with a 0 gets one appended. Most sections end with one, so there
 * are few copies; a private copy of the file has a 0 behind each section. Rejected: reading whole
 * files into our own memory, which does not help with compressed sections.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/image.h"

/* A few bytes can claim to decompress to any size. */
#define MOST_DWARF_BYTES (4UL << 30)
#define PADDING          16

/* The size of a section in memory. */
static uint64_t unpacked_size(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr packed;
	const Elf_Data *data;
	uint64_t size = 0;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &packed) ? packed.ch_size : UINT64_MAX;
	/* The older format: "ZLIB" and the size in big-endian order. */
	if (strncmp(name, ".zdebug_", 8))
		return header->sh_size;
	data = elf_rawdata(section, NULL);
	if (!data || data->d_size < 12 || !data->d_buf)
		return UINT64_MAX;
	for (int i = 4; i < 12; i++)
		size = size << 8 | ((const unsigned char *)data->d_buf)[i];
	return size;
}

/* The next section with DWARF; NULL at the end. */
static Elf_Scn *next_section(const struct image *image, Elf_Scn *section, GElf_Shdr *ret_header,
			     const char **ret_name)
{
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return NULL;
	while ((section = elf_nextscn(image->elf, section))) {
		const char *name = gelf_getshdr(section, ret_header)
					   ? elf_strptr(image->elf, names, ret_header->sh_name)
					   : NULL;

		*ret_name = name;
		if (name && ret_header->sh_type != SHT_NOBITS &&
		    (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8)))
			return section;
	}
	return NULL;
}

static int check_size(const struct image *image)
{
	uint64_t total = 0, packed = 0, unpacked = 0;
	Elf_Scn *section = NULL;
	bool found = false;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(image, section, &header, &name))) {
		uint64_t size = unpacked_size(section, &header, name);

		if (size > MOST_DWARF_BYTES || total + size > MOST_DWARF_BYTES)
			return -EFBIG;
		total += size;
		/* The compressed and the decompressed bytes are in memory at the same time. */
		if (size != header.sh_size) {
			packed += header.sh_size;
			unpacked += size;
		}
		found = found || !strcmp(strchr(name, '_'), "_info");
	}
	if (!found)
		return -ENOENT;
	/* A private copy is not in memory, except for what libdw decompresses. */
	return image__has_room(image->map ? unpacked : total + packed) ? 0 : -ENOMEM;
}

/* Whether a 0 follows in the mapped file, where reading beyond the section does no harm. */
static bool has_0_behind(const struct image *image, const Elf_Data *data)
{
	const char *map = image->map, *end = (const char *)data->d_buf + data->d_size;

	return map && end >= map && end < map + image->map_size &&
	       memchr(end, 0, (size_t)(map + image->map_size - end));
}

static int add_end(struct image *image, Elf_Data *data)
{
	void **copies = reallocarray(image->copies, image->count + 1, sizeof(*copies));
	char *copy;

	if (!copies)
		return -ENOMEM;
	image->copies = copies;
	copy = malloc(data->d_size + PADDING);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data->d_buf, data->d_size);
	memset(copy + data->d_size, 0, PADDING);
	/* libelf has its own pointer to the old buffer, by which it frees it. */
	data->d_buf = copy;
	image->copies[image->count++] = copy;
	return 0;
}

static bool ends_with_0(const Elf_Data *data)
{
	return !data || !data->d_buf || !data->d_size ||
	       !((const char *)data->d_buf)[data->d_size - 1];
}

int image__prepare_dwarf(struct image *image)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	int err = image->is_prepared ? 0 : check_size(image);

	if (err || image->is_prepared)
		return err;
	while ((section = next_section(image, section, &header, &name))) {
		Elf_Data *data;

		/* Only libdw can decompress these; image__dwarf_is_sound() checks them. */
		if (name[1] == 'z')
			continue;
		if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
			return -ENOENT;
		data = elf_getdata(section, NULL);
		if (!ends_with_0(data) && !has_0_behind(image, data) && add_end(image, data))
			return -ENOMEM;
	}
	image->is_prepared = true;
	return 0;
}

bool image__dwarf_is_sound(const struct image *image)
{
	static const char *const with_strings[] = { ".zdebug_info", ".zdebug_str",
						    ".zdebug_line_str" };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(image, section, &header, &name)))
		for (size_t i = 0; i < sizeof(with_strings) / sizeof(*with_strings); i++)
			if (!strcmp(name, with_strings[i]) &&
			    !ends_with_0(elf_getdata(section, NULL)))
				return false;
	return true;
}
