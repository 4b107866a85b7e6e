/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the elements of "items" in a stream of JSON and gives each to jansson. A parser for the
 * whole answer would need ten times its size: 160 MB for the largest answer that is allowed. What
 * is outside of "items" is only followed, not validated.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "identity/pods.h"
#include "identity/pods_internal.h"

#define KEY         "items"
#define ITEMS_DEPTH 2 /* inside {"items": [ */

struct pods_reader {
	struct pods *pods;
	const char *const *labels;
	size_t bytes; /* so far */
	unsigned int depth;
	bool in_string, after_backslash;
	bool has_begun;
	bool has_key;           /* "items" was there */
	bool is_key, is_member; /* the last string was "items"; and a colon followed */
	bool in_items;
	char word[sizeof(KEY)]; /* begin of the last string; its length may be larger */
	size_t word_length;
	/* The element being read: */
	char *item;
	size_t item_length, item_room;
	bool in_item, is_too_long;
};

int pods_reader__new(const char *const *labels, struct pods_reader **ret)
{
	struct pods_reader *reader = calloc(1, sizeof(*reader));
	int err = reader ? pods__new(&reader->pods) : -ENOMEM;

	if (err) {
		free(reader);
		return err;
	}
	reader->labels = labels;
	*ret = reader;
	return 0;
}

void pods_reader__free(struct pods_reader *reader)
{
	if (!reader)
		return;
	pods__free(reader->pods);
	free(reader->item);
	free(reader);
}

/* --- one element ---------------------------------------------------------------------------- */

static int keep_byte(struct pods_reader *reader, char byte)
{
	if (reader->item_length == PODS_MOST_POD_BYTES)
		reader->is_too_long = true;
	if (reader->is_too_long)
		return 0;
	if (reader->item_length == reader->item_room) {
		size_t room = reader->item_room ? 2 * reader->item_room : 16384;
		char *item = realloc(reader->item, room);

		if (!item)
			return -ENOMEM;
		reader->item = item;
		reader->item_room = room;
	}
	reader->item[reader->item_length++] = byte;
	return 0;
}

static int end_item(struct pods_reader *reader)
{
	json_t *object;
	int err;

	reader->in_item = false;
	object =
		reader->is_too_long ? NULL : json_loadb(reader->item, reader->item_length, 0, NULL);
	/* jansson refuses texts that JSON allows, such as one with a zero byte. */
	if (!object) {
		pods__skip(reader->pods);
		return 0;
	}
	err = pods__add(reader->pods, object, reader->labels);
	json_decref(object);
	return err;
}

/* --- the stream ----------------------------------------------------------------------------- */

static void end_string(struct pods_reader *reader)
{
	reader->in_string = false;
	if (reader->depth != 1)
		return;
	reader->is_key =
		reader->word_length == strlen(KEY) && !memcmp(reader->word, KEY, strlen(KEY));
}

static void take_string_byte(struct pods_reader *reader, char byte)
{
	if (reader->after_backslash) {
		reader->after_backslash = false;
	} else if (byte == '\\') {
		reader->after_backslash = true;
	} else if (byte == '"') {
		end_string(reader);
		return;
	}
	if (reader->word_length < sizeof(reader->word))
		reader->word[reader->word_length++] = byte;
}

static int open_bracket(struct pods_reader *reader, char byte)
{
	if (!reader->depth && (reader->has_begun || byte != '{'))
		return -EBADMSG;
	if (reader->depth == PODS_MOST_DEPTH)
		return -E2BIG;
	reader->has_begun = true;
	if (reader->depth == 1 && byte == '[' && reader->is_member)
		reader->in_items = true;
	if (reader->in_items && reader->depth == ITEMS_DEPTH && byte == '{') {
		reader->in_item = true;
		reader->is_too_long = false;
		reader->item_length = 0;
	}
	reader->depth++;
	return 0;
}

/* The byte is already part of the element. */
static int close_bracket(struct pods_reader *reader)
{
	if (!reader->depth)
		return -EBADMSG;
	reader->depth--;
	if (reader->in_item && reader->depth == ITEMS_DEPTH)
		return end_item(reader);
	if (reader->depth == 1)
		reader->in_items = false;
	return 0;
}

static int take_byte(struct pods_reader *reader, char byte)
{
	bool at_top = reader->depth == 1;
	int err = 0;

	if (reader->in_string) {
		take_string_byte(reader, byte);
		return reader->in_item ? keep_byte(reader, byte) : 0;
	}
	if (byte == '{' || byte == '[')
		err = open_bracket(reader, byte);
	if (!err && reader->in_item)
		err = keep_byte(reader, byte);
	if (err)
		return err;
	switch (byte) {
	case '{':
	case '[':
		return 0;
	case '}':
	case ']':
		return close_bracket(reader);
	case '"':
		reader->in_string = true;
		reader->word_length = 0;
		break;
	case ':':
		reader->is_member = at_top && reader->is_key;
		reader->has_key |= reader->is_member;
		break;
	case ',':
		reader->is_member &= !at_top;
		break;
	case ' ':
	case '\t':
	case '\n':
	case '\r':
		return 0;
	default:
		break;
	}
	return reader->depth ? 0 : -EBADMSG;
}

int pods_reader__feed(struct pods_reader *reader, const char *bytes, size_t size)
{
	int err = 0;

	if (size > PODS_MOST_BYTES - reader->bytes)
		return -E2BIG;
	reader->bytes += size;
	for (size_t i = 0; !err && i < size; i++)
		err = take_byte(reader, bytes[i]);
	return err;
}

int pods_reader__finish(struct pods_reader *reader, struct pods **ret)
{
	if (reader->depth || reader->in_string || !reader->has_key)
		return -EBADMSG;
	*ret = TAKE(reader->pods);
	return 0;
}
