/*
 * One ELF file, opened to be read: its symbols, and what it says about its debug information.
 *
 * It is read, never mapped: whoever may write to a mapped file can kill us by cutting it short.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/symtab.h"

struct image {
	Elf *elf;
	int fd;        /* -1, or closed with the image */
	char *bytes;   /* NULL, or freed with the image */
	void **copies; /* of sections, made for libdw */
	size_t count;  /* of `copies` */
};

#define BUILD_ID_MOST_BYTES 64
#define BUILD_ID_TEXT_BYTES (2 * BUILD_ID_MOST_BYTES + 1)

/* `fd` stays the caller's, and open. -ENOEXEC if it is no ELF file,
 * -EFBIG if it is one that is not worth its memory. */
int image__borrow(int fd, struct image **ret);
/* As image__borrow(), but `fd` is closed in any case. */
int image__open(int fd, struct image **ret);
/* `bytes` are freed in any case. */
int image__from_bytes(char *bytes, size_t size, struct image **ret);
/* The code that the kernel maps into every process, from our own memory. -ENOENT. */
int image__of_vdso(struct image **ret);
void image__close(struct image *image);

/* Whether its code has a place. It has none in relocatable files, which nobody runs. */
bool image__has_addresses(const struct image *image);

/* Whether that much memory could be had now. libelf and libdw do not tell when they had none. */
bool image__has_room(uint64_t bytes);

bool image__has_table(const struct image *image, uint32_t section_type);

/* Adds the functions of `.symtab` (SHT_SYMTAB) or `.dynsym` (SHT_DYNSYM). -ENOENT if there is no
 * such table, -EFBIG if it has more than any program, -ENOMEM. Names live as long as the image. */
int image__add_symbols(const struct image *image, uint32_t section_type, struct symtab *tab);

/* Likewise its variables. */
int image__add_variables(const struct image *image, uint32_t section_type, struct symtab *tab);

/*
 * Makes its DWARF safe to be read by libdw, which comes next. -ENOENT if there is none, -EFBIG if
 * it is larger than any program's, -ENOMEM.
 */
int image__prepare_dwarf(struct image *image);
/* What can be checked only after libdw has unpacked the sections. */
bool image__dwarf_is_sound(const struct image *image);

/* The bytes of a section, NULL if there is none or it is empty. */
const unsigned char *image__section(const struct image *image, const char *name, size_t *ret_size);

/* The image in `.gnu_debugdata`: a symbol table, packed (mini-debuginfo). -ENOENT. */
int image__open_mini(const struct image *image, struct image **ret);

/* As lower-case hex. -ENOENT. */
int build_id__to_hex(const void *bytes, ssize_t size, char ret[static BUILD_ID_TEXT_BYTES]);
int image__build_id(const struct image *image, char ret[static BUILD_ID_TEXT_BYTES]);
