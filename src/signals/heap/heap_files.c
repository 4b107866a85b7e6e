/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "signals/heap/heap.h"

/* The names of libraries, up to ".so" or a version. */
static const char *const families[] = { "libc",           "libjemalloc",
					"libtcmalloc",    "libtcmalloc_minimal",
					"libmimalloc",    "ld-musl-x86_64",
					"ld-musl-aarch64" };
#define FAMILIES (sizeof(families) / sizeof(*families))

/*
 * reallocarray() calls realloc(). operator new of the C++ library calls malloc(), so that library
 * is not among the families; those of other allocators may or may not.
 */
static const struct {
	const char *pattern;
	uint64_t cookie;
} functions[] = {
	{ "malloc", HEAP_COOKIE(HEAP_MALLOC, 1, 0) },
	{ "free", HEAP_COOKIE(HEAP_FREE, 1, 0) },
	{ "calloc", HEAP_COOKIE(HEAP_CALLOC, 1, 2) },
	{ "realloc", HEAP_COOKIE(HEAP_REALLOC, 2, 0) },
	{ "posix_memalign", HEAP_COOKIE(HEAP_ALIGNED, 3, 0) },
	{ "aligned_alloc", HEAP_COOKIE(HEAP_ALIGNED, 2, 0) },
	{ "memalign", HEAP_COOKIE(HEAP_ALIGNED, 2, 0) },
	{ "operator new*", HEAP_COOKIE(HEAP_NEW, 1, 0) },
	{ "operator delete*", HEAP_COOKIE(HEAP_DELETE, 1, 0) },
};
#define FUNCTIONS   (sizeof(functions) / sizeof(*functions))
#define C_FUNCTIONS 7

void heap_files__release(struct heap_files *files)
{
	finder__free(files->finder);
	free(files->list);
	*files = (struct heap_files) {};
}

size_t heap_files__skip(const uint8_t *code, size_t size)
{
	static const uint8_t test_rdi[] = { 0x48, 0x85, 0xff }, test_rsi[] = { 0x48, 0x85, 0xf6 };
	/* cmpb $n, offset(%rip) */
	static const uint8_t compare_byte[] = { 0x80, 0x3d };

	if (size >= sizeof(test_rdi) && (!memcmp(code, test_rdi, sizeof(test_rdi)) ||
					 !memcmp(code, test_rsi, sizeof(test_rsi))))
		return sizeof(test_rdi);
	return size >= 7 && !memcmp(code, compare_byte, sizeof(compare_byte)) ? 7 : 0;
}

/* --- one file --------------------------------------------------------------------------------- */

struct taking {
	struct heap_file *file;
	int fd;
	uint64_t cookie;
};

/* The cheapest place at the entry of the function. */
static uint64_t choose_offset(int fd, const struct finder_place *place)
{
	uint8_t code[32];
	ssize_t size;
	size_t skip;

	if (place->cost != INSTRUCTION_STEPPED || fd < 0)
		return place->offset;
	size = pread(fd, code, sizeof(code), (off_t)place->offset);
	skip = size > 0 ? heap_files__skip(code, (size_t)size) : 0;
	if (!skip || instruction__cost(code + skip, (size_t)size - skip) == INSTRUCTION_STEPPED)
		return place->offset;
	return place->offset + skip;
}

static int take_place(void *context, const struct finder_place *place)
{
	struct taking *taking = context;
	struct heap_file *file = taking->file;
	uint64_t offset = choose_offset(taking->fd, place);

	/* A function may have two names. */
	for (size_t i = 0; i < file->count; i++)
		if (file->offsets[i] == offset)
			return 0;
	if (file->count == HEAP_FILE_SITES || place->flags & FINDER_GO)
		return 0;
	file->offsets[file->count] = offset;
	file->cookies[file->count++] = taking->cookie;
	return 0;
}

