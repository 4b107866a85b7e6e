/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ELF file, opened for reading: its symbols, and what it says about its debug information.
 *
 * The file itself is never mapped: whoever may write to a mapped file could truncate it and kill us
 * by SIGBUS, or change it after it was checked. A small file is read into memory. Of a large one, a
 * private copy is mapped (private_copy.h), so that it takes memory only where it is being read.
 */
#pragma once

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/symtab.h"

struct image {
	Elf *elf;
	int fd;      /* -1: none */
	bool is_own; /* `fd` is closed with the image */
	char *bytes; /* NULL: none; freed with the image */
	void *map;   /* the private copy, or NULL; unmapped with the image */
	size_t map_size;
	bool is_prepared; /* by image__prepare_dwarf() */
	void **copies;    /* copies of sections for libdw, with a 0 appended: see sections.c */
	size_t count;     /* of `copies` */
};

#define BUILD_ID_MOST_BYTES 64
#define BUILD_ID_TEXT_BYTES (2 * BUILD_ID_MOST_BYTES + 1)

/*
 * `fd` still belongs to the caller and must stay open. -ENOEXEC if it is not an ELF file, -EFBIG if
 * its tables are too large.
 */
int image__borrow(int fd, struct image **ret);
/* Like image__borrow(), but `fd` is always closed, also on error. */
int image__open(int fd, struct image **ret);
/* `bytes` is always freed, also on error. */
int image__from_bytes(char *bytes, size_t size, struct image **ret);
/* The vDSO, from our own memory. -ENOENT. */
int image__of_vdso(struct image **ret);
/*
 * 0: there is none. Only /proc tells it, and only once: a process that gives up its privileges
 * calls this before.
 */
size_t image__size_of_vdso(void);
void image__close(struct image *image);

/*
 * Reads a large file from a private copy from now on. Call it before anything else is read. Without
 * `with_dwarf`, the copy has no debug information. 0, even if there is no copy: then the file is
 * read into memory, if there is enough. -ENOMEM.
 */
int image__use_copy(struct image *image, bool with_dwarf);
/* The size of the private copies of all open images. */
uint64_t image__copied_bytes(void);

/* Whether its code has addresses. Relocatable files have none, and cannot be run. */
bool image__has_addresses(const struct image *image);

/* Whether this much memory is available now. libelf and libdw do not report a lack of memory. */
bool image__has_room(uint64_t bytes);

/* The pages of a private copy that were read no longer count as our memory. They can be read again.
 */
void image__drop_pages(const struct image *image);

bool image__has_table(const struct image *image, uint32_t section_type);

/*
 * Adds the functions of `.symtab` (SHT_SYMTAB) or `.dynsym` (SHT_DYNSYM). -ENOENT if there is no
 * such table, -EFBIG if it is larger than that of any real program, -ENOMEM. The names are valid as
 * long as the image.
 */
int image__add_symbols(const struct image *image, uint32_t section_type, struct symtab *tab);

/* The same for variables. */
int image__add_variables(const struct image *image, uint32_t section_type, struct symtab *tab);
/* The value of a symbol in `.symtab`, whatever its type is. -ENOENT, -EFBIG, -ENOMEM. */
int image__find_symbol(const struct image *image, const char *name, uint64_t *ret);

/* Another result than 0 ends it. `names` is the number of the section with the names. */
typedef int (*image_visit_fn)(void *context, const struct image *image, const GElf_Sym *symbol,
			      size_t names);
/* Calls `visit` for each symbol. -ENOENT if there is no such table, -EFBIG, -ENOMEM. */
int image__visit_symbols(const struct image *image, uint32_t section_type, image_visit_fn visit,
			 void *context);

/*
 * Makes the DWARF safe for libdw. Call it before libdw opens the image. -ENOENT if there is none,
 * -EFBIG if it is larger than that of any real program, -ENOMEM.
 */
int image__prepare_dwarf(struct image *image);
/* The checks that are possible only after libdw has decompressed the sections. */
bool image__dwarf_is_sound(const struct image *image);

/* The bytes of a section; NULL if it does not exist or is empty. */
const unsigned char *image__section(const struct image *image, const char *name, size_t *ret_size);

/* The image in `.gnu_debugdata`: a compressed symbol table (mini-debuginfo). -ENOENT. */
int image__open_mini(const struct image *image, struct image **ret);

/* As lower-case hex. -ENOENT. */
int build_id__to_hex(const void *bytes, ssize_t size, char ret[static BUILD_ID_TEXT_BYTES]);
int image__build_id(const struct image *image, char ret[static BUILD_ID_TEXT_BYTES]);
