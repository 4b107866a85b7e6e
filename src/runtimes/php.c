/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PHP: where its frames are, and what its functions are called. The walk is in bpf/php_walk.h.
 *
 * Only builds without threads ("NTS"), as command line, FPM and nearly all Apaches have: there, the
 * list of frames begins in a variable with a symbol. The layouts are those of the headers of each
 * version.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "runtimes/language.h"

struct layout {
	uint8_t minor;  /* of version 8 */
	uint16_t frame; /* in executor_globals: pointer to the current frame */
	uint8_t count;  /* in a function: of its instructions, … */
	uint8_t code;   /* … where they are, … */
	uint8_t file;   /* … the file that has it, … */
	uint8_t line;   /* … and the line where it begins */
};

static const struct layout layouts[] = {
	{ .minor = 2, .frame = 488, .count = 80, .code = 88, .file = 152, .line = 160 },
	{ .minor = 3, .frame = 488, .count = 76, .code = 80, .file = 144, .line = 152 },
	{ .minor = 4, .frame = 488, .count = 96, .code = 104, .file = 168, .line = 176 },
	{ .minor = 5, .frame = 512, .count = 96, .code = 104, .file = 168, .line = 176 },
};

enum wanted { LOOP, GLOBALS, GLOBALS_OF_THREADS, SYMBOLS };

static const struct wanted_symbol all_symbols[SYMBOLS] = {
	[LOOP] = { .name = "execute_ex" },
	[GLOBALS] = { .name = "executor_globals" },
	[GLOBALS_OF_THREADS] = { .name = "executor_globals_offset" },
};

static bool is_in(const struct runtime_file *file)
{
	struct wanted_symbol symbols[SYMBOLS];

	memcpy(symbols, all_symbols, sizeof(symbols));
	return runtime_file__find(file, symbols, SYMBOLS) >= 2 && symbols[LOOP].address;
}

/* --- the version ------------------------------------------------------------------------------ */

/* Every PHP has the header that it sends with pages. */
#define HEADER      "X-Powered-By: PHP/"
#define BLOCK_BYTES 16384

static bool find_in_block(const char *block, size_t size, char *to, size_t room)
{
	const char *at = memmem(block, size, HEADER, strlen(HEADER));
	size_t length = 0;

	if (!at)
		return false;
	at += strlen(HEADER);
	while (at + length < block + size && length < room - 1 && at[length])
		length++;
	memcpy(to, at, length);
	to[length] = '\0';
	utf8__sanitize(to);
	return true;
}

static bool find_in_segment(const struct runtime_file *file, const GElf_Phdr *header, char *to,
			    size_t room)
{
	char block[BLOCK_BYTES];

	/* Blocks overlap, so that the text is in one of them as a whole. */
	for (uint64_t at = 0; at < header->p_filesz; at += sizeof(block) / 2) {
		uint64_t left = header->p_filesz - at;
		size_t size = left < sizeof(block) ? left : sizeof(block);

		if (runtime_file__read(file, header->p_vaddr + at, block, size))
			return false;
		if (find_in_block(block, size, to, room))
			return true;
	}
	return false;
}

