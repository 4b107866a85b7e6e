/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Longer times are in minutes and seconds, and those longer than that in hours and minutes. */
#define LONG_SECONDS 120
#define LONG_MINUTES 120

/* Writes the next character of a name in clean form; returns the number of bytes read. */
static size_t clean_one(const char *name, char ret[5])
{
	uint32_t point = 0;
	size_t length = utf8__decode(name, &point);
	bool bad = !length || utf8__is_control(point);

	memset(ret, 0, 5);
	memcpy(ret, bad ? "?" : name, bad ? 1 : length);
	return length ? length : 1;
}

static int count_columns(const char *name)
{
	char one[5];
	int columns = 0;

	for (; *name; columns++)
		name += clean_one(name, one);
	return columns;
}

struct words words__clean(const char *name, int columns)
{
	struct words words = {};
	int total = name ? count_columns(name) : 0, most = columns, head, at = 0;
	char *to = words.text;

	if (most > WORDS_MOST_COLUMNS)
		most = WORDS_MOST_COLUMNS;
	if (most < 1)
		most = 1;
	head = total > most ? most / 2 : total;
	for (; name && *name; at++) {
		char one[5];

		name += clean_one(name, one);
		if (at == head)
			to = stpcpy(to, "…");
		else if (at < head || at > total - (most - head))
			to = stpcpy(to, one);
	}
	return words;
}

void words__say(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

int words__columns(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += (*text & 0xc0) != 0x80;
	return columns;
}

void words__field(FILE *out, const char *text, int columns)
{
	int padding = abs(columns) - words__columns(text);

	if (padding < 0)
		padding = 0;
	if (columns < 0)
		fprintf(out, "%*s%s", padding, "", text);
	else
		fprintf(out, "%s%*s", text, padding, "");
}

struct words words__number(int64_t value)
{
	struct words words = {};
	char digits[32], *to = words.text;
	size_t length;

	snprintf(digits, sizeof(digits), "%" PRIu64,
		 value < 0 ? -(uint64_t)value : (uint64_t)value);
	length = strlen(digits);
	if (value < 0)
		*to++ = '-';
	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return words;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length > tail && !strcmp(text + length - tail, end);
}

struct words words__count(int64_t value, const char *many)
{
	static const struct {
		const char *many, *one;
	} ends[] = { { "ies", "y" }, { "sses", "ss" }, { "shes", "sh" }, { "ches", "ch" },
		     { "xes", "x" }, { "ss", "ss" },   { "s", "" } };
	struct words words = words__number(value), noun = words__clean(many, 80);

	for (size_t i = 0; value == 1 && i < sizeof(ends) / sizeof(*ends); i++) {
		if (!ends_with(noun.text, ends[i].many))
			continue;
		noun.text[strlen(noun.text) - strlen(ends[i].many)] = '\0';
		words__say(noun.text, sizeof(noun.text), "%s", ends[i].one);
		break;
	}
	words__say(words.text, sizeof(words.text), " %s", noun.text);
	return words;
}

/* `value` with three significant digits, or as a whole number. */
static struct words scale_one(double value, const char *unit, bool whole)
{
	struct words words = {};
	double size = value < 0 ? -value : value;
	const char *sign = value < 0 ? "-" : "";

	if (size >= 999.5)
		snprintf(words.text, sizeof(words.text), "%s%.40s %s", sign,
			 words__number((int64_t)(size + 0.5)).text, unit);
	else
		snprintf(words.text, sizeof(words.text), "%s%.*f %s", sign,
			 whole || size >= 99.95 ? 0
			 : size >= 9.995        ? 1
						: 2,
			 size, unit);
	return words;
}

/* `value` with three significant digits, and the first unit that keeps it below 1000. */
static struct words scale(double value, const char *const *units, const double *factors)
{
	double size = value < 0 ? -value : value;
	size_t i = 0;

	while (units[i + 1] && size / factors[i] >= 999.5)
		i++;
	return scale_one(value / factors[i], units[i], i == 0);
}

/* "29 min 3 s", "2 h 5 min", "5 min": two units, the second one `parts` to the first. */
static struct words in_two_units(const char *sign, int64_t small, int64_t parts, const char *unit,
				 const char *small_unit)
{
	struct words words = {};

	snprintf(words.text, sizeof(words.text), "%s%.40s %s", sign,
		 words__number(small / parts).text, unit);
	if (small % parts)
		words__say(words.text, sizeof(words.text), " %d %s", (int)(small % parts),
			   small_unit);
	return words;
}

struct words words__time(int64_t ns)
{
	static const char *const units[] = { "ns", "µs", "ms", "s", NULL };
	static const double factors[] = { 1, 1e3, 1e6, 1e9 };
	const char *sign = ns < 0 ? "-" : "";
	int64_t seconds = (int64_t)((ns < 0 ? -(double)ns : (double)ns) / 1e9 + 0.5);

	if (seconds > LONG_MINUTES * 60)
		return in_two_units(sign, (seconds + 30) / 60, 60, "h", "min");
	if (seconds > LONG_SECONDS)
		return in_two_units(sign, seconds, 60, "min", "s");
	return ns ? scale((double)ns, units, factors) : (struct words) { "0 s" };
}

struct words words__brief_time(int64_t ns)
{
	static const char *const units[] = { "min", "h", NULL };
	static const double factors[] = { 60e9, 3600e9 };
	double size = ns < 0 ? -(double)ns : (double)ns;
	int i = size > LONG_MINUTES * 60e9;

	return size < (LONG_SECONDS + 0.5) * 1e9
		       ? words__time(ns)
		       : scale_one((double)ns / factors[i], units[i], false);
}

struct words words__bytes(int64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", NULL };
	static const double factors[] = { 1, 1e3, 1e6, 1e9 };

	return scale((double)bytes, units, factors);
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

struct words words__share(int64_t part, int64_t whole)
{
	struct words words = {};
	double value = percent(part, whole);

	if (part && value > 0 && value < 0.05)
		return (struct words) { "<0.1 %" };
	snprintf(words.text, sizeof(words.text), "%.1f %%", value);
	return words;
}

struct words words__about(int64_t part, int64_t whole)
{
	struct words words = {};
	double value = percent(part, whole);

	if (part && value > 0 && value < 0.05)
		return (struct words) { "<0.1 %" };
	snprintf(words.text, sizeof(words.text), "%.*f %%", value < 9.95 && value > 0 ? 1 : 0,
		 value);
	return words;
}

struct words words__tiny_share(int64_t part, int64_t whole)
{
	struct words words = {};
	double value = percent(part, whole);

	snprintf(words.text, sizeof(words.text), "%.*g %%", value >= 100 ? 4 : 2, value);
	return words;
}
