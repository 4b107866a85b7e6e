#include "export/json_out.h"

#include <errno.h>
#include <inttypes.h>

#include "base/json.h"

static void put_text(struct json_out *out, const char *text)
{
	json_t *value = json__text(text);

	if (!value)
		out->err = -ENOMEM;
	else if (json_dumpf(value, out->file, JSON_ENCODE_ANY))
		out->err = -EIO;
	json_decref(value);
}

/* What stands before a value. False: an error came first. */
static bool begin(struct json_out *out, const char *key)
{
	if (out->err)
		return false;
	if (out->comma)
		fputc(',', out->file);
	out->comma = true;
	/* Keys are ours, and plain. */
	if (key)
		fprintf(out->file, "\"%s\":", key);
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

void json_out__text(struct json_out *out, const char *key, const char *text)
{
	if (!begin(out, key))
		return;
	if (text)
		put_text(out, text);
	else
		fputs("null", out->file);
}

void json_out__number(struct json_out *out, const char *key, int64_t number)
{
	if (begin(out, key))
		fprintf(out->file, "%" PRId64, number);
}

void json_out__decimal(struct json_out *out, const char *key, int64_t number, int digits)
{
	uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number, unit = 1;

	if (!begin(out, key))
		return;
	for (int i = 0; i < digits; i++)
		unit *= 10;
	fprintf(out->file, "%s%" PRIu64, number < 0 ? "-" : "", size / unit);
	size %= unit;
	if (size)
		fputc('.', out->file);
	while (size) {
		unit /= 10;
		fputc('0' + (int)(size / unit), out->file);
		size %= unit;
	}
}

void json_out__bool(struct json_out *out, const char *key, bool value)
{
	if (begin(out, key))
		fputs(value ? "true" : "false", out->file);
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
