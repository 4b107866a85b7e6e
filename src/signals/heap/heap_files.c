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

/* Moves a place to a cheaper one at the entry of the function. Returns whether it is stepped. */
static bool move_place(int fd, const struct finder_place *place, uint64_t *offset)
{
	uint8_t code[32];
	ssize_t size;
	size_t skip;

	if (place->cost != INSTRUCTION_STEPPED || fd < 0)
		return place->cost == INSTRUCTION_STEPPED;
	size = pread(fd, code, sizeof(code), (off_t)place->offset);
	skip = size > 0 ? heap_files__skip(code, (size_t)size) : 0;
	if (!skip || instruction__cost(code + skip, (size_t)size - skip) == INSTRUCTION_STEPPED)
		return true;
	*offset += skip;
	return false;
}

static int take_place(void *context, const struct finder_place *place)
{
	struct taking *taking = context;
	struct heap_file *file = taking->file;
	uint64_t offset = place->offset;
	bool is_stepped = move_place(taking->fd, place, &offset);

	/* A function may have two names. */
	for (size_t i = 0; i < file->count; i++)
		if (file->offsets[i] == offset)
			return 0;
	if (file->count == HEAP_FILE_SITES || place->flags & FINDER_GO)
		return 0;
	file->offsets[file->count] = offset;
	file->cookies[file->count++] = taking->cookie | (is_stepped ? HEAP_COOKIE_STEPPED : 0);
	return 0;
}

/* What is asked of a file. */
struct asked {
	size_t most;     /* of functions[] */
	bool is_mapped;  /* by a process */
	bool is_program; /* that also has a C library */
};

static void find_functions(struct heap_files *files, const struct uprobe_file *from,
			   const struct asked *asked, struct heap_file *file)
{
	cleanup(close_p) int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct taking taking = { file, fd, 0 };

	/* Few programs have an allocator of their own, and malloc() is the first. */
	for (size_t i = 0; i < asked->most && (!i || file->count || !asked->is_program); i++) {
		const struct finder_question question = { .kind = FINDER_FUNCTIONS,
							  .root = from->root,
							  .path = from->path,
							  .pattern = functions[i].pattern,
							  .most = HEAP_FILE_SITES };
		bool more = false;

		taking.cookie = functions[i].cookie | (asked->is_program ? HEAP_COOKIE_WRAPS : 0);
		(void)finder__ask(files->finder, &question, take_place, &taking, &more);
	}
}

/* Returns whether the file is new and has an allocator; or -errno. */
static int add_file(struct heap_files *files, const struct uprobe_file *from,
		    const struct asked *asked)
{
	struct heap_file *file;

	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].device == from->device && files->list[i].inode == from->inode) {
			files->list[i].is_mapped |= asked->is_mapped;
			return 0;
		}
	file = APPEND(&files->list, &files->count);
	if (!file)
		return -ENOMEM;
	file->is_mapped = asked->is_mapped;
	file->device = from->device;
	file->inode = from->inode;
	snprintf(file->path, sizeof(file->path), "%s%s", from->root, from->path);
	find_functions(files, from, asked, file);
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

static bool is_program(pid_t pid, const char *path)
{
	char link[64], target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = 0;
	return !strcmp(target, path);
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
	for (size_t i = 0; i < count; i++)
		known += family_of(mapped[i].path) < FAMILIES;
	/* A program that is linked statically has the functions itself; others may have their own.
	 */
	for (size_t i = 0; i < count && !err; i++) {
		size_t family = family_of(mapped[i].path);
		/* libc, the first, has no C++ operators. */
		const struct asked asked = { family ? FUNCTIONS : C_FUNCTIONS, true,
					     known && family == FAMILIES };

		if (asked.is_program && !is_program(pid, mapped[i].path))
			continue;
		err = add_file(files, &mapped[i], &asked);
		added += err > 0;
		err = err < 0 ? err : 0;
	}
	return err ? err : added;
}

/* What a specification means, if that exists. Returns how many have an allocator, or -errno. */
static int add_found(struct heap_files *files, const struct uprobe_scope *scope, const char *name,
		     const struct asked *asked)
{
	cleanup(free_p) struct uprobe_file *found = NULL;
	struct uprobe_spec spec = { .kind = UPROBE_FUNCTION, .name = "malloc" };
	size_t count = 0;
	int err = 0, added = 0;

	snprintf(spec.file, sizeof(spec.file), "%s", name);
	if (uprobes__files(&spec, scope, &found, &count))
		return 0;
	for (size_t i = 0; i < count && err >= 0; i++) {
		err = add_file(files, &found[i], asked);
		added += err > 0;
	}
	return err < 0 ? err : added;
}

int heap_files__add_command(struct heap_files *files, const struct uprobe_scope *scope)
{
	const struct asked program = { .most = FUNCTIONS, .is_program = true };
	int err = find_finder(files), added;

	added = err ? err : add_found(files, scope, "", &program);
	for (size_t i = 0; i < FAMILIES && added >= 0; i++) {
		const struct asked asked = { .most = i ? FUNCTIONS : C_FUNCTIONS };

		err = add_found(files, scope, families[i], &asked);
		added = err < 0 ? err : added + err;
	}
	return added;
}
