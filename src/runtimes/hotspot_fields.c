/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of a class of Java. Up to version 20, each has six numbers of 16 bits. Since 21 they are a
 * stream of compressed numbers: how many fields there are, how many that HotSpot adds, and of each
 * its name, its type, its offset, two sets of flags, and up to three more numbers if flags say so.
 */
#include "runtimes/hotspot_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FIELDS       1024
#define MOST_STREAM_BYTES 16384
#define MOST_NAME         64

enum { SHORT_ACCESS, SHORT_NAME, SHORT_TYPE, SHORT_VALUE, SHORT_LOW, SHORT_HIGH, SHORTS };

#define IS_INTERNAL 0x0400 /* added by HotSpot, its name is not in the pool */
#define TAG_MASK    3
#define TAG_OFFSET  1 /* the upper 30 bits are the offset */

enum { FIELD_HAS_VALUE = 1, FIELD_HAS_SIGNATURE = 4, FIELD_HAS_GROUP = 16 };

struct search {
	struct subject *subject;
	uint64_t pool;
	const char *name;
};

static bool is_named(const struct search *search, uint32_t index)
{
	char name[MOST_NAME];

	return !hotspot_method__constant(search->subject, search->pool, index, name,
					 sizeof(name)) &&
	       !strcmp(name, search->name);
}

static int find_in_shorts(const struct search *search, uint64_t class, uint32_t *ret)
{
	const struct hotspot *hotspot = search->subject->own;
	uint16_t field[SHORTS];
	uint64_t array, count;

	if (hotspot__read_field(search->subject, hotspot, class, HOTSPOT_KLASS_FIELDS, &array) ||
	    hotspot__read_field(search->subject, hotspot, class, HOTSPOT_KLASS_FIELD_COUNT, &count))
		return -EFAULT;
	if (count > MOST_FIELDS)
		return -ESTALE;
	for (uint64_t i = 0; i < count; i++) {
		/* An array begins with its length, of 32 bits. */
		if (remote__read(search->subject->memory, array + 4 + i * sizeof(field), field,
				 sizeof(field)))
			return -EFAULT;
		if (field[SHORT_ACCESS] & IS_INTERNAL || !is_named(search, field[SHORT_NAME]))
			continue;
		if ((field[SHORT_LOW] & TAG_MASK) != TAG_OFFSET)
			return -ESTALE;
		*ret = ((uint32_t)field[SHORT_HIGH] << 16 | field[SHORT_LOW]) >> 2;
		return 0;
	}
	return -ENOENT;
}

/* The next field of a stream. false: there are not enough bytes. */
static bool next_field(struct hotspot_numbers *numbers, uint32_t *ret_name, uint32_t *ret_offset)
{
	uint32_t type, access, flags, more;

	if (!hotspot_numbers__next(numbers, ret_name) || !hotspot_numbers__next(numbers, &type) ||
	    !hotspot_numbers__next(numbers, ret_offset) ||
	    !hotspot_numbers__next(numbers, &access) || !hotspot_numbers__next(numbers, &flags))
		return false;
	return (!(flags & FIELD_HAS_VALUE) || hotspot_numbers__next(numbers, &more)) &&
	       (!(flags & FIELD_HAS_SIGNATURE) || hotspot_numbers__next(numbers, &more)) &&
	       (!(flags & FIELD_HAS_GROUP) || hotspot_numbers__next(numbers, &more));
}

static int search_stream(const struct search *search, struct hotspot_numbers *numbers,
			 uint32_t *ret)
{
	uint32_t count, added, name, offset;

	if (!hotspot_numbers__next(numbers, &count) || !hotspot_numbers__next(numbers, &added) ||
	    count > MOST_FIELDS)
		return -ESTALE;
	for (uint32_t i = 0; i < count; i++) {
		if (!next_field(numbers, &name, &offset))
			return -ESTALE;
		if (!is_named(search, name))
			continue;
		*ret = offset;
		return 0;
	}
	return -ENOENT;
}

static int find_in_stream(const struct search *search, uint64_t class, uint32_t *ret)
{
	const struct hotspot *hotspot = search->subject->own;
	struct hotspot_numbers numbers = { .least = hotspot_numbers__least(hotspot) };
	unsigned char *bytes;
	uint64_t array;
	uint32_t count;
	int err;

	if (hotspot__read_field(search->subject, hotspot, class, HOTSPOT_KLASS_FIELD_STREAM,
				&array) ||
	    remote__read_u32(search->subject->memory, array, &count))
		return -EFAULT;
	if (!count || count > MOST_STREAM_BYTES)
		return -ESTALE;
	bytes = malloc(count);
	if (!bytes)
		return -ENOMEM;
	numbers.bytes = bytes;
	numbers.size = count;
	err = remote__read(search->subject->memory, array + 4, bytes, count);
	err = err ?: search_stream(search, &numbers, ret);
	free(bytes);
	return err;
}

int hotspot_fields__find(struct subject *subject, uint64_t class, const char *name, uint32_t *ret)
{
	const struct hotspot *hotspot = subject->own;
	struct search search = { .subject = subject, .name = name };

	if (!hotspot->fields[HOTSPOT_KLASS_POOL].is_found)
		return -ENOTSUP;
	if (hotspot__read_field(subject, hotspot, class, HOTSPOT_KLASS_POOL, &search.pool))
		return -EFAULT;
	if (hotspot->fields[HOTSPOT_KLASS_FIELD_STREAM].is_found)
		return find_in_stream(&search, class, ret);
	if (hotspot->fields[HOTSPOT_KLASS_FIELDS].is_found &&
	    hotspot->fields[HOTSPOT_KLASS_FIELD_COUNT].is_found)
		return find_in_shorts(&search, class, ret);
	return -ENOTSUP;
}