/* Returns whether the file is new and has an allocator; or -errno. */
static int add_file(struct heap_files *files, const struct uprobe_file *from, size_t most,
		    bool is_mapped)
{
	cleanup(close_p) int fd = -1;
	struct heap_file *file;
	struct taking taking;

	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].device == from->device && files->list[i].inode == from->inode) {
			files->list[i].is_mapped |= is_mapped;
			return 0;
		}
	file = APPEND(&files->list, &files->count);
	if (!file)
		return -ENOMEM;
	file->is_mapped = is_mapped;
	file->device = from->device;
	file->inode = from->inode;
	snprintf(file->path, sizeof(file->path), "%s%s", from->root, from->path);
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	taking = (struct taking) { file, fd, 0 };
	for (size_t i = 0; i < most; i++) {
		const struct finder_question question = { .kind = FINDER_FUNCTIONS,
							  .root = from->root,
							  .path = from->path,
							  .pattern = functions[i].pattern,
							  .most = HEAP_FILE_SITES };
		bool more = false;

		taking.cookie = functions[i].cookie;
		(void)finder__ask(files->finder, &question, take_place, &taking, &more);
	}
	return file->count > 0;
}

/* --- files of a process ----------------------------------------------------------------------- */

/* "libc" of "/lib/libc.so.6" and "/lib/libc-2.31.so"; FAMILIES: none. */
static size_t family_of(const char *path)
{
	const char *base = uprobes__base(path);
	size_t i = 0;

	for (; i < FAMILIES; i++) {
		size_t length = strlen(families[i]);

		if (!strncmp(base, families[i], length) &&
		    (!strncmp(base + length, ".so", 3) ||
		     (base[length] == '-' && base[length + 1] >= '0' && base[length + 1] <= '9')))
			break;
	}
	return i;
}

static int find_finder(struct heap_files *files)
{
	return files->finder ? 0 : finder__new(&files->finder);
}

/* libc has no C++ operators. */
static size_t functions_in(size_t family)
{
	return family ? FUNCTIONS : C_FUNCTIONS;
}

int heap_files__add_process(struct heap_files *files, pid_t pid)
{
	const struct uprobe_spec any = { .kind = UPROBE_PROBE };
	cleanup(free_p) struct uprobe_file *mapped = NULL;
	struct target target = {};
	const struct uprobe_scope scope = { &target, NULL };
	size_t count = 0, known = 0;
	int err = target__add_pid(&target, (uint64_t)pid), added = 0;

	if (!err)
		err = uprobes__files(&any, &scope, &mapped, &count);
	if (!err)
		err = find_finder(files);
	for (size_t i = 0; i < count && !err; i++) {
		size_t family = family_of(mapped[i].path);

		if (family == FAMILIES)
			continue;
		known++;
		err = add_file(files, &mapped[i], functions_in(family), true);
		added += err > 0;
		err = err < 0 ? err : 0;
	}
	/* A program that is linked statically has the functions itself. */
	for (size_t i = 0; i < count && !err && !known; i++) {
		err = add_file(files, &mapped[i], FUNCTIONS, true);
		added += err > 0;
		err = err < 0 ? err : 0;
	}
	return err ? err : added;
}

int heap_files__add_command(struct heap_files *files, const struct uprobe_scope *scope)
{
	int err = find_finder(files), added = 0;

	for (size_t i = 0; i < FAMILIES && !err; i++) {
		cleanup(free_p) struct uprobe_file *found = NULL;
		struct uprobe_spec spec = { .kind = UPROBE_FUNCTION, .name = "malloc" };
		size_t count = 0;

		snprintf(spec.file, sizeof(spec.file), "%s", families[i]);
		if (uprobes__files(&spec, scope, &found, &count))
			continue;
		for (size_t j = 0; j < count && !err; j++) {
			err = add_file(files, &found[j], functions_in(i), false);
			added += err > 0;
			err = err < 0 ? err : 0;
		}
	}
	return err ? err : added;
}
