/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between gapless and one runtime. All functions run in a helper process without
 * privileges (framer.c): a file or a process can mislead them, but must not make them crash, loop,
 * or allocate without a limit. None of them logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime.h"
#include "bpf/stack.h"
#include "runtimes/remote.h"
#include "runtimes/runtimes.h"
#include "symbol/image.h"

/* A file with a runtime in it. */
struct runtime_file {
	struct image *image;
	const char *path; /* for the version in its name; never opened */
	uint64_t bias;    /* what to add to an address of the file to get one of the process */
	enum runtime_kind kind;
};

#define RUNTIME_VERSION_BYTES 32

/* A process with a runtime. */
struct subject {
	uint32_t pid;
	struct remote *memory;
	int maps_fd; /* its /proc/PID/maps, or -1; read it with pread() */
	struct runtime_file file;
	/* What open() finds out: */
	struct runtime runtime; /* kind, areas, offsets */
	char version[RUNTIME_VERSION_BYTES];
	void *own; /* belongs to the language; close() frees it */
};

#define RUNTIME_MOST_NAME   512
#define RUNTIME_MOST_INLINE 32

/* A function at a frame, innermost first if some are inlined. UTF-8, as the program has it. */
struct runtime_name {
	char function[RUNTIME_MOST_NAME];
	char file[RUNTIME_MOST_NAME]; /* "": unknown */
	int line;                     /* 0: unknown */
	int first_line;               /* where the function begins; 0: unknown */
};

struct runtime_names {
	int count; /* 0: the frame has no name */
	struct runtime_name frames[RUNTIME_MOST_INLINE];
};

struct language {
	enum runtime_kind kind;
	/*
	 * Parts of the names of libraries that may have the runtime, ends with NULL. Programs are
	 * looked at whatever their name is.
	 */
	const char *const *hints;
	/* Whether the file has the runtime; reads nothing but the file. */
	bool (*is_in)(const struct runtime_file *file);
	/*
	 * Fills in what `subject` says. -EAGAIN: the runtime has not started yet, ask again;
	 * -ENOTSUP: this version is not known, and subject->version says which one it is.
	 */
	int (*open)(struct subject *subject);
	/*
	 * Adds to subject->runtime what may be known only some time after open(). -EAGAIN: ask
	 * again, even if some has been added. May be NULL.
	 */
	int (*refine)(struct subject *subject);
	/* -ESTALE: the object is no longer what it was when the frame was taken. */
	int (*name)(struct subject *subject, const struct runtime_frame *frame,
		    struct runtime_names *ret);
	/*
	 * Reads what the runtime's own threads do now; `ret` is all 0 before. May be NULL: it has
	 * none.
	 */
	int (*read_fibers)(struct subject *subject, struct runtime_fibers *ret);
	/*
	 * Reads how much each thread has allocated; `ret` is all 0 before. -ENOTSUP: this version
	 * does not tell. May be NULL.
	 */
	int (*read_allocated)(struct subject *subject, struct runtime_allocated *ret);
	/* May be NULL. Also called after an open() that failed. */
	void (*close)(struct subject *subject);
};

extern const struct language language_python;
extern const struct language language_hotspot;
extern const struct language language_go;
extern const struct language language_v8;
extern const struct language language_ruby;
extern const struct language language_php;

/* All of them, by enum runtime_kind; NULL: none. */
const struct language *language__of(enum runtime_kind kind);

/* Adds a function. The texts are cut to the space there is. */
void runtime_names__add(struct runtime_names *names, const char *function, const char *file,
			int line, int first_line);

/* What languages share: the addresses of symbols in `.dynsym`, then `.symtab`. */
struct wanted_symbol {
	const char *name;
	uint64_t address; /* 0: not found */
	uint64_t size;
};
/* One pass over each table. The number of symbols found, or -ENOMEM. */
int runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted, size_t count);
/*
 * The part of a function that the compiler has put elsewhere, of a file without local symbols.
 * -ENOENT: there is none that is known for sure; -ENOMEM.
 */
int runtime_file__find_cold(const struct runtime_file *file, const struct wanted_symbol *function,
			    struct wanted_symbol *ret);
/* Reads initialized data at an address of the file. -EFAULT: there is none. */
int runtime_file__read(const struct runtime_file *file, uint64_t address, void *to, size_t size);
