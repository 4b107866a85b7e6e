/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flat lines, because a line number is then all that a message needs, and because such a file is
 * also valid YAML. Rejected: nested YAML (a parser of foreign text for no gain), JSON (no
 * comments).
 */
#include "agent/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.def"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/vec.h"

#define MOST_BYTES (1U << 20)
#define SECOND_NS  UINT64_C(1000000000)

enum option_type {
	TYPE_TEXT,
	TYPE_PATH, /* absolute */
	TYPE_NUMBER,
	TYPE_SIZE,
	TYPE_DURATION,
	TYPE_FRACTION, /* in millionths */
	TYPE_SWITCH,
	TYPE_CHOICE,
	TYPE_LINES, /* may be given several times */
};

struct option {
	const char *key;
	enum option_type type;
	size_t offset;
	const char *fallback;
	const char *about;
	uint64_t least, most;     /* of numbers, bytes and nanoseconds */
	const char *const *words; /* of TYPE_CHOICE, in the order of its enum */
};

static const char *const details[] = { "node", "service", NULL };
static const char *const levels[] = { "ledger", "signals", "stacks", "full", NULL };

#define OPTION_OF(key, type, member, fallback, least, most, words, about)                          \
	{ key, TYPE_##type, offsetof(struct config, member), fallback, about, least, most, words },

static const struct option options[] = { CONFIG_KEYS(OPTION_OF) };
#define OPTIONS (sizeof(options) / sizeof(*options))

static int refuse(struct config_error *error, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct config_error *error, unsigned line, const char *format, ...)
{
	va_list arguments;

	error->line = line;
	va_start(arguments, format);
	vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* --- values ----------------------------------------------------------------------------------- */

static void *member_of(struct config *config, const struct option *option)
{
	return (char *)config + option->offset;
}

static int set_text(struct config *config, const struct option *option, const char *value)
{
	char **member = member_of(config, option), *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*member);
	*member = copy;
	return 0;
}

static int add_line(struct config *config, const struct option *option, const char *value,
		    unsigned line)
{
	struct config_lines *lines = member_of(config, option);
	size_t count = lines->count;
	char **text = APPEND(&lines->text, &lines->count);
	uint32_t *number;

	if (!text)
		return -ENOMEM;
	number = APPEND(&lines->line, &count);
	if (number)
		*text = strdup(value);
	if (!number || !*text) {
		lines->count--;
		return -ENOMEM;
	}
	*number = line;
	return 0;
}

/* "0.01". More digits than millionths have are rounded. */
static int parse_fraction(const char *value, uint64_t *ret)
{
	char *end;
	double number = strtod(value, &end);

	if (strspn(value, "0123456789.") != strlen(value) || end == value || *end || number > 1)
		return -EINVAL;
	*ret = (uint64_t)(number * 1e6 + 0.5);
	return 0;
}

static int set_amount(struct config *config, const struct option *option, const char *value,
		      unsigned line, struct config_error *error)
{
	uint64_t amount;
	int err;

	if (option->type == TYPE_SIZE)
		err = parse__size(value, &amount);
	else if (option->type == TYPE_DURATION)
		err = parse__duration(value, &amount);
	else if (option->type == TYPE_FRACTION)
		err = parse_fraction(value, &amount);
	else
		err = parse__number(value, 0, UINT64_MAX, &amount);
	if (err)
		return refuse(error, line, "'%s' is not %s", value,
			      option->type == TYPE_SIZE       ? "a size [4096, 64k, 16M]"
			      : option->type == TYPE_DURATION ? "a duration [500ms, 10s, 2m]"
			      : option->type == TYPE_FRACTION ? "a fraction [0, 0.01, 1]"
							      : "a number");
	if (amount < option->least || amount > option->most)
		return refuse(error, line, "%s: '%s' is out of range", option->key, value);
	if (option->offset == offsetof(struct config, interval_ns) && 60 * SECOND_NS % amount)
		return refuse(error, line, "a minute is not a multiple of '%s'", value);
	*(uint64_t *)member_of(config, option) = amount;
	return 0;
}

static int set_choice(struct config *config, const struct option *option, const char *value,
		      unsigned line, struct config_error *error)
{
	char known[128] = "";

	for (uint64_t i = 0; option->words[i]; i++) {
		if (!strcmp(option->words[i], value)) {
			*(uint64_t *)member_of(config, option) = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", option->words[i]);
	}
	return refuse(error, line, "%s: '%s' is none of: %s", option->key, value, known);
}

static int set_value(struct config *config, const struct option *option, const char *value,
		     unsigned line, struct config_error *error)
{
	bool is_true = !strcmp(value, "true");

	switch (option->type) {
	case TYPE_PATH:
		if (*value && *value != '/')
			return refuse(error, line, "%s: '%s' is not an absolute path", option->key,
				      value);
		return set_text(config, option, value);
	case TYPE_TEXT:
		return set_text(config, option, value);
	case TYPE_LINES:
		return *value ? add_line(config, option, value, line) : 0;
	case TYPE_CHOICE:
		return set_choice(config, option, value, line, error);
	case TYPE_SWITCH:
		if (!is_true && strcmp(value, "false"))
			return refuse(error, line, "%s: '%s' is neither true nor false",
				      option->key, value);
		*(bool *)member_of(config, option) = is_true;
		return 0;
	default:
		return set_amount(config, option, value, line, error);
	}
}

/* --- text ------------------------------------------------------------------------------------- */

static const struct option *find_option(const char *key)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (!strcmp(options[i].key, key))
			return &options[i];
	return NULL;
}

static int refuse_key(const char *key, unsigned line, struct config_error *error)
{
	const char *keys[OPTIONS + 1] = {}, *nearest;

	for (size_t i = 0; i < OPTIONS; i++)
		keys[i] = options[i].key;
	nearest = parse__nearest(key, keys);
	return refuse(error, line, "there is no key '%.64s'%s%s%s", key,
		      nearest ? " [did you mean '" : " [see 'gapless agent --print-config']",
		      nearest ? nearest : "", nearest ? "'?]" : "");
}

/* Removes blanks at both ends; writes into `text`. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* A "#" begins a comment at the start of a line or after a blank. */
static void cut_comment(char *line)
{
	for (char *at = line; *at; at++)
		if (*at == '#' && (at == line || isspace((unsigned char)at[-1]))) {
			*at = '\0';
			return;
		}
}

/* A value may be in quotation marks, as YAML needs for some. */
static char *unquote(char *value)
{
	size_t length = strlen(value);

	if (length < 2 || (*value != '"' && *value != '\'') || value[length - 1] != *value)
		return value;
	value[length - 1] = '\0';
	return value + 1;
}

/*
 * Replaces ${NAME} by a variable of the environment: systemd names the folder of credentials that
 * way, and Kubernetes the node. What the variable has is not replaced again.
 */
static int expand(const char *value, unsigned line, char **ret, struct config_error *error)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	cleanup(free_p) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? 0 : -ENOMEM;

	while (*value && !err) {
		size_t length = value[0] == '$' && value[1] == '{' ? strspn(value + 2, letters) : 0;
		char name[64] = "";
		const char *set;

		if (!length || length >= sizeof(name) || value[length + 2] != '}') {
			fputc(*value++, out);
			continue;
		}
		memcpy(name, value + 2, length);
		value += length + 3;
		set = getenv(name);
		if (set)
			fputs(set, out);
		else
			err = refuse(error, line, "the environment has no variable '%s'", name);
	}
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (!err)
		*ret = TAKE(text);
	return err;
}

