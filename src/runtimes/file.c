/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the languages ask of a file, and the names that they answer with. */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtimes/language.h"

struct finding {
	struct wanted_symbol *wanted;
	size_t count;
	int found;
};

static int look(void *context, const struct image *image, const GElf_Sym *symbol, size_t names)
{
	struct finding *finding = context;
	const char *name;

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
		return 0;
	name = elf_strptr(image->elf, names, symbol->st_name);
	for (size_t i = 0; name && i < finding->count; i++) {
		struct wanted_symbol *wanted = &finding->wanted[i];

		if (wanted->address || strcmp(wanted->name, name))
			continue;
		wanted->address = symbol->st_value;
		wanted->size = symbol->st_size;
		finding->found++;
	}
	/* All of them are known: the rest need not be read. */
	return finding->found == (int)finding->count;
}

int runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted, size_t count)
{
	struct finding finding = { .wanted = wanted, .count = count };
	int err = image__visit_symbols(file->image, SHT_DYNSYM, look, &finding);

	if (err != -ENOMEM && finding.found < (int)count)
		err = image__visit_symbols(file->image, SHT_SYMTAB, look, &finding);
	return err == -ENOMEM ? err : finding.found;
}

int runtime_file__read(const struct runtime_file *file, uint64_t address, void *to, size_t size)
{
	size_t count = 0;
	GElf_Phdr header;

	if (file->image->fd < 0 || elf_getphdrnum(file->image->elf, &count))
		return -EFAULT;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		uint64_t offset;

		if (!gelf_getphdr(file->image->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		offset = address - header.p_vaddr;
		if (address < header.p_vaddr || offset >= header.p_filesz ||
		    size > header.p_filesz - offset || header.p_offset > INT64_MAX - offset)
			continue;
		return pread(file->image->fd, to, size, (off_t)(header.p_offset + offset)) ==
				       (ssize_t)size
			       ? 0
			       : -EFAULT;
	}
	return -EFAULT;
}

void runtime_names__add(struct runtime_names *names, const char *function, const char *file,
			int line, int first_line)
{
	struct runtime_name *name;

	if (names->count >= RUNTIME_MOST_INLINE)
		return;
	name = &names->frames[names->count++];
	snprintf(name->function, sizeof(name->function), "%s", function);
	snprintf(name->file, sizeof(name->file), "%s", file ? file : "");
	name->line = line > 0 ? line : 0;
	name->first_line = first_line > 0 ? first_line : 0;
}
