/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that V8's compilers made: which one has an address, for which function, and which functions
 * it has inlined there.
 *
 * V8 itself keeps lists of code by page, which differ much from version to version. Here the memory
 * before the address is searched for what precedes the instructions: an object, which says how many
 * there are, or a small header that leads to such an object, which leads back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/v8.h"

#define CODE_BYTES           64 /* of a Code, as far as it is read */
#define STREAM_CODE          8  /* in a header: the Code */
#define ALIGNED              16 /* addresses of headers and objects */
#define PIECE_BYTES          4096
#define MOST_CODE            (1U << 20)
#define MOST_BYTES           (1U << 20)
#define LENGTH               8
#define WRAPPED              8  /* in a SharedFunctionInfoWrapper */
#define INLINED_SIZE         16 /* of an inlined call: position, number of the function */
#define ARRAY_DATA           16
#define SHARED_DATA          8 /* in a SharedFunctionInfo: bytecode, code, or an object with them */
#define BASELINE_CODE        8
#define BASELINE_BYTECODE    16
#define INTERPRETER_BYTECODE 8

/* --- finding it ------------------------------------------------------------------------------- */

/* Reads a Code. `start`: where its instructions have to begin. */
static bool read_code(const struct v8 *v8, uint64_t object, uint64_t start, struct v8_code *ret)
{
	const struct v8_layout *layout = v8->layout;
	uint8_t bytes[CODE_BYTES];
	struct v8_code code = { .object = object, .start = start };

	if (v8__read(v8, object, 0, bytes, sizeof(bytes)))
		return false;
	if (layout->stream_header) {
		memcpy(&code.start, bytes + layout->code_start, sizeof(code.start));
		if (code.start != start)
			return false;
	}
	memcpy(&code.size, bytes + layout->code_size, sizeof(code.size));
	memcpy(&code.flags, bytes + layout->code_flags, sizeof(code.flags));
	memcpy(&code.data, bytes + layout->code_data, sizeof(code.data));
	memcpy(&code.positions, bytes + layout->code_positions, sizeof(code.positions));
	if (!code.size || code.size > MOST_CODE || !v8__is(v8, object, V8_TYPE_CODE))
		return false;
	*ret = code;
	return true;
}

static bool has(const struct v8_code *code, uint64_t address)
{
	return address >= code->start && address - code->start < code->size;
}

/* Whether the words at `at` can be the beginning of code that has the address. */
static bool is_there(const struct v8 *v8, uint64_t at, const uint64_t *words, uint64_t address,
		     struct v8_code *ret)
{
	uint64_t header = v8->layout->stream_header;

	if ((words[0] & 3) != 1 || (words[1] & 3) != 1)
		return false;
	if (header)
		return address - at >= header &&
		       read_code(v8, words[STREAM_CODE / 8], at + header, ret) && has(ret, address);
	return read_code(v8, at + 1, at + v8->layout->code_header, ret) && has(ret, address);
}

static bool search_piece(const struct v8 *v8, uint64_t begin, uint64_t end, uint64_t address,
			 struct v8_code *ret)
{
	/* A header at the end may need the first word after it. */
	uint64_t words[PIECE_BYTES / 8];

	if (remote__read(v8->memory, begin, words, end - begin))
		return false;
	for (uint64_t at = end; at > begin;) {
		at -= ALIGNED;
		if (is_there(v8, at, &words[(at - begin) / 8], address, ret))
			return true;
	}
	return false;
}

static bool search(const struct v8 *v8, uint64_t address, struct v8_code *ret)
{
	uint64_t end = (address & ~(uint64_t)(ALIGNED - 1)) + ALIGNED;
	uint64_t least = address > MOST_CODE ? address - MOST_CODE : 0;

	while (end > least) {
		/* Pieces do not cross pages: the one before need not be there. */
		uint64_t begin = (end - 1) & ~(uint64_t)(PIECE_BYTES - 1);

		if (search_piece(v8, begin, end, address, ret))
			return true;
		if (begin == 0 || remote__read(v8->memory, begin - 1, &(uint8_t) { 0 }, 1))
			return false;
		end = begin;
	}
	return false;
}

int v8_code__find(struct v8 *v8, uint64_t address, struct v8_code *ret)
{
	struct v8_code code;

	for (uint32_t i = 0; i < V8_CODES; i++) {
		const struct v8_code *known = &v8->codes[i];

		/* It can have moved since, or be gone. */
		if (known->object && has(known, address) &&
		    read_code(v8, known->object, known->start, &code) && has(&code, address)) {
			*ret = code;
			return 0;
		}
	}
	if (!search(v8, address, &code))
		return -ENOENT;
	v8->codes[v8->next_code++ % V8_CODES] = code;
	*ret = code;
	return 0;
}

