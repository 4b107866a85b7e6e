/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/headers.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "bpf/arch/arch.h"

#define MOST_SEGMENTS   256  /* of all kinds; 15 is usual */
#define MOST_NOTE_BYTES 4096 /* the part of a note segment that is read */

/* The kernel maps whole pages, so a mapping begins at the page that contains a segment's start. */
static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* 0 only if all bytes could be read. */
static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
	ssize_t got;

	if (offset > INT64_MAX - size)
		return -ENOEXEC;
	got = pread(fd, to, size, (off_t)offset);
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -ENOEXEC;
}

static bool is_ours(const Elf64_Ehdr *head)
{
	return !memcmp(head->e_ident, ELFMAG, SELFMAG) && head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_machine == ARCH_ELF_MACHINE &&
	       (head->e_type == ET_EXEC || head->e_type == ET_DYN) &&
	       head->e_phentsize == sizeof(Elf64_Phdr) && head->e_phnum &&
	       head->e_phnum <= MOST_SEGMENTS;
}

static void add_segment(struct headers *headers, const Elf64_Phdr *phdr)
{
	uint64_t end;

	/* A segment whose offset and address differ within a page cannot be mapped. */
	if ((phdr->p_offset ^ phdr->p_vaddr) & (page_bytes() - 1) ||
	    __builtin_add_overflow(phdr->p_offset, phdr->p_filesz, &end) || end > INT64_MAX ||
	    phdr->p_vaddr > INT64_MAX || headers->segment_count == HEADERS_MOST_SEGMENTS)
		return;
	headers->segments[headers->segment_count++] = (struct segment) {
		.offset = phdr->p_offset,
		.size = phdr->p_filesz,
		.address = phdr->p_vaddr,
	};
}

/* Extends [begin, end) by a segment, including the part without bytes in the file (.bss). */
static void span(struct headers *headers, const Elf64_Phdr *phdr)
{
	uint64_t end;

	if (__builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end) || end > INT64_MAX)
		return;
	if (!headers->end || phdr->p_vaddr < headers->begin)
		headers->begin = phdr->p_vaddr;
	if (end > headers->end)
		headers->end = end;
}

static void find_build_id(struct headers *headers, const uint8_t *notes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, words, next;

		memcpy(&note, notes + at, sizeof(note));
		if (note.n_namesz > size || note.n_descsz > size)
			return;
		name = at + sizeof(note);
		words = name + (note.n_namesz + 3U) / 4 * 4;
		next = words + (note.n_descsz + 3U) / 4 * 4;
		/* The last note may lack its padding. */
		if (words + note.n_descsz > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note.n_descsz &&
		    note.n_descsz <= HEADERS_BUILD_ID) {
			memcpy(headers->build_id, notes + words, note.n_descsz);
			headers->build_id_bytes = note.n_descsz;
			return;
		}
		if (next > size)
			return;
		at = next;
	}
}

static void read_notes(int fd, const Elf64_Phdr *phdr, struct headers *headers)
{
	uint8_t notes[MOST_NOTE_BYTES];
	size_t size = phdr->p_filesz < sizeof(notes) ? phdr->p_filesz : sizeof(notes);

	/* If the notes cannot be read, we go on without a build-id. */
	if (!read_at(fd, notes, size, phdr->p_offset))
		find_build_id(headers, notes, size);
}

int headers__read(int fd, struct headers *ret)
{
	struct headers headers = { 0 };
	Elf64_Phdr phdrs[MOST_SEGMENTS];
	Elf64_Ehdr head;
	int err;

	err = read_at(fd, &head, sizeof(head), 0);
	if (err)
		return err;
	if (!is_ours(&head))
		return -ENOEXEC;
	err = read_at(fd, phdrs, head.e_phnum * sizeof(*phdrs), head.e_phoff);
	if (err)
		return err;
	for (int i = 0; i < head.e_phnum; i++) {
		if (phdrs[i].p_type == PT_LOAD)
			span(&headers, &phdrs[i]);
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_flags & PF_X)
			add_segment(&headers, &phdrs[i]);
		else if (phdrs[i].p_type == PT_NOTE && !headers.build_id_bytes)
			read_notes(fd, &phdrs[i], &headers);
	}
	*ret = headers;
	return 0;
}

int headers__address(const struct headers *headers, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < headers->segment_count; i++) {
		const struct segment *segment = &headers->segments[i];
		uint64_t first = segment->offset & -page_bytes();

		if (offset < first || offset >= segment->offset + segment->size)
			continue;
		*ret = (segment->address & -page_bytes()) + (offset - first);
		return 0;
	}
	return -ENOENT;
}
