/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/request_ids.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define TRACE_AT 3 /* 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 */
#define SPAN_AT  36
#define FLAGS_AT 53
#define FLAGS    2

static bool is_hex(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	return true;
}

static bool is_zero(const char *text, size_t count)
{
	return strspn(text, "0") >= count;
}

/* Later versions may have more behind the flags. */
static void take_trace(const char *value, size_t size, struct request_ids *ids)
{
	char text[FLAGS_AT + FLAGS + 1] = "";

	if (size < FLAGS_AT + FLAGS)
		return;
	memcpy(text, value, FLAGS_AT + FLAGS);
	if (!is_hex(text, 2) || !strncmp(text, "ff", 2) || text[TRACE_AT - 1] != '-' ||
	    !is_hex(text + TRACE_AT, REQUEST_TRACE_SIZE - 1) || text[SPAN_AT - 1] != '-' ||
	    !is_hex(text + SPAN_AT, REQUEST_SPAN_SIZE - 1) || text[FLAGS_AT - 1] != '-' ||
	    is_zero(text + TRACE_AT, REQUEST_TRACE_SIZE - 1) ||
	    is_zero(text + SPAN_AT, REQUEST_SPAN_SIZE - 1))
		return;
	memcpy(ids->trace, text + TRACE_AT, REQUEST_TRACE_SIZE - 1);
	memcpy(ids->span, text + SPAN_AT, REQUEST_SPAN_SIZE - 1);
}

static void take_request(const char *value, size_t size, struct request_ids *ids)
{
	if (!size || size >= REQUEST_ID_SIZE)
		return;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)value[i]) && !strchr("-_.:/+=@", value[i]))
			return;
	memcpy(ids->request, value, size);
}

static bool is_named(const char *line, size_t size, const char *name)
{
	size_t length = strlen(name);

	return size > length && line[length] == ':' && !strncasecmp(line, name, length);
}

/* A line of the header, without its end. */
static void take_line(const char *line, size_t size, struct request_ids *ids)
{
	bool is_trace = is_named(line, size, "traceparent");
	const char *value, *end = line + size;

	if (!is_trace && !is_named(line, size, "x-request-id"))
		return;
	value = (const char *)memchr(line, ':', size) + 1;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (is_trace)
		take_trace(value, (size_t)(end - value), ids);
	else
		take_request(value, (size_t)(end - value), ids);
}

void request_ids__find(const char *header, size_t size, struct request_ids *ret)
{
	const char *line = header, *end;

	*ret = (struct request_ids) {};
	size = strnlen(header, size);
	/* The last line may be cut off. Behind an empty one is the body. */
	while ((end = memchr(line, '\r', size - (size_t)(line - header)))) {
		if (end == line)
			return;
		take_line(line, (size_t)(end - line), ret);
		line = end + 1;
		if (line < header + size && *line == '\n')
			line++;
	}
}
