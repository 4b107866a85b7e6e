/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where allocators are: the libraries that processes map, and their functions. Nothing here logs.
 * For use by one thread at a time.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "core/uprobes.h"

/* Functions of one allocator: its family has fewer, but operators have several forms. */
#define HEAP_FILE_SITES 32

struct heap_file {
	char path[PATH_MAX + 32]; /* to attach to */
	uint64_t device, inode;
	bool is_mapped; /* by a process */
	size_t count;   /* 0: it has no allocator */
	uint64_t offsets[HEAP_FILE_SITES];
	uint64_t cookies[HEAP_FILE_SITES]; /* HEAP_COOKIE() */
};

/* All zeroes: empty. */
struct heap_files {
	struct finder *finder;
	struct heap_file *list;
	size_t count;
};

/* Adds what a process maps. Returns how many files with an allocator are new, or -errno. */
int heap_files__add_process(struct heap_files *files, pid_t pid);
/* Adds what a command may map that does not run yet. */
int heap_files__add_command(struct heap_files *files, const struct uprobe_scope *scope);
void heap_files__release(struct heap_files *files);

/*
 * How many bytes of code at the entry of a function only compare: a probe behind them sees the
 * same registers and stack, and may be cheaper (symbol/instruction.h).
 */
size_t heap_files__skip(const uint8_t *code, size_t size);