static int take_value(struct config *config, const struct option *option, const char *value,
		      unsigned line, struct config_error *error)
{
	cleanup(free_p) char *text = NULL;
	int err;

	if (option->type != TYPE_TEXT && option->type != TYPE_PATH)
		return set_value(config, option, value, line, error);
	err = expand(value, line, &text, error);
	return err ? err : set_value(config, option, text, line, error);
}

static int take_line(struct config *config, char *text, unsigned line, bool given[OPTIONS],
		     struct config_error *error)
{
	const struct option *option;
	char *colon, *key;

	cut_comment(text);
	key = trim(text);
	if (!*key)
		return 0;
	colon = strchr(key, ':');
	if (!colon || (colon[1] && !isspace((unsigned char)colon[1])))
		return refuse(error, line, "'%.64s' is not of the form 'key: value'", key);
	*colon = '\0';
	key = trim(key);
	option = find_option(key);
	if (!option)
		return refuse_key(key, line, error);
	if (given[option - options] && option->type != TYPE_LINES)
		return refuse(error, line, "%s is set twice", key);
	given[option - options] = true;
	return take_value(config, option, unquote(trim(colon + 1)), line, error);
}

int config__defaults(struct config *ret)
{
	struct config config = {};
	struct config_error error;
	int err = 0;

	for (size_t i = 0; i < OPTIONS && !err; i++)
		err = set_value(&config, &options[i], options[i].fallback, 0, &error);
	if (err) {
		config__release(&config);
		return err;
	}
	*ret = config;
	return 0;
}

