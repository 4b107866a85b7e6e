/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/accept.h"

#include <string.h>
#include <strings.h>

/* A part of the header, without the blanks around it. */
struct word {
	const char *text;
	size_t length;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next part before `separator`; *at becomes NULL after the last one. */
static struct word next_word(const char **at, const char *end, char separator)
{
	const char *stop = memchr(*at, separator, (size_t)(end - *at));
	struct word word = { *at, (size_t)((stop ? stop : end) - *at) };

	*at = stop ? stop + 1 : NULL;
	for (; word.length && is_blank(*word.text); word.text++)
		word.length--;
	while (word.length && is_blank(word.text[word.length - 1]))
		word.length--;
	return word;
}

static bool is(struct word word, const char *text)
{
	return word.length == strlen(text) && !strncasecmp(word.text, text, word.length);
}

/* "q=0.75" in thousandths; -1: it is another parameter, or not a weight. */
static int weight_of(struct word word)
{
	int weight = 0, digits = 0;

	if (word.length < 3 || word.length > 7 || strncasecmp(word.text, "q=", 2) ||
	    (word.text[2] != '0' && word.text[2] != '1') ||
	    (word.length > 3 && word.text[3] != '.'))
		return -1;
	weight = word.text[2] - '0';
	for (size_t i = 4; i < word.length; i++, digits++) {
		if (word.text[i] < '0' || word.text[i] > '9')
			return -1;
		weight = weight * 10 + word.text[i] - '0';
	}
	for (; digits < 3; digits++)
		weight *= 10;
	return weight > 1000 ? 1000 : weight;
}

struct range {
	struct word type;
	int weight;
	bool is_delimited, is_family, has_version, is_1_0;
};

static struct range parse_range(struct word word)
{
	const char *at = word.text, *end = word.text + word.length;
	struct range range = { .type = next_word(&at, end, ';'), .weight = 1000 };

	while (at) {
		struct word parameter = next_word(&at, end, ';');
		int weight = weight_of(parameter);

		if (weight >= 0)
			range.weight = weight;
		range.is_delimited |= is(parameter, "encoding=delimited");
		range.is_family |= is(parameter, "proto=io.prometheus.client.MetricFamily");
		range.has_version |= parameter.length > 8 &&
				     !strncasecmp(parameter.text, "version=", strlen("version="));
		range.is_1_0 |= is(parameter, "version=1.0.0");
	}
	return range;
}

static bool find_format(const struct range *range, enum pages_format *ret)
{
	if (is(range->type, "application/vnd.google.protobuf") && range->is_delimited &&
	    range->is_family)
		*ret = PAGES_PROTOBUF;
	else if (is(range->type, "application/openmetrics-text") &&
		 (range->is_1_0 || !range->has_version))
		*ret = PAGES_OPEN_METRICS;
	else if (is(range->type, "text/plain") || is(range->type, "text/*") ||
		 is(range->type, "*/*"))
		*ret = PAGES_TEXT;
	else
		return false;
	return true;
}

enum pages_format accept__format(const char *header)
{
	enum pages_format best = PAGES_TEXT, format;
	const char *at = header, *end = header ? header + strlen(header) : NULL;
	int weight = 0;

	while (at) {
		struct range range = parse_range(next_word(&at, end, ','));

		if (range.weight > weight && find_format(&range, &format)) {
			best = format;
			weight = range.weight;
		}
	}
	return best;
}

bool accept__gzip(const char *header)
{
	const char *at = header, *end = header ? header + strlen(header) : NULL;
	int gzip = -1, any = -1;

	while (at) {
		struct range range = parse_range(next_word(&at, end, ','));

		if (is(range.type, "gzip") || is(range.type, "x-gzip"))
			gzip = range.weight;
		else if (is(range.type, "*"))
			any = range.weight;
	}
	return (gzip >= 0 ? gzip : any) > 0;
}
