/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_out.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"

/* What stands before a value. False: an error came first. */
static bool begin(struct json_out *out, const char *key)
{
	if (out->err)
		return false;
	if (out->comma)
		fputc(',', out->file);
	out->comma = true;
	if (key) {
		escape__json(out->file, key);
		fputc(':', out->file);
	}
	return true;
}

/* Columns and the members of a list start a line, so that a difference can be read. */
void json_out__open(struct json_out *out, const char *key, char bracket)
{
	if (out->err)
		return;
	if (out->comma)
		fputc(',', out->file);
	if (out->begun && (!key || bracket == '['))
		fputc('\n', out->file);
	out->comma = false;
	out->begun = true;
	if (begin(out, key))
		fputc(bracket, out->file);
	out->comma = false;
}

void json_out__close(struct json_out *out, char bracket)
{
	if (!out->err)
		fputc(bracket, out->file);
	out->comma = true;
}

void json_out__number(struct json_out *out, const char *key, int64_t number)
{
	json_out__decimal(out, key, number, 0);
}

/* By hand: with printf, half of the time of a large export would go into numbers. */
void json_out__decimal(struct json_out *out, const char *key, int64_t number, int digits)
{
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char text[32], *end = text + sizeof(text), *at = end;

	if (!begin(out, key))
		return;
	for (int i = 0; i < digits; i++, rest /= 10)
		/* No zeroes at the end. */
		if (at < end || rest % 10)
			*--at = (char)('0' + rest % 10);
	if (at < end)
		*--at = '.';
	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (number < 0)
		*--at = '-';
	fwrite(at, 1, (size_t)(end - at), out->file);
}

void json_out__bool(struct json_out *out, const char *key, bool value)
{
	if (begin(out, key))
		fputs(value ? "true" : "false", out->file);
}

void json_out__real(struct json_out *out, const char *key, double number)
{
	if (!isfinite(number))
		json_out__null(out, key);
	else if (begin(out, key))
		fprintf(out->file, "%.9g", number);
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

static int put_plainly(const char *bytes, size_t size, void *data)
{
	fwrite(bytes, 1, size, (FILE *)data);
	return 0;
}

void json_out__json(struct json_out *out, const char *key, json_t *value)
{
	size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | (out->in_page ? JSON_ENSURE_ASCII : 0);

	if (begin(out, key) &&
	    (!value ||
	     json_dump_callback(value, out->in_page ? put_safely : put_plainly, out->file, flags)))
		out->err = -ENOMEM;
	json_decref(value);
}

void json_out__text(struct json_out *out, const char *key, const char *text)
{
	if (text && out->in_page)
		json_out__json(out, key, json_string(text));
	else if (begin(out, key) && text)
		escape__json(out->file, text);
	else if (!out->err)
		fputs("null", out->file);
}

void json_out__null(struct json_out *out, const char *key)
{
	json_out__text(out, key, NULL);
}

int json_out__end(struct json_out *out)
{
	if (!out->err)
		fputc('\n', out->file);
	if (!out->err && ferror(out->file))
		out->err = -EIO;
	return out->err;
}
