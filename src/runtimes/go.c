/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go: which goroutine a thread runs (bpf/go_walk.h), and what all others do (go_fibers.c). Frames
 * of Go are on the native stack and have names in the program, so there are none to name here.
 *
 * Go has no stable layout, and does not describe it to others, but every program says which version
 * made it. A version without a row in go_layout.c is refused.
 */
#include "runtimes/go.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch/arch.h"

/* cmd/link: the header of .go.buildinfo */
#define INFO_MAGIC       "\xff Go buildinf:"
#define INFO_MAGIC_BYTES 14
#define INFO_FLAGS       15
#define INFO_IS_INLINE   2
#define INFO_POINTER     16
#define INFO_BYTES       32
/* Without a TLS segment, g is just below the thread pointer. */
#define TLS_OF_STATIC (-8)
/* Where to look for goroutine 1: it is the first that is made after those of the runtime. */
#define MOST_FIRST 64

enum wanted { ALLGS, SEMTABLE, REASONS, MAIN, TLSG, SYMBOLS };

static const struct wanted_symbol all_symbols[SYMBOLS] = {
	[ALLGS] = { .name = "runtime.allgs" },
	[SEMTABLE] = { .name = "runtime.semtable" },
	[REASONS] = { .name = "runtime.waitReasonStrings" },
	[MAIN] = { .name = "runtime.main" },
	[TLSG] = { .name = "runtime.tlsg" },
};

static const unsigned char *build_info(const struct runtime_file *file, size_t *ret_size)
{
	const unsigned char *info = image__section(file->image, ".go.buildinfo", ret_size);

	if (!info || *ret_size < INFO_BYTES || memcmp(info, INFO_MAGIC, INFO_MAGIC_BYTES) != 0)
		return NULL;
	return info;
}

static bool is_in(const struct runtime_file *file)
{
	size_t size = 0;

	return build_info(file, &size) != NULL;
}

/* --- the version ------------------------------------------------------------------------------ */

/* Up to Go 1.17 there is a pointer to a string, which has a pointer and a length itself. */
static void read_version(struct subject *subject, const unsigned char *info, size_t size)
{
	char *to = subject->version;
	size_t length;

	if (info[INFO_FLAGS] & INFO_IS_INLINE) {
		length = size > INFO_BYTES ? info[INFO_BYTES] : 0;
		if (length >= RUNTIME_VERSION_BYTES)
			length = RUNTIME_VERSION_BYTES - 1;
		if (length > size - INFO_BYTES - 1)
			length = 0;
		memcpy(to, info + INFO_BYTES + 1, length);
	} else {
		uint64_t at, text[2];

		memcpy(&at, info + INFO_POINTER, sizeof(at));
		if (runtime_file__read(&subject->file, at, text, sizeof(text)))
			return;
		length = text[1] < RUNTIME_VERSION_BYTES ? text[1] : RUNTIME_VERSION_BYTES - 1;
		if (runtime_file__read(&subject->file, text[0], to, length))
			length = 0;
	}
	to[length] = '\0';
	for (char *c = to; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* "go1.22.12" → 22; "devel go1.28-…" too. 0: none of these. */
static unsigned minor_of(const char *version)
{
	const char *at = strstr(version, "go1.");

	return at ? (unsigned)strtoul(at + strlen("go1."), NULL, 10) : 0;
}

/* The version as users write it: "1.22.12". */
static void shorten_version(char *version)
{
	if (!strncmp(version, "go", 2))
		memmove(version, version + 2, strlen(version + 2) + 1);
	version[strcspn(version, " ")] = '\0';
}

/* --- where things are ------------------------------------------------------------------------- */

/*
 * Where a thread keeps the pointer to its g. With a TLS segment, which an external linker makes,
 * that is a variable in it; the block of the program itself ends at the thread pointer.
 */
static int64_t find_tls(const struct runtime_file *file, const struct wanted_symbol *tlsg,
			bool has_symbols)
{
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(file->image->elf, &count))
		return 0;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		uint64_t size;

		if (!gelf_getphdr(file->image->elf, (int)i, &header) || header.p_type != PT_TLS)
			continue;
		if (!header.p_align || header.p_align > 4096 || header.p_memsz > 1 << 20)
			return 0;
		/* Which one of several variables it is, only the symbol tells. */
		if (!has_symbols && header.p_memsz != sizeof(uint64_t))
			return 0;
		size = (header.p_memsz + header.p_align - 1) / header.p_align * header.p_align;
		return tlsg->address < size ? (int64_t)tlsg->address - (int64_t)size : 0;
	}
	return TLS_OF_STATIC;
}

