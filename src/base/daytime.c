/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/daytime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define SECOND_NS 1000000000

/* Rounds down, also before 1970. */
static time_t whole_seconds(int64_t unix_ns)
{
	return (time_t)(unix_ns / SECOND_NS - (unix_ns % SECOND_NS < 0));
}

static struct tm parts_of(int64_t unix_ns, int64_t zone_s)
{
	time_t seconds = whole_seconds(unix_ns) + (time_t)zone_s;
	struct tm parts = {};

	gmtime_r(&seconds, &parts);
	return parts;
}

struct words daytime__words(int64_t unix_ns, int64_t zone_s)
{
	struct tm parts = parts_of(unix_ns, zone_s);
	struct words words;

	strftime(words.text, sizeof(words.text), "%H:%M:%S", &parts);
	return words;
}

struct words daytime__date(int64_t unix_ns, int64_t zone_s)
{
	struct tm parts = parts_of(unix_ns, zone_s);
	struct words words;

	strftime(words.text, sizeof(words.text), "%Y-%m-%d", &parts);
	return words;
}

struct words daytime__zone(int64_t zone_s)
{
	struct words words = { "UTC" };
	int minutes = (int)(labs((long)zone_s) / 60);

	if (minutes)
		words__say(words.text, sizeof(words.text), "%c%d", zone_s < 0 ? '-' : '+',
			   minutes / 60);
	if (minutes % 60)
		words__say(words.text, sizeof(words.text), ":%02d", minutes % 60);
	return words;
}

int64_t daytime__own_zone_s(int64_t unix_ns)
{
	time_t seconds = whole_seconds(unix_ns);
	struct tm parts;

	return localtime_r(&seconds, &parts) ? parts.tm_gmtoff : 0;
}

int64_t daytime__of_day_ns(int64_t unix_ns, int64_t zone_s)
{
	int64_t ns = (unix_ns % DAYTIME_DAY_NS + zone_s * SECOND_NS) % DAYTIME_DAY_NS;

	return ns < 0 ? ns + DAYTIME_DAY_NS : ns;
}

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

/* Reads two digits, or one if `may_be_one`; advances *text. */
static int take_pair(const char **text, bool may_be_one, uint64_t below, uint64_t *ret)
{
	const char *at = *text;
	uint64_t value;

	if (!is_digit(*at))
		return -EINVAL;
	value = (uint64_t)(*at++ - '0');
	if (is_digit(*at))
		value = value * 10 + (uint64_t)(*at++ - '0');
	else if (!may_be_one)
		return -EINVAL;
	if (value >= below)
		return -EINVAL;
	*text = at;
	*ret = value;
	return 0;
}

static int take_fraction(const char **text, uint64_t *ret_ns)
{
	uint64_t unit = SECOND_NS / 10, ns = 0;
	const char *at = *text;

	if (!is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++, unit /= 10)
		ns += (uint64_t)(*at - '0') * unit;
	*text = at;
	*ret_ns = ns;
	return 0;
}

int daytime__parse(const char *text, uint64_t *ret_ns)
{
	uint64_t hours, minutes, seconds = 0, fraction_ns = 0;
	bool has_seconds;

	if (take_pair(&text, true, 24, &hours) || *text != ':')
		return -EINVAL;
	text++;
	if (take_pair(&text, false, 60, &minutes))
		return -EINVAL;
	has_seconds = *text == ':';
	if (has_seconds) {
		text++;
		if (take_pair(&text, false, 60, &seconds))
			return -EINVAL;
	}
	if (has_seconds && *text == '.') {
		text++;
		if (take_fraction(&text, &fraction_ns))
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	*ret_ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND_NS + fraction_ns;
	return 0;
}
