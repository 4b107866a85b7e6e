/*
 * The code of a recording: modules, functions, frames and the tree of stacks, as arrays in which
 * every reference is a valid index. What refers to a row that is not there (the recorder was
 * killed, somebody made the file by hand) gets a substitute and is counted.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "model/ids.h"

#define CODE_NONE IDS_NONE
/* Functions in a stack, and in all: a small file may ask for more than any memory holds. */
#define CODE_MOST_DEPTH 8192
#define CODE_MOST_NODES (1 << 24)

struct model;

struct code_module {
	int64_t id;
	const char *kind; /* "file", "vdso", "kernel", "jit" */
	const char *path;
	const char *build_id; /* NULL: none */
};

struct code_function {
	uint32_t module;
	const char *name, *system_name;
	const char *file; /* NULL: unknown */
	uint32_t start_line;
	bool named; /* false: it stands for an address without a function */
};

/* One function at a frame's address; a frame has 1 + the number of inlined calls. */
struct code_line {
	uint32_t function;
	uint32_t line, column; /* 0: unknown */
};

struct code_frame {
	uint32_t module;
	uint64_t address;    /* as the ELF file has it; plain in the kernel and in generated code */
	uint32_t first_line; /* lines[first_line … + line_count): innermost inlined first */
	uint32_t line_count; /* at least 1 */
	bool is_kernel;
};

/* A node of the tree of stacks: its frame, called by its parent's. Parents come before children. */
struct code_stack {
	uint32_t parent; /* CODE_NONE: outermost */
	uint32_t frame;
	uint32_t depth;  /* 0 for an outermost one */
	uint32_t height; /* functions from here to the root */
};

struct code {
	struct code_module *modules;
	struct code_function *functions;
	struct code_line *lines;
	struct code_frame *frames;
	struct code_stack *stacks;
	size_t module_count, function_count, line_count, frame_count, stack_count;
	struct ids module_ids, function_ids, frame_ids, stack_ids; /* rows of the recording */
	int64_t torn;            /* rows that refer to some that are not there */
	bool has_unknown_module; /* the last one */
	size_t unknown_frame;    /* its index + 1; 0: not made */
};

/* Strings become the model's, whose recording `db` is. -EBADMSG: a stack deeper than any. */
int code__load(struct code *code, struct model *model, sqlite3 *db);
void code__release(struct code *code);

/* The index of a stack by its id, CODE_NONE for 0; one that is not there is counted. */
uint32_t code__stack(struct code *code, int64_t id);
