/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

#define VALUE_BYTES 32

static const char *const words[ANSWER_MEANINGS] = {
	[ANSWER_OK] = "ok",           [ANSWER_UNREACHED] = "unreached",
	[ANSWER_LOST] = "lost",       [ANSWER_BUSY] = "busy",
	[ANSWER_DENIED] = "denied",   [ANSWER_NO_TABLE] = "no_table",
	[ANSWER_REFUSED] = "refused", [ANSWER_STRANGE] = "strange",
};

/* The codes of ClickHouse's ErrorCodes.cpp that need something else than patience. */
static const struct {
	int code;
	enum answer_means means;
} exceptions[] = {
	{ 16, ANSWER_NO_TABLE }, /* NO_SUCH_COLUMN_IN_TABLE */
	{ 60, ANSWER_NO_TABLE }, /* UNKNOWN_TABLE */
	{ 81, ANSWER_NO_TABLE }, /* UNKNOWN_DATABASE */
	{ 115, ANSWER_DENIED },  /* UNKNOWN_SETTING: of the server or a proxy, not of the batch */
	{ 164, ANSWER_DENIED },  /* READONLY */
	{ 192, ANSWER_DENIED },  /* UNKNOWN_USER */
	{ 193, ANSWER_DENIED },  /* WRONG_PASSWORD */
	{ 194, ANSWER_DENIED },  /* REQUIRED_PASSWORD */
	{ 195, ANSWER_DENIED },  /* IP_ADDRESS_NOT_ALLOWED */
	{ 497, ANSWER_DENIED },  /* ACCESS_DENIED */
	{ 516, ANSWER_DENIED },  /* AUTHENTICATION_FAILED */
	{ 6, ANSWER_REFUSED },   /* CANNOT_PARSE_TEXT */
	{ 27, ANSWER_REFUSED },  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	{ 33, ANSWER_REFUSED },  /* CANNOT_READ_ALL_DATA */
	{ 50, ANSWER_REFUSED },  /* UNKNOWN_TYPE */
	{ 53, ANSWER_REFUSED },  /* TYPE_MISMATCH */
	{ 62, ANSWER_REFUSED },  /* SYNTAX_ERROR */
	{ 70, ANSWER_REFUSED },  /* CANNOT_CONVERT_TYPE */
	{ 117, ANSWER_REFUSED }, /* INCORRECT_DATA */
	{ 131, ANSWER_REFUSED }, /* TOO_LARGE_STRING_SIZE */
};

const char *answer__word(enum answer_means means)
{
	return words[means];
}

/* Copies the value if the line is this header; what is too long is no number. */
static bool read_header(const char *line, size_t length, const char *name,
			char ret[static VALUE_BYTES])
{
	size_t name_length = strlen(name);

	if (length <= name_length || line[name_length] != ':' ||
	    strncasecmp(line, name, name_length) != 0)
		return false;
	line += name_length + 1;
	length -= name_length + 1;
	while (length && isspace((unsigned char)*line)) {
		line++;
		length--;
	}
	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	if (length >= VALUE_BYTES)
		return false;
	memcpy(ret, line, length);
	ret[length] = '\0';
	return true;
}

void answer__header(struct answer *answer, const char *line, size_t length)
{
	static const char mark[] = "X-ClickHouse-";
	char value[VALUE_BYTES];
	uint64_t number;

	if (length >= strlen(mark) && !strncasecmp(line, mark, strlen(mark)))
		answer->is_clickhouse = true;
	/* A date instead of seconds is ignored: the wait is random then, as without it. */
	if (read_header(line, length, "Retry-After", value) &&
	    !parse__number(value, 0, UINT32_MAX, &number))
		answer->retry_after_s = number;
	if (read_header(line, length, "X-ClickHouse-Exception-Code", value) &&
	    !parse__number(value, 1, INT32_MAX, &number))
		answer->exception = (int)number;
}

int answer__body(struct answer *answer, const void *bytes, size_t size)
{
	if (size > ANSWER_MOST_BYTES - answer->body_bytes)
		return -EFBIG;
	memcpy(answer->body + answer->body_bytes, bytes, size);
	answer->body_bytes += size;
	answer->body[answer->body_bytes] = '\0';
	return 0;
}

/* Old servers have no header for it: "Code: 60, e.displayText() = …". */
int answer__exception(const struct answer *answer)
{
	if (answer->exception)
		return answer->exception;
	if (strncmp(answer->body, "Code: ", 6) != 0 || !isdigit((unsigned char)answer->body[6]))
		return 0;
	return (int)(strtoul(answer->body + 6, NULL, 10) & INT32_MAX);
}

static bool has_text(const struct answer *answer)
{
	return strspn(answer->body, " \t\r\n") != answer->body_bytes;
}

static enum answer_means means_of_exception(int code)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (exceptions[i].code == code)
			return exceptions[i].means;
	return ANSWER_BUSY;
}

enum answer_means answer__means(const struct answer *answer, bool is_insert)
{
	int exception = answer__exception(answer);

	if (answer->error)
		return answer->unreached ? ANSWER_UNREACHED : ANSWER_LOST;
	/* A 200 with text may be the page of a proxy, or an error behind the headers. */
	if (answer->status == 200 && !exception)
		return is_insert && has_text(answer) ? ANSWER_STRANGE : ANSWER_OK;
	if (exception)
		return means_of_exception(exception);
	switch (answer->status) {
	case 401:
	case 403:
	case 407:
		return ANSWER_DENIED;
	case 408:
	case 413: /* a limit of the server or a proxy, which can be raised */
	case 429:
		return ANSWER_BUSY;
	default:
		return answer->status >= 500 && answer->status < 600 ? ANSWER_BUSY : ANSWER_STRANGE;
	}
}

bool answer__is_certain(enum answer_means means, const struct answer *answer)
{
	return means == ANSWER_UNREACHED || means == ANSWER_DENIED || means == ANSWER_NO_TABLE ||
	       means == ANSWER_REFUSED ||
	       (means == ANSWER_BUSY && (answer->status == 429 || answer->status == 413));
}

int answer__number(const struct answer *answer, uint64_t *ret)
{
	char text[VALUE_BYTES];
	size_t length = strcspn(answer->body, "\r\n");

	if (length >= sizeof(text) ||
	    strspn(answer->body + length, "\r\n") + length != answer->body_bytes)
		return -EBADMSG;
	memcpy(text, answer->body, length);
	text[length] = '\0';
	return parse__number(text, 0, UINT64_MAX, ret) ? -EBADMSG : 0;
}

int answer__version(const struct answer *answer, unsigned int *ret)
{
	char *end;
	unsigned long major, minor;

	if (!isdigit((unsigned char)answer->body[0]))
		return -EBADMSG;
	major = strtoul(answer->body, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return -EBADMSG;
	minor = strtoul(end + 1, &end, 10);
	if (major > 9999 || minor > 99)
		return -EBADMSG;
	*ret = (unsigned int)(major * 100 + minor);
	return 0;
}
