/*
 * Names for code addresses, from what is on this machine: symbol tables, DWARF, kallsyms, perf
 * maps.
 *
 * Files are read when first asked about and stay open, cached by build-id or identity. Nothing here
 * logs. What is read is foreign and may be hostile: it costs an answer, never a crash or a hang.
 * Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct symbols;

/* One function at an address: the innermost inlined one first, the one that exists last. */
struct symbol {
	const char *name;        /* demangled; never NULL */
	const char *system_name; /* as the symbol table or DWARF has it; may be the same pointer */
	const char *file;        /* source file, NULL if unknown */
	uint32_t line, column;   /* in it; 0: unknown */
	uint32_t start_line;     /* of the function; 0: unknown */
};
#define SYMBOL_MOST_INLINED 64

/* Strings live as long as the struct symbols. */
struct symbol_chain {
	struct symbol frames[SYMBOL_MOST_INLINED];
	int count; /* 0: no name is known */
};

/* How much of a file is read: less, if it is too much for us. */
enum symbol_depth {
	SYMBOL_WHOLE,
	SYMBOL_TABLES,     /* no DWARF, but tables of its debug file too */
	SYMBOL_OWN_TABLES, /* of no other file */
};

/* A file with code. `fd` stays the caller's and open as long as the struct symbols; -1: by path. */
struct symbol_module {
	uint64_t key; /* the caller's name for it: the same file, the same key */
	int fd;
	const char *path;        /* as the process saw it, for debug files and messages */
	const char *root;        /* "/proc/PID/root" or ""; where paths of its debug files begin */
	const char *build_id;    /* hex, NULL if none */
	enum symbol_depth depth; /* another depth, another key */
};

struct symbols_options {
	bool no_debuginfod; /* else: asked if DEBUGINFOD_URLS is set */
	/*
	 * Called before a download, now and then during it, and behind it with done < 0; false ends
	 * it, and all others. May be NULL.
	 */
	bool (*progress)(void *context, const char *what, long done, long total);
	void *context;
};

int symbols__new(const struct symbols_options *options, struct symbols **ret);
void symbols__free(struct symbols *symbols);

/* `address` as the ELF file has it. 0, also if no name is known; -ENOMEM. */
int symbols__in_module(struct symbols *symbols, const struct symbol_module *module,
		       uint64_t address, struct symbol_chain *ret);
/* Likewise the variable at an address of data, and how far into it that is. -ENOENT: not known. */
int symbols__variable(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		      const char **ret_name, uint64_t *ret_offset);
/* A kernel address, through /proc/kallsyms: its modules and BPF programs too. */
int symbols__in_kernel(struct symbols *symbols, uint64_t address, struct symbol_chain *ret);
/* An address in generated code, through perf-PID.map of that process (also inside a container). */
int symbols__in_jit(struct symbols *symbols, int pid, uint64_t address, struct symbol_chain *ret);

/* In the vDSO; `address` as its ELF image has it. */
int symbols__in_vdso(struct symbols *symbols, uint64_t address, struct symbol_chain *ret);

struct symbols_quality {
	uint64_t modules;         /* files that were asked about */
	uint64_t modules_failed;  /* of them, not readable or broken */
	uint64_t with_debug;      /* of them, with DWARF */
	uint64_t too_large;       /* of them, with tables or DWARF larger than any program's */
	uint64_t downloads_ended; /* that took too long or became too large, or were ended */
	uint64_t addresses, unnamed;
};
struct symbols_quality symbols__quality(const struct symbols *symbols);