static int parse_lines(struct config *config, char *text, struct config_error *error)
{
	bool given[OPTIONS] = {};
	unsigned line = 0;
	char *next;
	int err = 0;

	for (char *at = text; at && !err; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		err = take_line(config, at, ++line, given, error);
	}
	return err;
}

int config__parse(const char *text, size_t size, struct config *ret, struct config_error *error)
{
	cleanup(free_p) char *copy = strndup(text, size);
	struct config config;
	int err;

	if (size > MOST_BYTES)
		return refuse(error, 0, "the file is larger than 1 MB");
	if (!copy)
		return -ENOMEM;
	if (strlen(copy) != size)
		return refuse(error, 0, "the file contains a NUL byte");
	err = config__defaults(&config);
	if (err)
		return err;
	err = parse_lines(&config, copy, error);
	if (err) {
		config__release(&config);
		return err;
	}
	*ret = config;
	return 0;
}

int config__read(const char *path, struct config *ret, struct config_error *error)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	cleanup(free_p) char *text = NULL;
	size_t size;

	if (!file)
		return -errno;
	text = malloc(MOST_BYTES + 2);
	if (!text)
		return -ENOMEM;
	size = fread(text, 1, MOST_BYTES + 1, file);
	if (ferror(file))
		return -EIO;
	return config__parse(text, size, ret, error);
}

void config__release(struct config *config)
{
	for (size_t i = 0; i < OPTIONS; i++) {
		struct config_lines *lines = member_of(config, &options[i]);

		if (options[i].type == TYPE_TEXT || options[i].type == TYPE_PATH)
			free(*(char **)member_of(config, &options[i]));
		if (options[i].type != TYPE_LINES)
			continue;
		for (size_t j = 0; j < lines->count; j++)
			free(lines->text[j]);
		free(lines->text);
		free(lines->line);
	}
	*config = (struct config) {};
}

static void print_value(FILE *out, const struct config *config, const struct option *option)
{
	const void *member = (const char *)config + option->offset;
	const uint64_t *amount = member; /* unless it is text or a switch */

	switch (option->type) {
	case TYPE_TEXT:
	case TYPE_PATH:
		fprintf(out, "%s: %s\n", option->key, *(char *const *)member);
		break;
	case TYPE_SWITCH:
		fprintf(out, "%s: %s\n", option->key, *(const bool *)member ? "true" : "false");
		break;
	case TYPE_CHOICE:
		fprintf(out, "%s: %s\n", option->key, option->words[*amount]);
		break;
	case TYPE_DURATION:
		fprintf(out, "%s: %" PRIu64 "ms\n", option->key, *amount / 1000000);
		break;
	case TYPE_FRACTION:
		fprintf(out, "%s: %.6f\n", option->key, (double)*amount / 1e6);
		break;
	default:
		fprintf(out, "%s: %" PRIu64 "\n", option->key, *amount);
	}
}

void config__print(FILE *out, const struct config *config)
{
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct config_lines *lines =
			(const void *)((const char *)config + options[i].offset);

		fprintf(out, "%s# %s\n", i ? "\n" : "", options[i].about);
		if (options[i].type != TYPE_LINES) {
			print_value(out, config, &options[i]);
			continue;
		}
		for (size_t j = 0; j < lines->count; j++)
			fprintf(out, "%s: %s\n", options[i].key, lines->text[j]);
		if (!lines->count)
			fprintf(out, "#%s:\n", options[i].key);
	}
}
