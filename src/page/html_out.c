/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/html_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/words.h"
#include "model/load.h"

/* Of one name, in columns; and of all that go by a number, in bytes. */
#define MOST_COLUMNS    300
#define MOST_TEXT_BYTES (4 << 20)

void html_out__release(struct html_out *out)
{
	for (size_t i = 0; i < out->texts.count; i++)
		free(out->texts.list[i]);
	free(out->texts.list);
	map__release(&out->texts.places);
}

void html_out__words(struct html_out *out, const char *key, const char *words)
{
	json_out__json(&out->json, key, words ? json__text(words) : json_null());
}

void html_out__text(struct html_out *out, const char *key, const char *text)
{
	html_out__words(out, key, text ? words__clean(text, MOST_COLUMNS).text : NULL);
}

static uint32_t add_text(struct html_out *out, uint64_t hash, const char *text)
{
	struct html_texts *texts = &out->texts;
	char **at = APPEND(&texts->list, &texts->count);

	if (at)
		*at = strdup(text);
	if (!at || !*at || map__put(&texts->places, hash, (void *)(uintptr_t)texts->count)) {
		out->json.err = -ENOMEM;
		return 0;
	}
	texts->bytes += strlen(*at) + 4;
	return (uint32_t)texts->count;
}

uint32_t html_out__keep(struct html_out *out, const char *text)
{
	struct html_texts *texts = &out->texts;
	struct words clean;
	uint64_t hash = 0;
	uintptr_t known;

	if (!text)
		return 0;
	clean = words__clean(text, MOST_COLUMNS);
	hash = map__mix_text(hash, clean.text);
	for (; (known = (uintptr_t)map__get(&texts->places, hash)); hash++)
		if (!strcmp(texts->list[known - 1], clean.text))
			return (uint32_t)known;
	if (texts->bytes <= MOST_TEXT_BYTES)
		return add_text(out, hash, clean.text);
	texts->left_out++;
	/* That one fits: it is there from the first time on. */
	hash = UINT64_C(0xfffffffffffffff0);
	known = (uintptr_t)map__get(&texts->places, hash);
	return known ? (uint32_t)known : add_text(out, hash, "[no room for this name]");
}

void html_out__texts(struct html_out *out, const char *key)
{
	json_out__open(&out->json, key, '[');
	json_out__json(&out->json, NULL, json_null());
	for (size_t i = 0; i < out->texts.count; i++)
		html_out__words(out, NULL, out->texts.list[i] ? out->texts.list[i] : "");
	json_out__close(&out->json, ']');
}

void html_out__colours(struct html_out *out, uint32_t light, uint32_t dark)
{
	char text[8];

	snprintf(text, sizeof(text), "#%06x", light);
	html_out__text(out, "light", text);
	snprintf(text, sizeof(text), "#%06x", dark);
	html_out__text(out, "dark", text);
}