/* --- what it is ------------------------------------------------------------------------------- */

bool v8_code__is_optimized(const struct v8 *v8, const struct v8_code *code)
{
	return V8_KIND(code->flags) > v8->layout->baseline;
}

bool v8_code__is_baseline(const struct v8 *v8, const struct v8_code *code, uint64_t function)
{
	uint64_t data = v8__word(v8, function, SHARED_DATA);

	/* In 9.4, an object in between has the code and the bytecode. */
	return V8_KIND(code->flags) == v8->layout->baseline &&
	       (data == code->object || v8__word(v8, data, BASELINE_CODE) == code->object);
}

uint64_t v8_code__bytecode(const struct v8 *v8, uint64_t function)
{
	uint64_t data = v8__word(v8, function, SHARED_DATA);
	const uint64_t found[] = { data, v8__word(v8, data, v8->layout->code_data),
				   v8__word(v8, data, BASELINE_BYTECODE),
				   v8__word(v8, data, INTERPRETER_BYTECODE) };

	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		if (v8__is(v8, found[i], V8_TYPE_BYTECODE))
			return found[i];
	return 0;
}

uint64_t v8_code__function(const struct v8 *v8, const struct v8_code *code)
{
	uint64_t function;

	if (!v8_code__is_optimized(v8, code))
		return 0;
	function = v8__element(v8, code->data, v8->layout->optimized);
	if (v8->layout->is_wrapped)
		function = v8__word(v8, function, WRAPPED);
	return v8__is(v8, function, V8_TYPE_SHARED) ? function : 0;
}

/* --- places ----------------------------------------------------------------------------------- */

int32_t v8_code__bytecode_position(const struct v8 *v8, uint64_t bytecode, int64_t offset)
{
	cleanup(free_p) uint8_t *table = NULL;
	size_t size;

	if (offset < 0 || !v8__is(v8, bytecode, V8_TYPE_BYTECODE))
		return -1;
	table = v8__bytes(v8, v8__word(v8, bytecode, v8->layout->bytecode_positions), &size);
	return table ? v8_position__offset(v8_positions__find(table, size, offset)) : -1;
}

int32_t v8_code__baseline_position(const struct v8 *v8, const struct v8_code *code,
				   uint64_t bytecode, uint64_t address)
{
	cleanup(free_p) uint8_t *table = NULL, *bytes = NULL;
	size_t size, length = (size_t)(v8__word(v8, bytecode, LENGTH) >> 32);

	if (!v8->bytecodes || !length || length > MOST_BYTES)
		return -1;
	bytes = malloc(length);
	table = v8__bytes(v8, code->positions, &size);
	if (!bytes || !table || v8__read(v8, bytecode, v8->layout->bytecode_data, bytes, length))
		return -1;
	return v8_code__bytecode_position(
		v8, bytecode,
		v8_positions__bytecode(v8, table, size, bytes, length,
				       (uint32_t)(address - code->start)));
}

/* The position at which a call was inlined, and the function that was called. */
static bool read_inlined(const struct v8 *v8, const struct v8_code *code, uint32_t number,
			 int64_t *ret_position, uint64_t *ret_function)
{
	uint64_t calls = v8__element(v8, code->data, v8->layout->inlined), size, function;
	struct {
		int64_t position;
		int32_t function, pad;
	} call;

	size = v8__word(v8, calls, LENGTH);
	if (!v8__is_number(size) || (uint64_t)number * INLINED_SIZE > size >> 32 ||
	    v8__read(v8, calls, ARRAY_DATA + (number - 1) * INLINED_SIZE, &call, sizeof(call)) ||
	    call.function < 0)
		return false;
	function = v8__element(v8, v8__element(v8, code->data, v8->layout->literals),
			       (uint32_t)call.function);
	if (!v8__is(v8, function, V8_TYPE_SHARED))
		return false;
	*ret_position = call.position;
	*ret_function = function;
	return true;
}

int v8_code__places(const struct v8 *v8, const struct v8_code *code, uint64_t address,
		    struct v8_place *ret)
{
	cleanup(free_p) uint8_t *table = NULL;
	int64_t position;
	uint32_t number;
	int count = 0;
	size_t size;

	table = v8__bytes(v8, code->positions, &size);
	position = table ? v8_positions__find(table, size, (int64_t)(address - code->start)) : -1;
	while ((number = v8_position__inlined(position)) && count + 1 < RUNTIME_MOST_INLINE) {
		int32_t at = v8_position__offset(position);
		uint64_t function;

		if (!read_inlined(v8, code, number, &position, &function)) {
			position = -1;
			break;
		}
		ret[count++] = (struct v8_place) { function, at };
	}
	ret[count++] =
		(struct v8_place) { v8_code__function(v8, code), v8_position__offset(position) };
	return count;
}
