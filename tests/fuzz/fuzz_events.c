/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of --event and --pair, and the file "format" of a tracepoint. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "signals/events/event_format.h"
#include "signals/events/event_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct event_format *format)
{
	for (size_t i = 0; i < format->count; i++) {
		const struct event_field *field = &format->fields[i];

		if (field->where.offset + field->where.size > EVENTS_RECORD || !*field->name ||
		    strchr(field->name, ';'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct event_format format;
	char *text = malloc(size + 1);
	struct event_words_pair pair;
	struct event_words words;
	const char *why = NULL;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!event_format__parse(text, &format))
		check(&format);
	if (!event_words__parse(text, &words, &why) && strchr(words.point.group, '/'))
		abort();
	if (event_words__parse_pair(text, &pair, &why) && !why)
		abort();
	free(text);
	return 0;
}
