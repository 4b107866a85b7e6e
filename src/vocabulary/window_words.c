/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/window_words.h"

#include <stddef.h>
#include <string.h>

#define KIND_ROW(id, ...)   [WORDS_KIND_##id] = { __VA_ARGS__ },
#define STATUS_ROW(id, ...) [WORDS_STATUS_##id] = { __VA_ARGS__ },
#define PART_ROW(id, ...)   [WORDS_PART_##id] = { __VA_ARGS__ },

static const struct window_kind_words kinds[WORDS_KINDS] = { WINDOW_KINDS(KIND_ROW) };
static const struct window_status_words statuses[WORDS_STATUSES] = { WINDOW_STATUSES(STATUS_ROW) };
static const struct window_part_words parts[WORDS_PARTS] = { WINDOW_PARTS(PART_ROW) };

static const struct {
	const char *key, *words;
} protocols[] = {
#define PROTOCOL_ROW(id, key, words) { key, words },
	WINDOW_PROTOCOLS(PROTOCOL_ROW)
#undef PROTOCOL_ROW
};

const struct window_kind_words *window_words__kind(enum window_words_kind kind)
{
	return &kinds[kind];
}

const struct window_status_words *window_words__status(enum window_words_status status)
{
	return &statuses[status];
}

const struct window_part_words *window_words__part(enum window_words_part part)
{
	return &parts[part];
}

/* In all three tables, a row begins with its key. */
static int find(const char *key, const void *rows, size_t size, int count)
{
	for (int i = 0; key && i < count; i++)
		if (!strcmp(*(const char *const *)((const char *)rows + (size_t)i * size), key))
			return i;
	return -1;
}

int window_words__find_kind(const char *key)
{
	return find(key, kinds, sizeof(*kinds), WORDS_KINDS);
}

int window_words__find_status(const char *key)
{
	return find(key, statuses, sizeof(*statuses), WORDS_STATUSES);
}

int window_words__find_part(const char *key)
{
	return find(key, parts, sizeof(*parts), WORDS_PARTS);
}

const char *window_words__protocol(const char *key)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
		if (!strcmp(protocols[i].key, key))
			return protocols[i].words;
	return key;
}
