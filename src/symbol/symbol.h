/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for code addresses, from what is on this machine: symbol tables, DWARF, kallsyms, perf
 * maps.
 *
 * A file is read when it is first needed and stays open. Files are cached by the caller's key.
 * Nothing here logs. The input is untrusted: a hostile file costs an answer, never a crash or a
 * hang. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary/name_sources.h"

struct symbols;

/*
 * One function at an address. A chain has the innermost inlined function first, and the function
 * that contains the code last.
 */
struct symbol {
	const char *name;        /* demangled; never NULL */
	const char *system_name; /* as in the symbol table or DWARF; may be the same pointer */
	const char *file;        /* source file, NULL if unknown */
	uint32_t line, column;   /* in it; 0: unknown */
	uint32_t start_line;     /* of the function; 0: unknown */
	enum name_source source; /* of the name */
};
#define SYMBOL_MOST_INLINED 64

/* Strings are valid until the next look-up, symbols__want() or symbols__shrink(). */
struct symbol_chain {
	struct symbol frames[SYMBOL_MOST_INLINED];
	int count; /* 0: no name is known */
};

/* How much of a file is read. It is reduced if the file needs too much. */
enum symbol_depth {
	SYMBOL_WHOLE,
	SYMBOL_TABLES,     /* no DWARF, but also the tables of the debug file */
	SYMBOL_OWN_TABLES, /* only the file itself */
};

/*
 * A file with code. `fd` still belongs to the caller, and must stay open as long as the struct
 * symbols; -1: open it by path.
 */
struct symbol_module {
	uint64_t key; /* chosen by the caller: one key per file */
	int fd;
	const char *path;        /* as the process saw it; used to find debug files */
	const char *root;        /* "/proc/PID/root" or "": the root for paths of debug files */
	const char *build_id;    /* hex, NULL if none */
	enum symbol_depth depth; /* each depth needs a key of its own */
	/*
	 * Find a file with this build-id, which must be set; `path` is only one of the places, and
	 * `root` may also be a folder of debug files. For addresses from other machines.
	 */
	bool by_id;
	/*
	 * Addresses count from this symbol of the file, like "_text" of the kernel, which is loaded
	 * elsewhere than its file says; NULL: they are those of the file. See symbols__rebase().
	 */
	const char *base;
};

struct symbols_options {
	bool no_debuginfod; /* false: debuginfod is used if DEBUGINFOD_URLS is set */
};

int symbols__new(const struct symbols_options *options, struct symbols **ret);
void symbols__free(struct symbols *symbols);

/*
 * Announces the addresses of the following look-ups in modules, JIT code and the vDSO. Tables are
 * read for them together, so looking up an address that was not announced takes as long as all of
 * them. Strings of earlier answers may become invalid. -ENOMEM.
 */
int symbols__want(struct symbols *symbols, const uint64_t *list, size_t count);
/*
 * Frees tables, then closes files, if the process has allocated `most_bytes` or more since
 * symbols__new(), or if the private copies are large. The private copy of the file that was used
 * last is kept. What was closed is opened again when it is needed.
 */
void symbols__shrink(struct symbols *symbols, size_t most_bytes);

/*
 * Makes addresses in the file of those that count from module->base. -ENOENT: the file does not
 * have this symbol, or there is no file; -ENOMEM. The list changes only on success.
 */
int symbols__rebase(struct symbols *symbols, const struct symbol_module *module, uint64_t *list,
		    size_t count);

/* `address` is the address in the ELF file. 0, even if no name is known; -ENOMEM. */
int symbols__in_module(struct symbols *symbols, const struct symbol_module *module,
		       uint64_t address, struct symbol_chain *ret);
/* Finds the variable at a data address, and the offset in it. -ENOENT: unknown. */
int symbols__variable(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		      const char **ret_name, uint64_t *ret_offset);
/* A kernel address, by /proc/kallsyms. This includes kernel modules and BPF programs. */
int symbols__in_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret);
/* An address in JIT code, by the perf-PID.map of the process (also inside a container). */
int symbols__in_jit(struct symbols *symbols, int pid, uint64_t address, struct symbol_chain *ret);

/* An address in the vDSO; `address` is the address in its ELF image. */
int symbols__in_vdso(struct symbols *symbols, uint64_t address, struct symbol_chain *ret);

struct symbols_quality {
	uint64_t modules;        /* files that were looked up */
	uint64_t modules_failed; /* those that are unreadable or broken */
	uint64_t with_debug;     /* those with DWARF */
	uint64_t too_large;      /* those with tables or DWARF larger than in any real program */
	uint64_t without_lines;  /* compilation units with too many lines for the memory there is */
	uint64_t addresses, unnamed;
};
struct symbols_quality symbols__quality(const struct symbols *symbols);
