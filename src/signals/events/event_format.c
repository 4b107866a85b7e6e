/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of the file is, between tabs:
 *
 *	field:DECLARATION;  offset:N;  size:N;  signed:N;
 *
 * The declaration is C, except for texts of variable length ("__data_loc char[] name"). The first
 * fields, common_…, are skipped: the kernel overwrites them before it calls a BPF program.
 */
#include "signals/events/event_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "offset:8;": advances *at behind it. */
static int take_number(const char **at, const char *word, unsigned long most, unsigned *ret)
{
	const char *text = *at + strspn(*at, " \t");
	unsigned long value;
	char *end;

	if (strncmp(text, word, strlen(word)))
		return -EBADMSG;
	text += strlen(word);
	if (!isdigit((unsigned char)*text))
		return -EBADMSG;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end != ';' || value > most)
		return -EBADMSG;
	*ret = (unsigned)value;
	*at = end + 1;
	return 0;
}

static bool begins_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static enum events_kind kind_of(const char *type, bool is_array, unsigned size, bool is_signed)
{
	static const char *const prefixes[] = { "__data_loc ", "__rel_loc " };
	static const enum events_kind kinds[] = { EVENTS_DATA_LOC, EVENTS_REL_LOC };

	for (size_t i = 0; i < 2; i++)
		if (begins_with(type, prefixes[i]))
			return size == 4 && !strcmp(type + strlen(prefixes[i]), "char[]")
				       ? kinds[i]
				       : EVENTS_NO_FIELD;
	if (is_array)
		return !strcmp(type, "char") || !strcmp(type, "const char") ? EVENTS_TEXT
									    : EVENTS_NO_FIELD;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return EVENTS_NO_FIELD;
	return is_signed ? EVENTS_SIGNED : EVENTS_UNSIGNED;
}

/* Splits "char prev_comm[16]" into "char" and "prev_comm". */
static int take_declaration(const char *text, size_t length, struct event_field *ret,
			    bool *ret_array)
{
	const char *end = text + length, *name;
	size_t type;

	*ret_array = length && end[-1] == ']';
	if (*ret_array) {
		while (end > text && end[-1] != '[')
			end--;
		if (end == text)
			return -EBADMSG;
		end--;
	}
	for (name = end; name > text && is_name_character(name[-1]);)
		name--;
	for (type = (size_t)(name - text); type && text[type - 1] == ' ';)
		type--;
	if (name == end || !type || (size_t)(end - name) >= sizeof(ret->name) ||
	    type >= sizeof(ret->type))
		return -EBADMSG;
	memcpy(ret->name, name, (size_t)(end - name));
	memcpy(ret->type, text, type);
	ret->is_pointer = memchr(text, '*', type);
	return 0;
}

static int take_field(const char *line, struct event_field *ret)
{
	struct event_field field = {};
	unsigned offset, size, is_signed;
	size_t length;
	bool is_array;
	const char *at;
	int err;

	line += strlen("field:");
	length = strcspn(line, ";\n");
	if (line[length] != ';')
		return -EBADMSG;
	at = line + length + 1;
	err = take_declaration(line, length, &field, &is_array);
	if (!err)
		err = take_number(&at, "offset:", EVENTS_RECORD, &offset);
	if (!err)
		err = take_number(&at, "size:", EVENTS_RECORD, &size);
	if (!err)
		err = take_number(&at, "signed:", 1, &is_signed);
	if (!err && (*at != '\n' || offset + size > EVENTS_RECORD))
		err = -EBADMSG;
	if (err)
		return err;
	field.where = (struct events_field) {
		.offset = (__u16)offset,
		.size = (__u16)size,
		.kind = kind_of(field.type, is_array, size, is_signed && !field.is_pointer),
	};
	*ret = field;
	return 0;
}

static int add_field(struct event_format *format, const char *line)
{
	struct event_field field;
	int err = take_field(line, &field);

	if (err || begins_with(field.name, "common_"))
		return err;
	if (format->count == EVENT_FORMAT_FIELDS)
		return -E2BIG;
	format->fields[format->count++] = field;
	return 0;
}

int event_format__parse(const char *text, struct event_format *ret)
{
	const char *line = strstr(text, "\nformat:\n");
	int err = 0;

	if (!line)
		return -EBADMSG;
	ret->count = 0;
	line += strlen("\nformat:\n");
	while (!err && !begins_with(line, "print fmt:")) {
		size_t length = strcspn(line, "\n");

		if (!line[length])
			return -EBADMSG;
		if (begins_with(line, "\tfield:"))
			err = add_field(ret, line + 1);
		else if (length)
			err = -EBADMSG;
		line += length + 1;
	}
	return err;
}

const struct event_field *event_format__find(const struct event_format *format, const char *name)
{
	for (size_t i = 0; i < format->count; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	return NULL;
}
