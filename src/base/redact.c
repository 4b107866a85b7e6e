/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words are found inside any quotes ("sh -c 'x --token y'"), and a value ends where the shell would
 * end it. In case of doubt, too much is redacted rather than too little.
 */
#include "base/redact.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How a quote is written within quotes. */
#define QUOTED_QUOTE "'\\''"

const char *const redact_words[] = { "full", "redacted", "none", NULL };

struct line {
	FILE *out;
	const char *begin;
	char quote;         /* the quote that is open here; 0: none */
	const char *opened; /* position after the open quote */
};

enum form { FORM_NONE, FORM_WORD, FORM_NEXT_WORD, FORM_HEADER, FORM_JSON };

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_in_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool is_quote(char c)
{
	return c == '\'' || c == '"';
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* --- names ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *part, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == length && !strncasecmp(part, *words, length))
			return true;
	return false;
}

static bool ends_in(const char *part, size_t length, const char *const *words)
{
	for (; *words; words++) {
		size_t tail = strlen(*words);

		if (length >= tail && !strncasecmp(part + length - tail, *words, tail))
			return true;
	}
	return false;
}

/* The length of the first part of a name: 3 for "api-key", "API_KEY" and "apiKey". */
static size_t part_length(const char *name, size_t length)
{
	size_t i = 0;

	while (i < length && name[i] != '-' && name[i] != '_' && name[i] != '.') {
		if (i && name[i] >= 'A' && name[i] <= 'Z' && name[i - 1] >= 'a' &&
		    name[i - 1] <= 'z')
			break;
		i++;
	}
	return i;
}

static bool is_secret(const char *name, size_t length)
{
	static const char *const whole[] = {
		"key",         "pwd",        "auth",    "authorization", "credential",
		"credentials", "passwords",  "secrets", "bearer",        "accesskey",
		"secretkey",   "privatekey", NULL
	};
	static const char *const tails[] = { "password", "passwd", "passphrase", "token",
					     "secret",   "apikey", NULL };
	static const char *const last[] = { "pass", NULL };
	/* Words that say something about a secret but are not one. */
	static const char *const about[] = { "file", "path", "dir",   "type",   "size", "length",
					     "name", "sock", "stdin", "prompt", NULL };
	static const char *const denied[] = { "no", NULL };
	const char *end = name + length;
	bool found = false;

	if (is_one_of(name, part_length(name, length), denied))
		return false;
	while (name < end) {
		size_t part = part_length(name, (size_t)(end - name));
		bool is_last = name + part == end;

		if (is_last && is_one_of(name, part, about))
			return false;
		found |= is_one_of(name, part, whole) || ends_in(name, part, tails) ||
			 (is_last && is_one_of(name, part, last));
		name += part;
		if (name < end && !is_letter(*name))
			name++;
	}
	return found;
}

/* Variables of the shell, which are folders. */
static bool is_folder(const char *word, size_t length)
{
	return (length == 3 && begins(word, "PWD")) || (length == 6 && begins(word, "OLDPWD"));
}

/* --- values --------------------------------------------------------------------------------- */

