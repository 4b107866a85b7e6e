/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define ELLIPSIS "…"

struct texts_entry {
	struct texts_entry *next;
	char text[];
};

void texts__release(struct texts *texts)
{
	while (texts->entries) {
		struct texts_entry *next = texts->entries->next;

		free(texts->entries);
		texts->entries = next;
	}
	*texts = (struct texts) {};
}

/* Copies as much of `text` as fits into `most` bytes, with a terminating NUL. */
static void clean(const char *text, char *to, size_t most)
{
	const char *end = to + most;

	while (*text) {
		uint32_t point = 0;
		size_t length = utf8__decode(text, &point);
		bool bad = !length || utf8__is_control(point);
		size_t size = bad ? 1 : length;
		const char *rest = text + (length ? length : 1);

		if ((size_t)(end - to) < size + (*rest ? strlen(ELLIPSIS) : 0)) {
			to = stpcpy(to, ELLIPSIS);
			break;
		}
		memcpy(to, bad ? "?" : text, size);
		to += size;
		text = rest;
	}
	*to = '\0';
}

/* Allocates `size` bytes that live as long as `texts`. */
static char *add(struct texts *texts, size_t size)
{
	struct texts_entry *entry = malloc(sizeof(*entry) + size);

	if (!entry) {
		texts->failed = true;
		return NULL;
	}
	entry->next = texts->entries;
	texts->entries = entry;
	return entry->text;
}

static const char *copy_of(struct texts *texts, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = add(texts, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

const char *texts__keep(struct texts *texts, const char *text)
{
	size_t most = strnlen(text, TEXTS_MOST);
	char *kept;

	if (!texts->clean)
		return copy_of(texts, text);
	kept = add(texts, most + sizeof(ELLIPSIS));
	if (!kept)
		return NULL;
	/* A text that fits completely needs no room for an ellipsis. */
	clean(text, kept, most < TEXTS_MOST ? most + strlen(ELLIPSIS) : most);
	return kept;
}

const char *texts__repeat(struct texts *texts, const char *text)
{
	const unsigned int count = sizeof(texts->recent) / sizeof(*texts->recent);
	const char *kept;

	for (unsigned int i = 0; i < count; i++)
		if (texts->recent[i] && !strcmp(texts->recent[i], text))
			return texts->recent[i];
	kept = texts__keep(texts, text);
	if (kept)
		texts->recent[texts->next++ % count] = kept;
	return kept;
}