static const struct layout *find_layout(struct subject *subject)
{
	const struct runtime_file *file = &subject->file;
	GElf_Phdr header;
	size_t count = 0;
	bool found = false;
	int major, minor;

	if (elf_getphdrnum(file->image->elf, &count))
		return NULL;
	for (size_t i = 0; i < count && i < INT32_MAX && !found; i++)
		found = gelf_getphdr(file->image->elf, (int)i, &header) &&
			header.p_type == PT_LOAD && !(header.p_flags & (PF_X | PF_W)) &&
			find_in_segment(file, &header, subject->version, sizeof(subject->version));
	if (!found || sscanf(subject->version, "%d.%d", &major, &minor) != 2)
		return NULL;
	for (size_t i = 0; major == 8 && i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_php(struct subject *subject)
{
	const struct layout *layout = find_layout(subject);
	struct wanted_symbol symbols[SYMBOLS];
	size_t length = strlen(subject->version);
	int err;

	memcpy(symbols, all_symbols, sizeof(symbols));
	err = runtime_file__find(&subject->file, symbols, SYMBOLS);
	if (err < 0)
		return err;
	if (!symbols[GLOBALS].address)
		snprintf(subject->version + length, sizeof(subject->version) - length,
			 " with threads");
	if (!layout || !symbols[GLOBALS].address || !symbols[LOOP].address || !symbols[LOOP].size)
		return -ENOTSUP;
	subject->own = (void *)layout;
	subject->runtime.php.current =
		subject->file.bias + symbols[GLOBALS].address + layout->frame;
	subject->runtime.areas[0].begin = subject->file.bias + symbols[LOOP].address;
	subject->runtime.areas[0].end = subject->runtime.areas[0].begin + symbols[LOOP].size;
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* In a function, the same in all versions. */
#define FUNCTION_TYPE  0
#define FUNCTION_NAME  8
#define FUNCTION_CLASS 16
#define FUNCTION_BYTES 192
#define INTERNAL_BYTES 24
#define TYPE_INTERNAL  1
#define TYPE_FILE      2
#define TYPE_EVAL      4
/* In a class. */
#define CLASS_NAME 8
/* In a string. */
#define STRING_LENGTH 16
#define STRING_DATA   24
/* Of an instruction. */
#define INSTRUCTION_BYTES 32
#define INSTRUCTION_LINE  24

static uint64_t u64_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static uint32_t u32_at(const uint8_t *bytes, size_t at)
{
	uint32_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static int read_string(struct subject *subject, uint64_t address, char *to, size_t size)
{
	uint64_t length;

	if (remote__read_u64(subject->memory, address + STRING_LENGTH, &length))
		return -EFAULT;
	if (length > size - 1)
		length = size - 1;
	if (remote__read(subject->memory, address + STRING_DATA, to, length))
		return -EFAULT;
	to[length] = '\0';
	utf8__sanitize(to);
	return 0;
}

/* CLASS::NAME, or NAME. */
static int read_name(struct subject *subject, const uint8_t *function, char *to, size_t size)
{
	uint64_t name = u64_at(function, FUNCTION_NAME), class = u64_at(function, FUNCTION_CLASS);
	size_t used = 0;

	if (!name) {
		/* Code outside of functions, as PHP's own traces call it. */
		snprintf(to, size, function[FUNCTION_TYPE] == TYPE_EVAL ? "eval" : "{main}");
		return 0;
	}
	if (class && !remote__read_u64(subject->memory, class + CLASS_NAME, &class) &&
	    !read_string(subject, class, to, size / 2)) {
		used = strlen(to);
		used += (size_t)snprintf(to + used, size - used, "::");
	}
	return read_string(subject, name, to + used, size - used);
}

/* -ESTALE: the position is in the code of another function. */
static int find_line(struct subject *subject, const uint8_t *function, uint32_t position, int *ret)
{
	const struct layout *layout = subject->own;
	uint64_t code = u64_at(function, layout->code);
	uint32_t bytes = position - (uint32_t)code, line;

	if (bytes % INSTRUCTION_BYTES ||
	    bytes / INSTRUCTION_BYTES >= u32_at(function, layout->count))
		return -ESTALE;
	if (remote__read_u32(subject->memory, code + bytes + INSTRUCTION_LINE, &line) ||
	    line > INT32_MAX)
		return -ESTALE;
	*ret = (int)line;
	return 0;
}

static int name_php(struct subject *subject, const struct runtime_frame *frame,
		    struct runtime_names *ret)
{
	const struct layout *layout = subject->own;
	char name[RUNTIME_MOST_NAME], file[RUNTIME_MOST_NAME] = "";
	uint8_t function[FUNCTION_BYTES];
	uint32_t first_line = 0;
	int line = 0, err;

	if (remote__read(subject->memory, frame->object, function, INTERNAL_BYTES))
		return -EFAULT;
	if ((u64_at(function, FUNCTION_NAME) >> 3 & FRAME_COOKIE_MASK) != frame->cookie)
		return -ESTALE;
	if (function[FUNCTION_TYPE] == TYPE_FILE || function[FUNCTION_TYPE] == TYPE_EVAL) {
		if (remote__read(subject->memory, frame->object, function, sizeof(function)))
			return -EFAULT;
		err = find_line(subject, function, frame->position, &line);
		if (err)
			return err;
		first_line = u32_at(function, layout->line);
		if (read_string(subject, u64_at(function, layout->file), file, sizeof(file)))
			file[0] = '\0';
	} else if (function[FUNCTION_TYPE] != TYPE_INTERNAL) {
		return -ESTALE;
	}
	err = read_name(subject, function, name, sizeof(name));
	if (err)
		return err;
	runtime_names__add(ret, name, file, line, first_line <= INT32_MAX ? (int)first_line : 0);
	return 0;
}

static const char *const hints[] = { "libphp", NULL };

const struct language language_php = {
	.kind = RUNTIME_PHP,
	.hints = hints,
	.is_in = is_in,
	.open = open_php,
	.name = name_php,
};
