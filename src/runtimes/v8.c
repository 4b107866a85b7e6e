/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8, as Node has it: what the walk has to know, and what functions are called. The walk is in
 * bpf/v8_walk.h.
 *
 * Node is built with constants for debuggers (v8dbg_…) in its dynamic symbol table, which have most
 * types and offsets. What they lack is in a table by version (v8_layout.c). Pointers must not be
 * compressed: Node does not do that, but Chromium and Electron do.
 */
#include "runtimes/v8.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define VERSION   "_ZN2v88internal7Version"
#define MAP_TYPE  12
#define MOST_MAPS (1U << 20)
/* Of what V8 reserves in front of the builtins. */
#define LEAST_RESERVED (16UL << 20)

enum constant {
	MAJOR,
	MINOR,
	BUILD,
	PATCH,
	/* The types, in the order of enum v8_type: */
	SHARED,
	NONSTRING = SHARED + V8_TYPE_NONSTRING,
	FUNCTION_SHARED,
	/* These must have the value that the code expects: */
	TAGGED_SIZE,
	SHIFT_SIZE,
	FP_CONTEXT,
	FP_FUNCTION,
	INSTANCE_TYPE,
	SHARED_FLAGS,
	SCOPE_FIRST,
	CONSTANTS,
	BYTECODE_SIZES = CONSTANTS, /* not a number, and may be missing */
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[MAJOR] = VERSION "6major_E",
	[MINOR] = VERSION "6minor_E",
	[BUILD] = VERSION "6build_E",
	[PATCH] = VERSION "6patch_E",
	[SHARED + V8_TYPE_SHARED] = "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
	[SHARED + V8_TYPE_SCOPE] = "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
	[SHARED + V8_TYPE_SCRIPT] = "v8dbg_type_Script__SCRIPT_TYPE",
	[SHARED + V8_TYPE_BYTECODE] = "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
	[SHARED + V8_TYPE_CODE] = "v8dbg_type_Code__CODE_TYPE",
	[NONSTRING] = "v8dbg_FirstNonstringType",
	[FUNCTION_SHARED] = "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
	[TAGGED_SIZE] = "v8dbg_TaggedSize",
	[SHIFT_SIZE] = "v8dbg_SmiShiftSize",
	[FP_CONTEXT] = "v8dbg_off_fp_context",
	[FP_FUNCTION] = "v8dbg_off_fp_function",
	[INSTANCE_TYPE] = "v8dbg_class_Map__instance_type__uint16_t",
	[SHARED_FLAGS] = "v8dbg_class_SharedFunctionInfo__flags__int",
	[SCOPE_FIRST] = "v8dbg_scopeinfo_idx_first_vars",
	[BYTECODE_SIZES] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
};

static bool is_in(const struct runtime_file *file)
{
	struct wanted_symbol symbol = { .name = names[MAJOR] };

	return runtime_file__find(file, &symbol, 1) == 1;
}

static bool is_for_this_walk(const struct runtime_file *file)
{
	GElf_Ehdr header;

	return gelf_getehdr(file->image->elf, &header) && header.e_machine == EM_X86_64;
}

/* --- the constants ---------------------------------------------------------------------------- */

static int read_constants(struct subject *subject, const struct wanted_symbol *symbols,
			  int32_t *ret)
{
	for (int i = 0; i < CONSTANTS; i++)
		if (!symbols[i].address ||
		    runtime_file__read(&subject->file, symbols[i].address, &ret[i], sizeof(ret[i])))
			return -ENOTSUP;
	return 0;
}

static bool agrees(const int32_t *constants, const struct v8_layout *layout)
{
	for (int i = 0; i < V8_TYPES; i++)
		if (constants[SHARED + i] <= 0 || constants[SHARED + i] > UINT16_MAX)
			return false;
	return constants[TAGGED_SIZE] == 8 && constants[SHIFT_SIZE] == 31 &&
	       constants[FP_CONTEXT] == -8 && constants[FP_FUNCTION] == -16 &&
	       constants[INSTANCE_TYPE] == MAP_TYPE &&
	       constants[SHARED_FLAGS] == layout->shared_flags &&
	       constants[SCOPE_FIRST] == layout->scope_first && constants[FUNCTION_SHARED] > 0 &&
	       constants[FUNCTION_SHARED] <= 64;
}

