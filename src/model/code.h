/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of a recording: modules, functions, frames and the tree of stacks, as arrays in which
 * every reference is a valid index. A reference to a missing row (because the recorder was killed
 * or the file was made by hand) is replaced by a substitute and counted.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "model/ids.h"
#include "vocabulary/code_language.h"

#define CODE_NONE IDS_NONE
/*
 * Limits on the functions in one stack and on all nodes together. Without them, a small file could
 * ask for more memory than any machine has.
 */
#define CODE_MOST_DEPTH 8192
#define CODE_MOST_NODES (1 << 24)

struct model;

struct code_module {
	int64_t id;
	const char *kind; /* "file", "vdso", "kernel", "jit", or the key of a runtime */
	const char *path;
	const char *build_id; /* NULL: none */
	bool has_go;          /* a Go program: some of its functions are in .go files */
	/*
	 * The code of a runtime itself: in some stack it calls functions of the runtime, as an
	 * interpreter's loop does.
	 */
	bool is_host;
};

struct code_function {
	uint32_t module;
	const char *name, *system_name;
	const char *file; /* NULL: unknown */
	uint32_t start_line;
	const char *source; /* of the name, as in vocabulary/name_sources.def; NULL: unknown */
	bool named;         /* false: a substitute for an address without a function */
};

/* One function at a frame's address; a frame has 1 + the number of inlined calls. */
struct code_line {
	uint32_t function;
	uint32_t line, column; /* 0: unknown */
};

struct code_frame {
	uint32_t module;
	uint64_t address; /* ELF virtual address; run-time address in the kernel and in JIT code */
	uint32_t first_line; /* the first of line_count lines, innermost inlined function first */
	uint32_t line_count; /* at least 1 */
	bool is_kernel;
};

/*
 * A node of the tree of stacks. The frame of its parent calls this frame. Parents come before their
 * children.
 */
struct code_stack {
	uint32_t parent; /* CODE_NONE: outermost frame */
	uint32_t frame;
	uint32_t depth;  /* 0 for the outermost frame */
	uint32_t height; /* number of functions from here to the root, inlined ones included */
};

struct code {
	struct code_module *modules;
	struct code_function *functions;
	struct code_line *lines;
	struct code_frame *frames;
	struct code_stack *stacks;
	size_t module_count, function_count, line_count, frame_count, stack_count;
	struct ids module_ids, function_ids, frame_ids, stack_ids; /* row ids in the recording */
	int64_t torn;            /* number of references to rows that do not exist */
	bool has_unknown_module; /* the substitute; always the last module */
	size_t unknown_frame;    /* index of the substitute frame + 1; 0: not made yet */
};

/*
 * Loads the code from `db`, the recording of `model`. The model owns the strings. -EBADMSG: a stack
 * is deeper than CODE_MOST_DEPTH.
 */
int code__load(struct code *code, struct model *model, sqlite3 *db);
void code__release(struct code *code);

/*
 * The language of a function: that of the runtime it belongs to; Go for functions in .go files, and
 * in a program that has such for functions of unknown or assembler files; else native, kernel or
 * generated code (of a runtime that wrote a perf map).
 */
enum code_language code__language(const struct code *code, uint32_t function);
/* Whether its module is a runtime: its code is interpreted or generated. */
bool code__is_managed(const struct code *code, uint32_t function);
/*
 * Whether a function is machine code of a runtime itself, such as an interpreter's loop. Where
 * functions of the runtime are on the stack, they say more than these.
 */
bool code__is_internal(const struct code *code, uint32_t function);

/*
 * Returns the index of the stack with this id; CODE_NONE for id 0. An id without a row also gives
 * CODE_NONE and is counted in `torn`.
 */
uint32_t code__stack(struct code *code, int64_t id);
