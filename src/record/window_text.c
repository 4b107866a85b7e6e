/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/window_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "ledger/windows/fold.h"

struct line {
	char *text;
	size_t size, length;
};

static void add(struct line *line, char c)
{
	if (line->length + 1 < line->size)
		line->text[line->length++] = c;
	line->text[line->length] = '\0';
}

static void add_part(struct line *line, const struct fold *fold, const char *part)
{
	if (fold_is_id(fold)) {
		add(line, '*');
		return;
	}
	for (__u32 i = 0; i < fold->size; i++)
		add(line, part[i]);
}

static void class_of_path(const char *text, struct line *line)
{
	struct fold fold = {};
	const char *part = text;
	__u32 spaces = 0;

	for (__u32 i = 0; i < FOLD_BYTES && !fold_ends((__u8)text[i], spaces); i++) {
		spaces += text[i] == ' ';
		if (text[i] == '/' || text[i] == ' ') {
			add_part(line, &fold, part);
			add(line, text[i]);
			part = &text[i + 1];
		}
		fold_byte(&fold, (__u8)text[i]);
	}
	add_part(line, &fold, part);
}

/* Where the statement or the command is. */
static size_t word_at(enum window_protocol protocol, const char *text)
{
	size_t at = protocol == WINDOW_PROTOCOL_POSTGRES ? STATEMENT_AT : 0;

	if (protocol != WINDOW_PROTOCOL_POSTGRES || text[0] != 'P')
		return at;
	while (at < FOLD_BYTES && text[at])
		at++;
	return at < FOLD_BYTES ? at + 1 : at;
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static void class_of_word(enum window_protocol protocol, const char *text, struct line *line)
{
	size_t at = word_at(protocol, text);

	while (at < FOLD_BYTES && !is_letter(text[at]))
		at++;
	while (at < FOLD_BYTES && is_letter(text[at]))
		add(line, (char)toupper((unsigned char)text[at++]));
}

void window_text__class(enum window_protocol protocol, const char *text, char *ret, size_t size)
{
	struct line line = { .text = ret, .size = size };

	*ret = '\0';
	if (fold_is_path(protocol))
		class_of_path(text, &line);
	else
		class_of_word(protocol, text, &line);
}

/* "*2\r\n$3\r\nGET\r\n$5\r\nhello" is "GET hello". */
static void line_of_redis(const char *text, struct line *line)
{
	size_t at = 0;

	while (at < FOLD_BYTES && text[at]) {
		bool is_header = text[at] == '*' || text[at] == '$';

		if (!is_header && line->length)
			add(line, ' ');
		for (; at < FOLD_BYTES && text[at] && text[at] != '\r'; at++)
			if (!is_header)
				add(line, text[at]);
		at += 2;
	}
}

void window_text__line(enum window_protocol protocol, const char *text, char *ret, size_t size)
{
	struct line line = { .text = ret, .size = size };

	*ret = '\0';
	if (protocol == WINDOW_PROTOCOL_REDIS) {
		line_of_redis(text, &line);
		return;
	}
	for (size_t i = word_at(protocol, text); i < WINDOW_TEXT_BYTES && text[i]; i++) {
		if (text[i] == '\r' || (text[i] == '\n' && fold_is_path(protocol)))
			break;
		add(&line, text[i] == '\n' || text[i] == '\t' ? ' ' : text[i]);
	}
}