/* The sizes of the bytecodes, for three widths of their operands. */
static void read_bytecode_sizes(const struct subject *subject, const struct wanted_symbol *symbol,
				struct v8 *v8)
{
	uint64_t count = symbol->size / V8_SCALES;

	if (!symbol->address || !count || count > V8_MOST_BYTECODES ||
	    count * V8_SCALES != symbol->size)
		return;
	for (uint64_t scale = 0; scale < V8_SCALES; scale++)
		if (runtime_file__read(&subject->file, symbol->address + scale * count,
				       v8->bytecode_sizes[scale], count))
			return;
	v8->bytecodes = (uint32_t)count;
}

/* --- where its code is ------------------------------------------------------------------------ */

/*
 * What V8 reserves for code is one range, of which more and more is used. It is the mappings
 * without a file around one that has code. The builtins of the program may be mapped into it as
 * well: then it is known before there is code.
 */
static void find_code(struct subject *subject)
{
	cleanup(free_p) char *line = NULL;
	uint64_t first = 0, last = 0;
	bool has_code = false, is_reserved = false;
	size_t room = 0;
	FILE *maps;
	int fd = dup(subject->maps_fd);

	maps = fd < 0 || lseek(fd, 0, SEEK_SET) ? NULL : fdopen(fd, "r");
	if (!maps) {
		close_p(&fd);
		return;
	}
	for (uint32_t i = 0; i < MOST_MAPS && getline(&line, &room, maps) > 0; i++) {
		uint64_t begin, end, inode;
		char rights[5];

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &begin, &end,
			   rights, &inode) != 4)
			continue;
		if (begin != last) {
			if (has_code)
				break;
			first = begin;
			is_reserved = false;
		}
		last = end;
		/* A program can give its memory a name. */
		has_code |= rights[2] == 'x' &&
			    (inode ? is_reserved : !strchr(line, '[') || strstr(line, "[anon:"));
		is_reserved = !inode && !strncmp(rights, "---", 3) && end - begin >= LEAST_RESERVED;
	}
	fclose(maps);
	if (!has_code)
		return;
	subject->runtime.areas[0].begin = first;
	subject->runtime.areas[0].end = last;
}

/* --- the interface ---------------------------------------------------------------------------- */

static void close_v8(struct subject *subject)
{
	struct v8 *v8 = subject->own;

	if (!v8)
		return;
	v8_lines__free(v8->lines);
	free(v8);
	subject->own = NULL;
}

static int prepare(struct subject *subject, const struct v8_layout *layout,
		   const int32_t *constants, const struct wanted_symbol *sizes)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));
	int err;

	if (!v8)
		return -ENOMEM;
	subject->own = v8;
	v8->layout = layout;
	v8->memory = subject->memory;
	for (int i = 0; i < V8_TYPES; i++)
		v8->types[i] = (uint16_t)constants[SHARED + i];
	err = v8_lines__new(&v8->lines);
	if (!err)
		read_bytecode_sizes(subject, sizes, v8);
	return err;
}

