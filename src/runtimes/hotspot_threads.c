/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads of a program, and what they have allocated.
 *
 * A thread takes its objects from a buffer of its own. What it has used of a buffer is added to its
 * count when it gets another one, so the part of the buffer that is in use is added here. Both are
 * in the JavaThread and are read at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/hotspot.h"

#define MOST_SPAN   2048       /* bytes from the first field to the end of the last one */
#define MOST_BUFFER (1U << 30) /* bytes: more is what is left of an old buffer */

static bool has(const struct hotspot *hotspot, enum hotspot_field_id id)
{
	return hotspot->fields[id].is_found;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Version 8: a thread leads to the next one. */
static int follow_list(struct subject *subject, uint64_t *list, size_t most, bool *ret_is_cut)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t thread;
	size_t count = 0;

	if (!has(hotspot, HOTSPOT_FIRST_THREAD) || !has(hotspot, HOTSPOT_NEXT_THREAD))
		return -ENOTSUP;
	if (hotspot__read_field(subject, hotspot, 0, HOTSPOT_FIRST_THREAD, &thread))
		return -EFAULT;
	while (thread && count < most) {
		list[count++] = thread;
		if (hotspot__read_field(subject, hotspot, thread, HOTSPOT_NEXT_THREAD, &thread))
			return -EFAULT;
	}
	*ret_is_cut = thread != 0;
	return (int)count;
}

int hotspot__list_threads(struct subject *subject, uint64_t *list, size_t most, bool *ret_is_cut)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t at, count, threads;

	if (most > HOTSPOT_MOST_THREADS)
		most = HOTSPOT_MOST_THREADS;
	if (!has(hotspot, HOTSPOT_THREAD_LIST))
		return follow_list(subject, list, most, ret_is_cut);
	if (!has(hotspot, HOTSPOT_LIST_COUNT) || !has(hotspot, HOTSPOT_LIST_THREADS))
		return -ENOTSUP;
	if (hotspot__read_field(subject, hotspot, 0, HOTSPOT_THREAD_LIST, &at) ||
	    hotspot__read_field(subject, hotspot, at, HOTSPOT_LIST_COUNT, &count) ||
	    hotspot__read_field(subject, hotspot, at, HOTSPOT_LIST_THREADS, &threads))
		return -EFAULT;
	*ret_is_cut = count > most;
	if (*ret_is_cut)
		count = most;
	if (count && remote__read(subject->memory, threads, list, count * sizeof(*list)))
		return -EFAULT;
	return (int)count;
}

/* --- what they have allocated ----------------------------------------------------------------- */

/* Where in a JavaThread the fields are; `begin` to `end` has all of them. */
struct places {
	uint64_t bytes, os_thread, buffer_begin, buffer_top;
	uint64_t begin, end;
};

static void stretch(struct places *places, uint64_t offset)
{
	if (offset < places->begin)
		places->begin = offset;
	if (offset + 8 > places->end)
		places->end = offset + 8;
}

static int find_places(const struct hotspot *hotspot, struct places *ret)
{
	static const enum hotspot_field_id needed[] = { HOTSPOT_THREAD_BYTES,  HOTSPOT_THREAD_OS,
							HOTSPOT_THREAD_BUFFER, HOTSPOT_BUFFER_BEGIN,
							HOTSPOT_BUFFER_TOP,    HOTSPOT_OS_TID };
	uint64_t buffer = hotspot->fields[HOTSPOT_THREAD_BUFFER].value;

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!has(hotspot, needed[i]) || hotspot->fields[needed[i]].value > UINT16_MAX)
			return -ENOTSUP;
	*ret = (struct places) {
		.bytes = hotspot->fields[HOTSPOT_THREAD_BYTES].value,
		.os_thread = hotspot->fields[HOTSPOT_THREAD_OS].value,
		.buffer_begin = buffer + hotspot->fields[HOTSPOT_BUFFER_BEGIN].value,
		.buffer_top = buffer + hotspot->fields[HOTSPOT_BUFFER_TOP].value,
		.begin = UINT64_MAX,
	};
	stretch(ret, ret->bytes);
	stretch(ret, ret->os_thread);
	stretch(ret, ret->buffer_begin);
	stretch(ret, ret->buffer_top);
	return ret->end - ret->begin <= MOST_SPAN ? 0 : -ENOTSUP;
}

static uint64_t word_at(const struct places *places, const uint8_t *span, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, span + (offset - places->begin), sizeof(value));
	return value;
}

/* False: it has ended meanwhile, or has not begun. */
static bool read_thread(struct subject *subject, const struct places *places, uint64_t thread,
			struct runtime_allocation *ret)
{
	uint8_t span[MOST_SPAN];
	uint64_t tid, used;

	if (remote__read(subject->memory, thread + places->begin, span,
			 places->end - places->begin) ||
	    hotspot__read_field(subject, subject->own, word_at(places, span, places->os_thread),
				HOTSPOT_OS_TID, &tid) ||
	    !tid || tid > INT32_MAX)
		return false;
	used = word_at(places, span, places->buffer_top) -
	       word_at(places, span, places->buffer_begin);
	*ret = (struct runtime_allocation) { .bytes = word_at(places, span, places->bytes),
					     .tid = (uint32_t)tid };
	if (used <= MOST_BUFFER)
		ret->bytes += used;
	return ret->bytes <= INT64_MAX;
}

int hotspot__read_allocated(struct subject *subject, struct runtime_allocated *ret)
{
	uint64_t list[HOTSPOT_MOST_THREADS] = {};
	struct places places;
	bool is_cut = false;
	int err = find_places(subject->own, &places);
	int count = err ? err : hotspot__list_threads(subject, list, HOTSPOT_MOST_THREADS, &is_cut);

	if (count < 0)
		return count;
	ret->list = calloc((size_t)count + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	ret->is_cut = is_cut;
	for (int i = 0; i < count; i++)
		ret->count += read_thread(subject, &places, list[i], &ret->list[ret->count]);
	return 0;
}
