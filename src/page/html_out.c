#include "page/html_out.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

static void begin(struct html_out *out, const char *key)
{
	if (out->comma)
		fputc(',', out->file);
	out->comma = true;
	if (key)
		fprintf(out->file, "\"%s\":", key);
}

/* Members start a line, so that a difference can be read. */
void html_out__open(struct html_out *out, const char *key, char bracket)
{
	if (out->comma)
		fputs(",\n", out->file);
	out->comma = false;
	begin(out, key);
	fputc(bracket, out->file);
	out->comma = false;
}

void html_out__close(struct html_out *out, char bracket)
{
	fputc(bracket, out->file);
	out->comma = true;
}

/* By hand: with printf, half of the time of a large page would go into numbers. */
void html_out__number(struct html_out *out, const char *key, int64_t number)
{
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char text[32], *end = text + sizeof(text), *at = end;

	begin(out, key);
	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (number < 0)
		*--at = '-';
	fwrite(at, 1, (size_t)(end - at), out->file);
}

void html_out__real(struct html_out *out, const char *key, double number)
{
	begin(out, key);
	if (isfinite(number))
		fprintf(out->file, "%.9g", number);
	else
		fputs("null", out->file);
}

void html_out__bool(struct html_out *out, const char *key, bool value)
{
	begin(out, key);
	fputs(value ? "true" : "false", out->file);
}

/* In JSON a '<' can only be inside a string. */
static int put_safely(const char *bytes, size_t size, void *data)
{
	FILE *file = data;

	for (const char *less; (less = memchr(bytes, '<', size)); bytes = less + 1) {
		fwrite(bytes, 1, (size_t)(less - bytes), file);
		fputs("\\u003c", file);
		size -= (size_t)(less + 1 - bytes);
	}
	fwrite(bytes, 1, size, file);
	return 0;
}

void html_out__json(struct html_out *out, const char *key, json_t *value)
{
	begin(out, key);
	if (!value || json_dump_callback(value, put_safely, out->file,
					 JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT))
		out->err = -ENOMEM;
	json_decref(value);
}

void html_out__words(struct html_out *out, const char *key, const char *words)
{
	html_out__json(out, key, words ? json__text(words) : json_null());
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
		out->err = -ENOMEM;
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
	for (const char *at = clean.text; *at; at++)
		hash = map__mix(hash, (unsigned char)*at);
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
	html_out__open(out, key, '[');
	html_out__json(out, NULL, json_null());
	for (size_t i = 0; i < out->texts.count; i++)
		html_out__words(out, NULL, out->texts.list[i] ? out->texts.list[i] : "");
	html_out__close(out, ']');
}
