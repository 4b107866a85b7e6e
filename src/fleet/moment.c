/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/moment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/daytime.h"
#include "base/parse.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_S     86400
#define MOST_TEXT 40

static bool are_digits(const char *text, size_t count)
{
	return strspn(text, "0123456789") >= count;
}

/* "2026-11-17" at the begin of the text; at noon in no zone, so that no other day is meant. */
static int parse_date(const char *text, int64_t *ret_s)
{
	struct tm parts = {}, again;
	time_t seconds;

	if (!are_digits(text, 4) || text[4] != '-' || !are_digits(text + 5, 2) || text[7] != '-' ||
	    !are_digits(text + 8, 2))
		return -EINVAL;
	parts.tm_year = atoi(text) - 1900;
	parts.tm_mon = atoi(text + 5) - 1;
	parts.tm_mday = atoi(text + 8);
	seconds = timegm(&parts);
	/* timegm() takes February 30th for March 2nd. */
	if (!gmtime_r(&seconds, &again) || again.tm_mday != atoi(text + 8) ||
	    again.tm_mon != atoi(text + 5) - 1)
		return -EINVAL;
	*ret_s = seconds;
	return 0;
}

/* Cuts "Z", "+01:00" or "+0100" off the end of a time of day. */
static int take_zone(char *text, int64_t *ret_s)
{
	char *sign = strpbrk(text, "+-Zz"), *minutes;

	*ret_s = 0;
	if (!sign)
		return 0;
	if (*sign == 'Z' || *sign == 'z') {
		if (sign[1])
			return -EINVAL;
		*sign = '\0';
		return 0;
	}
	if (!are_digits(sign + 1, 2))
		return -EINVAL;
	minutes = sign[3] == ':' ? sign + 4 : sign + 3;
	if (*minutes && (!are_digits(minutes, 2) || minutes[2]))
		return -EINVAL;
	*ret_s = ((sign[1] - '0') * 10 + sign[2] - '0') * INT64_C(3600);
	*ret_s += *minutes ? atoi(minutes) * 60 : 0;
	*ret_s *= *sign == '-' ? -1 : 1;
	*sign = '\0';
	return 0;
}

static int parse_full(const char *text, int64_t *ret_s)
{
	char time[MOST_TEXT] = "";
	int64_t date_s, zone_s = 0;
	uint64_t of_day_ns = 0;

	if (strlen(text) >= sizeof(time) || parse_date(text, &date_s))
		return -EINVAL;
	text += strlen("2026-11-17");
	if (*text) {
		if (*text != ' ' && *text != 'T')
			return -EINVAL;
		snprintf(time, sizeof(time), "%s", text + 1);
		if (take_zone(time, &zone_s) || daytime__parse(time, &of_day_ns))
			return -EINVAL;
	}
	*ret_s = date_s + (int64_t)(of_day_ns / SECOND_NS) - zone_s;
	return 0;
}

/* The last time of day before now. */
static int parse_daytime(const char *text, uint64_t now_s, int64_t *ret_s)
{
	uint64_t of_day_ns, at_s;

	if (daytime__parse(text, &of_day_ns))
		return -EINVAL;
	at_s = now_s - now_s % DAY_S + of_day_ns / SECOND_NS;
	*ret_s = (int64_t)at_s - (at_s > now_s ? DAY_S : 0);
	return 0;
}

static int parse_ago(const char *text, uint64_t now_s, int64_t *ret_s)
{
	size_t length = strlen(text);
	char number[MOST_TEXT];
	uint64_t ago_ns;

	if (length && length < sizeof(number) && text[length - 1] == 'd') {
		uint64_t days;

		memcpy(number, text, length);
		number[length - 1] = '\0';
		if (parse__number(number, 1, 100000, &days))
			return -EINVAL;
		*ret_s = (int64_t)now_s - (int64_t)days * DAY_S;
		return 0;
	}
	/* A bare number would be a guess. */
	if (are_digits(text, length) || parse__duration(text, &ago_ns))
		return -EINVAL;
	*ret_s = (int64_t)now_s - (int64_t)(ago_ns / SECOND_NS);
	return 0;
}

int moment__parse(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	int64_t at_s;
	int err = 0;

	if (*text == '@')
		return parse__number(text + 1, 0, UINT32_MAX, ret_s);
	if (!strcmp(text, "now"))
		at_s = (int64_t)now_s;
	else if (strlen(text) > 4 && text[4] == '-')
		err = parse_full(text, &at_s);
	else if (strchr(text, ':'))
		err = parse_daytime(text, now_s, &at_s);
	else
		err = parse_ago(text, now_s, &at_s);
	if (err)
		return err;
	if (at_s < 0 || at_s > UINT32_MAX)
		return -ERANGE;
	*ret_s = (uint64_t)at_s;
	return 0;
}

/* With seconds only if there are any. */
static void add_time(struct words *words, uint64_t unix_s)
{
	struct words time = daytime__words((int64_t)(unix_s * SECOND_NS), 0);

	words__say(words->text, sizeof(words->text), "%.*s", unix_s % 60 ? 8 : 5, time.text);
}

struct words moment__words(uint64_t unix_s)
{
	struct words words = daytime__date((int64_t)(unix_s * SECOND_NS), 0);

	words__say(words.text, sizeof(words.text), " ");
	add_time(&words, unix_s);
	return words;
}

struct words moment__span(uint64_t from_s, uint64_t to_s)
{
	struct words words = moment__words(from_s);

	words__say(words.text, sizeof(words.text), " to ");
	if (from_s / DAY_S == to_s / DAY_S)
		add_time(&words, to_s);
	else
		words__say(words.text, sizeof(words.text), "%s", moment__words(to_s).text);
	words__say(words.text, sizeof(words.text), " UTC");
	return words;
}
