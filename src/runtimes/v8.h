/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8: what its parts share. Internal to v8*.c.
 *
 * An object has a pointer to its map first, and the map has the type. Pointers to objects are
 * "tagged": plus 1, or plus 3 if they are weak. Everything here takes them as they are. Small
 * numbers are in the upper half of a word whose lower half is 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/language.h"

/* Offsets that the program does not tell, by version. */
struct v8_layout {
	uint8_t major, minor;
	/* Where the instructions begin: after this header, which leads to the Code; or, if it is 0,
	 * in the Code itself. */
	uint8_t stream_header, code_header;
	uint8_t code_data;      /* of a compiler: what it optimized; of Sparkplug: the bytecode */
	uint8_t code_positions; /* positions in the source; of Sparkplug: of the bytecodes */
	uint8_t code_start, code_flags, code_size;
	uint8_t baseline; /* the kind of Sparkplug's code; the optimizing compilers come after it */
	uint8_t bytecode_data, bytecode_positions;
	uint8_t shared_name, shared_script, shared_flags;
	uint8_t literals, optimized, inlined; /* indexes in what a compiler notes for its code */
	bool is_wrapped;                      /* `optimized` is an object with the function */
	uint8_t scope_first;                  /* index of the first variable of a ScopeInfo */
};

/* NULL: not known. */
const struct v8_layout *v8_layout__find(int32_t major, int32_t minor);

enum v8_type {
	V8_TYPE_SHARED,
	V8_TYPE_SCOPE,
	V8_TYPE_SCRIPT,
	V8_TYPE_BYTECODE,
	V8_TYPE_CODE,
	V8_TYPE_NONSTRING, /* strings have lower ones */
	V8_TYPES,
};

#define V8_MOST_BYTECODES 256
#define V8_SCALES         3
#define V8_CODES          64

/* Compiled code. */
struct v8_code {
	uint64_t object, start;
	uint32_t size, flags;
	uint64_t data, positions;
};

struct v8_lines; /* the ends of the lines of scripts */

struct v8 {
	const struct v8_layout *layout;
	struct remote *memory;
	uint16_t types[V8_TYPES];
	uint8_t bytecode_sizes[V8_SCALES][V8_MOST_BYTECODES];
	uint32_t bytecodes;             /* 0: their sizes are not known */
	struct v8_code codes[V8_CODES]; /* found before */
	uint32_t next_code;
	struct v8_lines *lines;
};

#define V8_KIND(flags) ((flags) & 15)

/* --- objects (v8_objects.c) ------------------------------------------------------------------- */

bool v8__is_object(uint64_t tagged);
bool v8__is_number(uint64_t word);
/* Reads at an offset of an object. */
int v8__read(const struct v8 *v8, uint64_t object, uint32_t offset, void *to, size_t size);
uint64_t v8__word(const struct v8 *v8, uint64_t object, uint32_t offset); /* 0: unreadable */
/* −1: not an object. */
int v8__type(const struct v8 *v8, uint64_t object);
bool v8__is(const struct v8 *v8, uint64_t object, enum v8_type type);
/* An element of a FixedArray or of an array like it. 0: there is none. */
uint64_t v8__element(const struct v8 *v8, uint64_t array, uint32_t index);
/* The bytes of a ByteArray, to be freed. NULL: there are none, or too many. */
uint8_t *v8__bytes(const struct v8 *v8, uint64_t array, size_t *ret_size);

/* --- strings (v8_text.c) ---------------------------------------------------------------------- */

/* The text as UTF-8, cut to the space there is. -EBADMSG: not a string. */
int v8_text__read(const struct v8 *v8, uint64_t string, char *to, size_t size);

/* The characters of a string that are in one place. */
struct v8_characters {
	uint64_t address;
	uint32_t length, width; /* bytes of a character: 1 or 2 */
};
int v8_text__locate(const struct v8 *v8, uint64_t string, struct v8_characters *ret);

/* --- tables of positions (v8_positions.c) ----------------------------------------------------- */

/* The position in the source of the last row that begins at `offset` or before. −1: none. */
int64_t v8_positions__find(const uint8_t *table, size_t size, int64_t offset);
/* The offset of the bytecode that Sparkplug's code at `offset` stands for. −1: none. */
int64_t v8_positions__bytecode(const struct v8 *v8, const uint8_t *table, size_t size,
			       const uint8_t *bytecode, size_t bytecode_bytes, uint32_t offset);

/* A position as the tables have it. */
int32_t v8_position__offset(int64_t position);   /* in the script; −1: none */
uint32_t v8_position__inlined(int64_t position); /* number of the inlined call; 0: none */

/* --- code (v8_code.c) ------------------------------------------------------------------------- */

/* The code that has this address. -ENOENT. */
int v8_code__find(struct v8 *v8, uint64_t address, struct v8_code *ret);
bool v8_code__is_optimized(const struct v8 *v8, const struct v8_code *code);
/* The function for which it was made. 0: not known. */
uint64_t v8_code__function(const struct v8 *v8, const struct v8_code *code);

/* A function at an address, innermost first. */
struct v8_place {
	uint64_t function; /* 0: the function of the frame */
	int32_t position;  /* in its script; −1: unknown */
};
/* In optimized code: the number of places, at most RUNTIME_MOST_INLINE. */
int v8_code__places(const struct v8 *v8, const struct v8_code *code, uint64_t address,
		    struct v8_place *ret);

/* The BytecodeArray of a function. 0: it has none. */
uint64_t v8_code__bytecode(const struct v8 *v8, uint64_t function);
/* The position of a bytecode in the script. −1: unknown. */
int32_t v8_code__bytecode_position(const struct v8 *v8, uint64_t bytecode, int64_t offset);
/* Whether it is Sparkplug's code of a function, and the position of an address in that. */
bool v8_code__is_baseline(const struct v8 *v8, const struct v8_code *code, uint64_t function);
int32_t v8_code__baseline_position(const struct v8 *v8, const struct v8_code *code,
				   uint64_t bytecode, uint64_t address);

/* --- lines (v8_lines.c) ----------------------------------------------------------------------- */

int v8_lines__new(struct v8_lines **ret);
void v8_lines__free(struct v8_lines *lines);
/* The line of a position in the script `object`, from 1. 0: unknown. */
int v8_lines__find(struct v8 *v8, uint64_t object, int32_t position);

/* --- functions (v8_names.c) ------------------------------------------------------------------- */

/* The low bits of the function's number in its script, as in the cookie. −1: unreadable. */
int v8_function__id(const struct v8 *v8, uint64_t function);
/* Adds the function at a place. -ESTALE: it is not a function. */
int v8_function__name(struct v8 *v8, const struct v8_place *place, struct runtime_names *ret);