static const char *skip_spaces(const char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

static bool ends_with(const struct line *line, const char *at, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(at - line->begin) >= length && !strncmp(at - length, text, length);
}

/* "Authorization:Bearer", "X-Api-Key:abc", "-H Api-Key:abc". But "auth:latest" may be an image. */
static bool is_header(const struct line *line, const char *word, const char *end)
{
	static const char *const tails[] = { "authorization", NULL };
	const char *before = word;

	if (begins(word, "-H"))
		return true;
	if (before > line->begin && is_quote(before[-1]))
		before--;
	if (before > line->begin && !is_space(before[-1]) && before[-1] != '=')
		return false;
	if (!strncasecmp(word, "x-", 2) || ends_in(word, (size_t)(end - word), tails))
		return true;
	while (before > line->begin && (is_space(before[-1]) || before[-1] == '='))
		before--;
	return ends_with(line, before, "-H") || ends_with(line, before, "--header");
}

/* Whether this can be the value of an option: "-Ab3" can; "-v" and "--verbose" are options. */
static bool is_value(const char *at)
{
	if (*at != '-')
		return *at;
	return at[1] && at[1] != '-' && !is_space(at[1]) && !is_quote(at[1]) &&
	       (!is_letter(at[1]) || (at[2] && !is_space(at[2]) && !is_quote(at[2])));
}

/* Finds the value of the name from `word` to `end`. */
static enum form find_value(const struct line *line, const char *word, const char *end,
			    const char **ret)
{
	const char *behind = end;

	if (*end == '=') {
		*ret = end + 1;
		return is_folder(word, (size_t)(end - word)) ? FORM_NONE : FORM_WORD;
	}
	if (*end == ':' && (is_space(end[1]) || is_header(line, word, end))) {
		*ret = skip_spaces(end + 1);
		return FORM_HEADER;
	}
	behind += *behind == '\\';
	if (is_quote(*behind) && *skip_spaces(behind + 1) == ':') {
		*ret = skip_spaces(skip_spaces(behind + 1) + 1);
		return FORM_JSON;
	}
	if (*word != '-')
		return FORM_NONE;
	behind = end + (line->quote && *end == line->quote && word == line->opened);
	*ret = skip_spaces(behind);
	return is_space(*behind) && is_value(*ret) ? FORM_NEXT_WORD : FORM_NONE;
}

/* The position after the quotes that open at `at`, or the end of the line. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	for (; *at && *at != quote; at++)
		if (quote == '"' && *at == '\\' && at[1])
			at++;
	return at + (*at == quote);
}

/* The position where the open quotes close. */
static const char *find_close(const struct line *line, const char *at)
{
	while (*at) {
		if (line->quote == '\'' && begins(at, QUOTED_QUOTE))
			at += strlen(QUOTED_QUOTE);
		else if (line->quote == '"' && *at == '\\' && at[1])
			at += 2;
		else if (*at == line->quote)
			break;
		else
			at++;
	}
	return at;
}

static const char *skip_word(const struct line *line, const char *at, const char *stops)
{
	while (*at && !is_space(*at) && !strchr(stops, *at)) {
		if (line->quote == '\'' && begins(at, QUOTED_QUOTE)) {
			const char *close = strstr(at + 1, QUOTED_QUOTE);

			at = close ? close + strlen(QUOTED_QUOTE) : at + strlen(at);
		} else if (line->quote && *at == line->quote) {
			break;
		} else if (is_quote(*at)) {
			at = skip_quoted(at);
		} else {
			at += *at == '\\' && at[1] ? 2 : 1;
		}
	}
	return at;
}

/* "Bearer abc": ends with its quotes or, without quotes, after the word that follows the scheme. */
static const char *skip_header(const struct line *line, const char *at)
{
	static const char *const schemes[] = { "bearer", "basic", "digest", "token", NULL };
	const char *end;

	if (line->quote)
		return at + strcspn(at, "'\"");
	end = skip_word(line, at, "");
	if (is_one_of(at, (size_t)(end - at), schemes))
		end = skip_word(line, skip_spaces(end), "");
	return end;
}

static const char *end_of_value(const struct line *line, enum form form, const char *word,
				const char *value)
{
	bool in_query = word > line->begin && (word[-1] == '?' || word[-1] == '&');

	/* '--password=with a space': the quotes enclose the whole word. */
	if (line->quote && word == line->opened && (form == FORM_WORD || form == FORM_HEADER))
		return find_close(line, value);
	if (form == FORM_HEADER)
		return skip_header(line, value);
	if (form == FORM_JSON && is_quote(*value) && *value != line->quote)
		return skip_quoted(value);
	return skip_word(line, value, in_query ? "&#" : "");
}

static bool is_empty(const char *value, size_t length)
{
	return !length || (length == 2 && is_quote(*value) && value[1] == *value);
}

/* --- the line ------------------------------------------------------------------------------- */

static void put(struct line *line, const char *from, const char *to)
{
	fwrite(from, 1, (size_t)(to - from), line->out);
}

/* Writes a name and its value, redacted, and returns the rest of the line. */
static const char *put_name(struct line *line, const char *word)
{
	const char *end = word, *name = word, *value = NULL, *behind;
	enum form form;

	while (is_in_name(*end))
		end++;
	while (name < end && *name == '-')
		name++;
	form = is_secret(name, (size_t)(end - name)) ? find_value(line, word, end, &value)
						     : FORM_NONE;
	if (form == FORM_NONE) {
		put(line, word, end);
		return end;
	}
	/* The open quotes close after the name. */
	if ((form == FORM_NEXT_WORD && !is_space(*end)) ||
	    (form == FORM_JSON && *end == line->quote))
		line->quote = '\0';
	behind = end_of_value(line, form, word, value);
	put(line, word, value);
	if (is_empty(value, (size_t)(behind - value)))
		put(line, value, behind);
	else
		fputs(REDACT_MARK, line->out);
	return behind;
}

/* The same for a URL at its "://": "user:password@". */
static const char *put_address(struct line *line, const char *at)
{
	const char *from = at + 3, *end = from + strcspn(from, " \t\n'\"/");
	const char *host = memrchr(from, '@', (size_t)(end - from));
	const char *colon = host ? memchr(from, ':', (size_t)(host - from)) : NULL;

	if (!colon || colon + 1 == host) {
		put(line, at, from);
		return from;
	}
	put(line, at, colon + 1);
	fputs(REDACT_MARK, line->out);
	return host;
}

static const char *put_other(struct line *line, const char *at)
{
	const char *end = at + 1;

	if (line->quote == '\'' && begins(at, QUOTED_QUOTE)) {
		end = at + strlen(QUOTED_QUOTE);
	} else if (line->quote && *at == line->quote) {
		line->quote = '\0';
	} else if (!line->quote && is_quote(*at) &&
		   /* Not an apostrophe as in "don't". */
		   (at == line->begin || is_space(at[-1]) || at[-1] == '=')) {
		line->quote = *at;
		line->opened = end;
	}
	put(line, at, end);
	return end;
}

char *redact__line(const char *text, enum redact_args how)
{
	struct line line = { .begin = text };
	char *ret = NULL;
	size_t size = 0;
	bool failed;

	if (how == REDACT_ALL_ARGS)
		return strdup("");
	if (how != REDACT_SECRETS)
		return strdup(text);
	line.out = open_memstream(&ret, &size);
	if (!line.out)
		return NULL;
	while (*text) {
		if (is_in_name(*text))
			text = put_name(&line, text);
		else if (begins(text, "://"))
			text = put_address(&line, text);
		else
			text = put_other(&line, text);
	}
	failed = ferror(line.out);
	if (fclose(line.out) || failed) {
		free(ret);
		return NULL;
	}
	return ret;
}

/* --- fields --------------------------------------------------------------------------------- */

/* Returns whether the field changed; -1: out of memory. */
static int change_field(json_t *object, const char *key, const char *text, enum redact_args how)
{
	char *line;
	int err, differs;

	if (how == REDACT_ALL_ARGS && !strcmp(key, "args"))
		return json_object_set_new(object, key, json_null()) ? -1 : 1;
	line = redact__line(text, REDACT_SECRETS);
	differs = line && strcmp(line, text) != 0;
	err = !line || (differs && json_object_set_new(object, key, json_string(line)));
	free(line);
	return err ? -1 : differs;
}

char *redact__fields(const char *fields, enum redact_args how)
{
	json_t *object, *value;
	void *next;
	const char *key;
	char *ret = NULL;
	int changed = 0, one = 0;

	if (how != REDACT_SECRETS && how != REDACT_ALL_ARGS)
		return strdup(fields);
	object = json_loads(fields, 0, NULL);
	if (!json_is_object(object)) {
		json_decref(object);
		return redact__line(fields, how);
	}
	json_object_foreach_safe(object, next, key, value)
	{
		if (json_is_string(value))
			one = change_field(object, key, json_string_value(value), how);
		if (one < 0)
			break;
		changed |= one;
	}
	if (one >= 0)
		ret = changed ? json_dumps(object, JSON_COMPACT) : strdup(fields);
	json_decref(object);
	return ret;
}