/*
 * Whether the row is right: goroutine 1 begins in runtime.main. -EAGAIN: there is no goroutine yet.
 * If goroutine 1 has ended, its g can have been used again, so only what it says is judged.
 */
static int check(struct subject *subject, struct go *go)
{
	uint64_t slice[3], gs[MOST_FIRST], id = 0, start = 0;
	uint32_t status;
	size_t count;

	if (remote__read(subject->memory, go->allgs, slice, sizeof(slice)) || !slice[1])
		return -EAGAIN;
	count = slice[1] < MOST_FIRST ? slice[1] : MOST_FIRST;
	if (remote__read(subject->memory, slice[0], gs, count * sizeof(*gs)))
		return -EAGAIN;
	for (size_t i = 0; i < count; i++) {
		if (remote__read_u64(subject->memory, gs[i] + go->layout->id, &id) ||
		    remote__read_u64(subject->memory, gs[i] + go->layout->start, &start) ||
		    remote__read_u32(subject->memory, gs[i] + go->layout->status, &status))
			return -ENOTSUP;
		if (id == 1)
			return !start ? -EAGAIN : start == go->main ? 0 : -ENOTSUP;
	}
	return slice[1] < MOST_FIRST ? -EAGAIN : -ENOTSUP;
}

static int find_all(struct subject *subject, struct go *go)
{
	struct wanted_symbol symbols[SYMBOLS];
	uint64_t bias = subject->file.bias;
	bool has_symbols;
	int found;

	memcpy(symbols, all_symbols, sizeof(symbols));
	found = runtime_file__find(&subject->file, symbols, SYMBOLS);
	if (found < 0)
		return found;
	has_symbols = symbols[ALLGS].address && symbols[MAIN].address;
	go->tls = find_tls(&subject->file, &symbols[TLSG], has_symbols);
	if (!has_symbols)
		return go_stripped__find(subject, go);
	go->allgs = symbols[ALLGS].address + bias;
	go->main = symbols[MAIN].address + bias;
	go->semtable = symbols[SEMTABLE].address ? symbols[SEMTABLE].address + bias : 0;
	go->reasons = symbols[REASONS].address ? symbols[REASONS].address + bias : 0;
	go->reason_count = symbols[REASONS].size / 16;
	return 0;
}

static void close_go(struct subject *subject)
{
	struct go *go = subject->own;

	if (!go)
		return;
	free(go->raw);
	free(go->list);
	free(go->window);
	free(go);
	subject->own = NULL;
}

static int open_go(struct subject *subject)
{
	struct go *go = calloc(1, sizeof(*go));
	const unsigned char *info;
	unsigned minor;
	size_t size = 0;
	int err;

	subject->own = go;
	if (!go)
		return -ENOMEM;
	info = build_info(&subject->file, &size);
	if (!info)
		return -ENOTSUP;
	read_version(subject, info, size);
	minor = minor_of(subject->version);
	go->layout = go_layout__find(minor);
	go->by_registers = minor >= ARCH_GO_BY_REGISTERS;
	shorten_version(subject->version);
	if (!go->layout)
		return -ENOTSUP;
	err = find_all(subject, go);
	if (err == -ENOENT)
		return -ENOTSUP;
	if (!err)
		err = check(subject, go);
	if (err)
		return err;
	subject->runtime.go = (struct runtime_go) {
		.g = (int32_t)go->tls,
		.g_m = GO_G_M,
		.m_curg = go->layout->curg,
		.g_id = go->layout->id,
	};
	return 0;
}

static int name(struct subject *subject, const struct runtime_frame *frame,
		struct runtime_names *ret)
{
	return -ESTALE;
}

const struct language language_go = {
	.kind = RUNTIME_GO,
	.is_in = is_in,
	.open = open_go,
	.name = name,
	.read_fibers = go_fibers__read,
	.close = close_go,
};
