/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of positions in scripts. V8 counts the lines of a script only when a stack trace needs
 * them, so they are counted here, once for each script.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "runtimes/v8.h"

#define SCRIPT_SOURCE 8
#define SCRIPT_LINE   24 /* of the first line, from 0 */
#define SCRIPT_ID     64

#define SCRIPTS     256
#define PIECE_BYTES (64UL << 10)
#define MOST_BYTES  (64UL << 20)
#define MOST_LINES  (4UL << 20) /* of all scripts */

/* A script: its source can move, but its number and length stay. */
struct script {
	uint64_t id, source;
	uint32_t length;
	uint32_t *begins; /* of the lines from the second on */
	size_t count;
};

struct v8_lines {
	struct script scripts[SCRIPTS];
	size_t count, lines;
};

int v8_lines__new(struct v8_lines **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void forget_all(struct v8_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->scripts[i].begins);
	lines->count = lines->lines = 0;
}

void v8_lines__free(struct v8_lines *lines)
{
	if (!lines)
		return;
	forget_all(lines);
	free(lines);
}

/* Whether a line ends with this character. `next` is the one after it. */
static bool ends_line(uint32_t character, uint32_t next)
{
	return character == '\n' || (character == '\r' && next != '\n') || character == 0x2028 ||
	       character == 0x2029;
}

static uint32_t unit_at(const uint8_t *bytes, uint32_t width, size_t at)
{
	uint16_t unit;

	if (width == 1)
		return bytes[at];
	memcpy(&unit, bytes + 2 * at, sizeof(unit));
	return unit;
}

static int count_lines(const struct v8 *v8, const struct v8_characters *source,
		       struct script *script)
{
	cleanup(free_p) uint8_t *bytes = malloc(PIECE_BYTES);
	uint32_t last = 0, done = 0, width = source->width;

	if (!bytes)
		return -ENOMEM;
	while (done < source->length) {
		uint32_t count = source->length - done;

		if (count > PIECE_BYTES / width)
			count = PIECE_BYTES / width;
		if (remote__read(v8->memory, source->address + (uint64_t)done * width, bytes,
				 (size_t)count * width))
			return -EFAULT;
		for (uint32_t i = 0; i <= count && done + i <= source->length; i++) {
			uint32_t next = i < count ? unit_at(bytes, width, i) : 0;
			uint32_t *begin;

			/* The last one of this piece is looked at with the next piece. */
			if (i == count && done + count < source->length)
				break;
			if (ends_line(last, next) && script->count < MOST_LINES) {
				begin = APPEND(&script->begins, &script->count);
				if (!begin)
					return -ENOMEM;
				*begin = done + i;
			}
			last = next;
		}
		done += count;
	}
	return 0;
}

/* NULL: its source cannot be read. */
static const struct script *find_script(struct v8 *v8, uint64_t object)
{
	struct v8_lines *lines = v8->lines;
	struct v8_characters source;
	struct script script = { .source = v8__word(v8, object, SCRIPT_SOURCE),
				 .id = v8__word(v8, object, SCRIPT_ID) };

	if (v8_text__locate(v8, script.source, &source) ||
	    (uint64_t)source.length * source.width > MOST_BYTES)
		return NULL;
	script.length = source.length;
	for (size_t i = 0; i < lines->count; i++) {
		const struct script *known = &lines->scripts[i];

		if (known->id == script.id && known->source == script.source &&
		    known->length == script.length)
			return known;
	}
	if (count_lines(v8, &source, &script)) {
		free(script.begins);
		return NULL;
	}
	if (lines->count == SCRIPTS || lines->lines + script.count > MOST_LINES)
		forget_all(lines);
	lines->lines += script.count;
	lines->scripts[lines->count] = script;
	return &lines->scripts[lines->count++];
}

int v8_lines__find(struct v8 *v8, uint64_t object, int32_t position)
{
	uint64_t first = v8__word(v8, object, SCRIPT_LINE);
	const struct script *script;
	size_t low = 0, high;

	script = position < 0 ? NULL : find_script(v8, object);
	if (!script || (uint32_t)position > script->length)
		return 0;
	high = script->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (script->begins[middle] <= (uint32_t)position)
			low = middle + 1;
		else
			high = middle;
	}
	if (!v8__is_number(first) || first >> 32 > MOST_LINES)
		first = 0;
	return (int)(low + 1 + (first >> 32));
}
