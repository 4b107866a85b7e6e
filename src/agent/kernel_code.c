/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/kernel_code.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"

#define KERNEL_NOTES "/sys/kernel/notes"
#define MODULE_NOTES "/sys/module/%.*s/notes/.note.gnu.build-id"
#define NOTES_BYTES  4096
#define SECOND_NS    UINT64_C(1000000000)
/* An address in no part is looked for again; modules that were known may be gone. */
#define AGAIN_NS SECOND_NS
#define OLD_NS   (10 * SECOND_NS)

struct kernel_code {
	struct kernel_code_part *parts; /* the first is the kernel itself, if it is visible */
	size_t count;
	size_t own; /* parts that are no modules: 0 or 1 */
	uint64_t read_ns;
};

DEFINE_CLEANUP(struct kernel_code *, kernel_code__free)

/* --- parsing ---------------------------------------------------------------------------------- */

int kernel_code__parse_symbols(FILE *file, struct kernel_code_part *ret)
{
	uint64_t text = 0, stext = 0, etext = 0, begin;
	char line[512], name[128], type;

	while (!etext && fgets(line, sizeof(line), file)) {
		unsigned long long address;

		if (sscanf(line, "%llx %c %127s", &address, &type, name) != 3)
			continue;
		if (!strcmp(name, "_text"))
			text = address;
		else if (!strcmp(name, "_stext"))
			stext = address;
		else if (!strcmp(name, "_etext"))
			etext = address;
	}
	begin = text ? text : stext;
	if (!begin || etext <= begin)
		return -ENOENT;
	*ret = (struct kernel_code_part) { .begin = begin, .end = etext };
	/* The symbolizer (fleet/symbolizer.c) knows these names. */
	snprintf(ret->name, sizeof(ret->name), "%s", text ? "vmlinux" : "vmlinux (from _stext)");
	return 0;
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

int kernel_code__parse_notes(const void *bytes, size_t size, char ret[static CODE_BUILD_ID_BYTES])
{
	const uint8_t *at = bytes, *end = at + size;
	Elf64_Nhdr note;

	while ((size_t)(end - at) >= sizeof(note)) {
		size_t left = (size_t)(end - at) - sizeof(note);
		const uint8_t *name = at + sizeof(note), *value;

		memcpy(&note, at, sizeof(note));
		if (note.n_namesz > left || padded(note.n_namesz) > left ||
		    note.n_descsz > left - padded(note.n_namesz))
			return -ENOENT;
		value = name + padded(note.n_namesz);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && note.n_descsz &&
		    2 * (size_t)note.n_descsz < CODE_BUILD_ID_BYTES) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(ret + 2 * i, 3, "%02x", value[i]);
			return 0;
		}
		if (padded(note.n_descsz) >= left - padded(note.n_namesz))
			return -ENOENT;
		at = value + padded(note.n_descsz);
	}
	return -ENOENT;
}

int kernel_code__parse_module(const char *line, struct kernel_code_part *ret)
{
	struct kernel_code_part part = {};
	unsigned long long size, base;
	char name[64];

	/* "ext4 1052672 2 - Live 0xffffffffc0400000 (E)" */
	if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &base) != 3 || !base || !size)
		return -ENOENT;
	part.begin = base;
	part.end = base + size;
	snprintf(part.name, sizeof(part.name), "%s.ko", name);
	*ret = part;
	return 0;
}

static int compare(const void *one, const void *other)
{
	const struct kernel_code_part *a = one, *b = other;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

void kernel_code__separate(struct kernel_code_part *parts, size_t count)
{
	if (!count)
		return;
	qsort(parts, count, sizeof(*parts), compare);
	for (size_t i = 0; i + 1 < count; i++)
		if (parts[i].end > parts[i + 1].begin)
			parts[i].end = parts[i + 1].begin;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_build_id(const char *path, char ret[static CODE_BUILD_ID_BYTES])
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	char bytes[NOTES_BYTES];
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (kernel_code__parse_notes(bytes, size, ret))
		ret[0] = '\0';
}

static int read_kernel(struct kernel_code *code)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/kallsyms", "re");
	struct kernel_code_part part, *kept;

	if (!file || kernel_code__parse_symbols(file, &part))
		return 0;
	read_build_id(KERNEL_NOTES, part.build_id);
	kept = APPEND(&code->parts, &code->count);
	if (!kept)
		return -ENOMEM;
	*kept = part;
	code->own = 1;
	return 0;
}

static int read_modules(struct kernel_code *code)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/modules", "re");
	struct kernel_code_part part, *kept;
	char line[4096], path[PATH_MAX];

	code->count = code->own;
	code->read_ns = clock__now_ns();
	while (file && fgets(line, sizeof(line), file)) {
		if (kernel_code__parse_module(line, &part))
			continue;
		snprintf(path, sizeof(path), MODULE_NOTES, (int)strcspn(line, " "), line);
		read_build_id(path, part.build_id);
		kept = APPEND(&code->parts, &code->count);
		if (!kept)
			return -ENOMEM;
		*kept = part;
	}
	kernel_code__separate(code->parts + code->own, code->count - code->own);
	return 0;
}

int kernel_code__new(struct kernel_code **ret)
{
	cleanup(kernel_code__free_p) struct kernel_code *code = calloc(1, sizeof(*code));
	int err = code ? read_kernel(code) : -ENOMEM;

	if (!err)
		err = read_modules(code);
	if (!err)
		*ret = TAKE(code);
	return err;
}

void kernel_code__free(struct kernel_code *code)
{
	if (!code)
		return;
	free(code->parts);
	free(code);
}

static const struct kernel_code_part *find(const struct kernel_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->count; i++)
		if (address >= code->parts[i].begin && address < code->parts[i].end)
			return &code->parts[i];
	return NULL;
}

const struct kernel_code_part *kernel_code__find(struct kernel_code *code, uint64_t address)
{
	const struct kernel_code_part *found = find(code, address);
	uint64_t age_ns = clock__now_ns() - code->read_ns;

	if ((found && found < code->parts + code->own) || age_ns < (found ? OLD_NS : AGAIN_NS))
		return found;
	/* Without memory, some modules are not known until the next call. */
	(void)read_modules(code);
	return find(code, address);
}