static int open_v8(struct subject *subject)
{
	struct wanted_symbol symbols[SYMBOLS] = {};
	const struct v8_layout *layout = NULL;
	int32_t constants[CONSTANTS] = {};
	int err;

	for (int i = 0; i < SYMBOLS; i++)
		symbols[i].name = names[i];
	err = runtime_file__find(&subject->file, symbols, SYMBOLS);
	if (err < 0)
		return err;
	err = read_constants(subject, symbols, constants);
	if (constants[MAJOR] > 0)
		snprintf(subject->version, sizeof(subject->version),
			 "%" PRId32 ".%" PRId32 ".%" PRId32 ".%" PRId32, constants[MAJOR],
			 constants[MINOR], constants[BUILD], constants[PATCH]);
	if (!err && is_for_this_walk(&subject->file))
		layout = v8_layout__find(constants[MAJOR], constants[MINOR]);
	if (!layout || !agrees(constants, layout))
		return -ENOTSUP;
	subject->runtime.v8 = (struct runtime_v8) {
		.function_shared = (uint16_t)constants[FUNCTION_SHARED],
		.flags_word = (uint16_t)(layout->shared_flags / 8 - 1),
		.bytecode_type = (uint16_t)constants[SHARED + V8_TYPE_BYTECODE],
	};
	find_code(subject);
	if (!subject->runtime.areas[0].end)
		return -EAGAIN;
	return prepare(subject, layout, constants, &symbols[BYTECODE_SIZES]);
}

/* The address of compiled code, from the two words. */
static uint64_t address_of(const struct runtime_frame *frame)
{
	return (uint64_t)V8_COOKIE_UPPER(frame->cookie) << 32 | frame->position;
}

/* Code that is known by its address only. */
static int name_code(struct v8 *v8, uint64_t address, struct runtime_names *ret)
{
	struct v8_place places[RUNTIME_MOST_INLINE];
	struct v8_code code;
	int count;

	if (v8_code__find(v8, address, &code) || !v8_code__function(v8, &code))
		return -ESTALE;
	count = v8_code__places(v8, &code, address, places);
	for (int i = 0; i < count; i++)
		if (v8_function__name(v8, &places[i], ret))
			return -ESTALE;
	return 0;
}

/*
 * Compiled code of a function. The code at the address may be of another function: then nothing is
 * known but the function.
 */
static int name_compiled(struct v8 *v8, uint64_t function, uint64_t address,
			 struct runtime_names *ret)
{
	struct v8_place places[RUNTIME_MOST_INLINE] = { { function, -1 } };
	struct v8_code code;
	int count = 1;

	if (!v8_code__find(v8, address, &code)) {
		if (v8_code__function(v8, &code) == function)
			count = v8_code__places(v8, &code, address, places);
		else if (v8_code__is_baseline(v8, &code, function))
			places[0].position = v8_code__baseline_position(
				v8, &code, v8_code__bytecode(v8, function), address);
	}
	for (int i = 0; i < count; i++)
		if (v8_function__name(v8, &places[i], ret))
			return -ESTALE;
	return 0;
}

static int name_interpreted(struct v8 *v8, uint64_t function, uint32_t position,
			    struct runtime_names *ret)
{
	int64_t offset = (int64_t)position - (v8->layout->bytecode_data - 1);
	struct v8_place place = { function, v8_code__bytecode_position(
						    v8, v8_code__bytecode(v8, function), offset) };

	return v8_function__name(v8, &place, ret);
}

static int name_v8(struct subject *subject, const struct runtime_frame *frame,
		   struct runtime_names *ret)
{
	uint64_t function = frame->object + 1;
	struct v8 *v8 = subject->own;

	if (V8_COOKIE_KIND(frame->cookie) == V8_IS_CODE)
		return name_code(v8, frame->object, ret);
	if (!v8__is(v8, function, V8_TYPE_SHARED) ||
	    v8_function__id(v8, function) != (int)V8_COOKIE_ID(frame->cookie))
		return -ESTALE;
	if (V8_COOKIE_KIND(frame->cookie) == V8_IS_COMPILED)
		return name_compiled(v8, function, address_of(frame), ret);
	return name_interpreted(v8, function, frame->position, ret);
}

static const char *const hints[] = { "libnode", "libv8", NULL };

const struct language language_v8 = {
	.kind = RUNTIME_V8,
	.hints = hints,
	.is_in = is_in,
	.open = open_v8,
	.name = name_v8,
	.close = close_v8,
};
