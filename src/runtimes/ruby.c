/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRuby: where its frames are, and what its methods and blocks are called. The walk is in
 * bpf/ruby_walk.h.
 *
 * The layouts are those of the headers of each version, for 64-bit machines.
 */
#include "runtimes/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

static const struct ruby_layout layouts[] = {
	{ .minor = 1, .frame_bytes = 64, .first_line = 88, .is_tagged = true, .places = 120 },
	{ .minor = 2, .frame_bytes = 64, .first_line = 88, .places = 112, .has_length = true },
	{ .minor = 3, .frame_bytes = 56, .first_line = 88, .places = 112, .has_length = true },
	{ .minor = 4, .frame_bytes = 56, .first_line = 88, .places = 112, .has_length = true },
};

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_in(const struct runtime_file *file)
{
	struct wanted_symbol symbols[] = { { .name = "ruby_version" }, { .name = "rb_errinfo" } };

	return runtime_file__find(file, symbols, 2) == 2;
}

static const struct ruby_layout *find_layout(struct subject *subject)
{
	struct wanted_symbol symbol = { .name = "ruby_version" };
	char version[8] = "";
	int major, minor;

	if (runtime_file__find(&subject->file, &symbol, 1) != 1 ||
	    runtime_file__read(&subject->file, symbol.address, version, sizeof(version) - 1) ||
	    sscanf(version, "%d.%d", &major, &minor) != 2)
		return NULL;
	utf8__sanitize(version);
	snprintf(subject->version, sizeof(subject->version), "%s", version);
	for (size_t i = 0; major == 3 && i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* musl has another table of threads' variables. */
static bool has_musl(const struct subject *subject)
{
	char text[16384];
	ssize_t got = pread(subject->maps_fd, text, sizeof(text) - 1, 0);

	if (got <= 0)
		return false;
	text[got] = '\0';
	return strstr(text, "/ld-musl-") != NULL;
}

static int open_ruby(struct subject *subject)
{
	const struct ruby_layout *layout = find_layout(subject);
	struct runtime_ruby *ruby = &subject->runtime.ruby;
	int err;

	if (!layout || has_musl(subject))
		return -ENOTSUP;
	subject->own = (void *)layout;
	err = ruby_code__find_context(subject, ruby);
	if (!err)
		err = ruby_code__find_loop(subject, &subject->runtime);
	ruby->frame_bytes = layout->frame_bytes;
	return err;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Flags of all objects. */
#define KIND(flags) ((flags) & 0x1f)
#define IS_STRING   5
#define IS_ARRAY    7
#define IS_INTERNAL 26
#define USER_1      (1ULL << 13)

struct object {
	uint64_t flags, class;
	uint64_t words[3];
};

/* Strings up to 3.1 have the length of a short one in bits 14 to 18. */
static int read_string(struct subject *subject, uint64_t address, char *to, size_t size)
{
	const struct ruby_layout *layout = subject->own;
	uint64_t length, data;
	struct object object;

	if (remote__read(subject->memory, address, &object, sizeof(object)) ||
	    KIND(object.flags) != IS_STRING)
		return -ESTALE;
	length = object.words[0];
	data = object.words[1];
	if (!(object.flags & USER_1)) {
		if (!layout->has_length)
			length = object.flags >> 14 & 31;
		data = address + (layout->has_length ? 24 : 16);
	}
	if (length > size - 1)
		length = size - 1;
	if (remote__read(subject->memory, data, to, length))
		return -EFAULT;
	to[length] = '\0';
	utf8__sanitize(to);
	return 0;
}

/* A path, or an array of it and the absolute one. */
static int read_path(struct subject *subject, uint64_t address, char *to, size_t size)
{
	struct object object;
	uint64_t first;

	if (remote__read(subject->memory, address, &object, sizeof(object)))
		return -EFAULT;
	if (KIND(object.flags) == IS_STRING)
		return read_string(subject, address, to, size);
	if (KIND(object.flags) != IS_ARRAY)
		return -ESTALE;
	first = object.words[0];
	if (!(object.flags & USER_1) && remote__read_u64(subject->memory, object.words[2], &first))
		return -EFAULT;
	return read_string(subject, first, to, size);
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * A body has an array of places in the source, and a table that says how many places begin at or
 * before an instruction: for the first 54 instructions 7 bits each, nine in a word; then for each
 * block of 512 instructions the number at its beginning, the number at each 64 of them, 9 bits
 * each, and a bit for each instruction with a place of its own.
 */
#define FIRST_INSTRUCTIONS 54
#define FIRST_WORDS        6
#define BLOCK_INSTRUCTIONS 512
#define PLACE_BYTES        12
#define MOST_PLACES        (1U << 24)

struct place_block {
	uint32_t before, pad;
	uint64_t before_64;
	uint64_t bits[BLOCK_INSTRUCTIONS / 64];
};
_Static_assert(sizeof(struct place_block) == 80, "as in CRuby");

struct places {
	uint64_t places, positions;
	uint64_t count; /* in the lower half */
	uint64_t table;
};

static int find_place(struct subject *subject, const struct places *places, uint32_t instruction,
		      uint32_t *ret)
{
	uint32_t later = instruction - FIRST_INSTRUCTIONS, word, bit;
	struct place_block block;
	uint64_t first;

	if ((uint32_t)places->count == 1) {
		*ret = 0;
		return 0;
	}
	if (instruction < FIRST_INSTRUCTIONS) {
		if (remote__read_u64(subject->memory, places->table + 8ULL * (instruction / 9),
				     &first))
			return -EFAULT;
		*ret = (first >> 7 * (instruction % 9) & 0x7f) - 1;
		return 0;
	}
	if (remote__read(subject->memory,
			 places->table + 8ULL * FIRST_WORDS +
				 sizeof(block) * (later / BLOCK_INSTRUCTIONS),
			 &block, sizeof(block)))
		return -EFAULT;
	word = later % BLOCK_INSTRUCTIONS / 64;
	bit = later % 64;
	*ret = block.before + (word ? (uint32_t)(block.before_64 >> 9 * (word - 1) & 0x1ff) : 0) +
	       (uint32_t)__builtin_popcountll(block.bits[word] << (63 - bit)) - 1;
	return 0;
}

/* 0: unknown. */
static int find_line(struct subject *subject, const struct places *places, uint32_t instruction)
{
	uint32_t place, line;

	if (!(uint32_t)places->count || (uint32_t)places->count > MOST_PLACES ||
	    find_place(subject, places, instruction, &place) || place >= (uint32_t)places->count ||
	    remote__read_u32(subject->memory, places->places + (uint64_t)PLACE_BYTES * place,
			     &line) ||
	    line > INT32_MAX)
		return 0;
	return (int)line;
}

/* --- names ------------------------------------------------------------------------------------ */

/* In the body of an instruction sequence, the same in all versions. */
#define BODY_TYPE  0
#define BODY_SIZE  4
#define BODY_CODE  8
#define BODY_PATH  64
#define BODY_LABEL 80
#define BODY_BYTES (120 + sizeof(struct places))

static uint64_t u64_at(const uint8_t *bytes, size_t at)
{
	uint64_t value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

/* Types of instruction sequences: the code of a file outside of methods. */
#define TYPE_REQUIRED 0
#define TYPE_MAIN     7

static int first_line_of(const struct ruby_layout *layout, const uint8_t *body)
{
	uint64_t line = u64_at(body, layout->first_line);
	uint32_t type;

	memcpy(&type, body + BODY_TYPE, sizeof(type));
	line = layout->is_tagged ? line >> 1 : (uint32_t)line;
	/* Ruby has 0 for a whole file. */
	if (!line && (type == TYPE_REQUIRED || type == TYPE_MAIN))
		line = 1;
	return line <= INT32_MAX ? (int)line : 0;
}

/* The number of the instruction that is being executed. -ESTALE: the position is in other code. */
static int find_instruction(const uint8_t *body, uint32_t position, uint32_t *ret)
{
	uint32_t bytes = position - (uint32_t)u64_at(body, BODY_CODE), size;

	memcpy(&size, body + BODY_SIZE, sizeof(size));
	if (bytes % 8 || bytes / 8 > size)
		return -ESTALE;
	/* The address of an instruction that has begun is that of the next one. */
	*ret = bytes ? bytes / 8 - 1 : 0;
	return 0;
}

static int name_ruby(struct subject *subject, const struct runtime_frame *frame,
		     struct runtime_names *ret)
{
	const struct ruby_layout *layout = subject->own;
	char label[RUNTIME_MOST_NAME], path[RUNTIME_MOST_NAME];
	uint64_t sequence[3]; /* flags, …, body */
	uint8_t body[BODY_BYTES];
	struct places places;
	uint32_t instruction;
	int err;

	if (remote__read(subject->memory, frame->object, sequence, sizeof(sequence)))
		return -EFAULT;
	if (KIND(sequence[0]) != IS_INTERNAL ||
	    (sequence[2] >> 4 & FRAME_COOKIE_MASK) != frame->cookie)
		return -ESTALE;
	if (remote__read(subject->memory, sequence[2], body, sizeof(body)))
		return -EFAULT;
	err = find_instruction(body, frame->position, &instruction);
	if (!err)
		err = read_string(subject, u64_at(body, BODY_LABEL), label, sizeof(label));
	if (err)
		return err;
	if (read_path(subject, u64_at(body, BODY_PATH), path, sizeof(path)))
		path[0] = '\0';
	memcpy(&places, body + layout->places, sizeof(places));
	runtime_names__add(ret, label, path, find_line(subject, &places, instruction),
			   first_line_of(layout, body));
	return 0;
}

static const char *const hints[] = { "libruby", NULL };

const struct language language_ruby = {
	.kind = RUNTIME_RUBY,
	.hints = hints,
	.is_in = is_in,
	.open = open_ruby,
	.name = name_ruby,
};
