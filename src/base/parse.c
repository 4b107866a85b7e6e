/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parse.h"

#include <errno.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

#define NEAREST_MAX_WORD 32

/*
 * Decimal digits with an optional fraction, times the unit's factor. No floating point, because a
 * duration must not be a nanosecond short. The fraction keeps at most nine digits.
 */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *ret)
{
	uint64_t whole = 0, fraction = 0, scale = 1, result, part;
	const char *start = text;

	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole))
			return -ERANGE;
	if (text == start)
		return -EINVAL;
	if (*text == '.') {
		if (text[1] < '0' || text[1] > '9')
			return -EINVAL;
		for (text++; *text >= '0' && *text <= '9'; text++) {
			if (scale >= 1000000000)
				continue;
			fraction = fraction * 10 + (uint64_t)(*text - '0');
			scale *= 10;
		}
	}
	while (units->name && strcmp(units->name, text))
		units++;
	if (!units->name)
		return -EINVAL;
	part = (uint64_t)((unsigned __int128)fraction * units->factor / scale);
	if (__builtin_mul_overflow(whole, units->factor, &result) ||
	    __builtin_add_overflow(result, part, &result))
		return -ERANGE;
	*ret = result;
	return 0;
}

static const struct unit times[] = {
	{ "", 1000000000 },
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", 60ULL * 1000000000 },
	{ "min", 60ULL * 1000000000 },
	{ "h", 3600ULL * 1000000000 },
	{ NULL, 0 },
};

int parse__duration(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;
	int err = parse_scaled(text, times, &ns);

	if (err)
		return err;
	if (!ns)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int parse__offset(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;
	int err = parse_scaled(text, times, &ns);

	if (err)
		return err;
	if (ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int parse__size(const char *text, uint64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },           { "B", 1 },           { "k", 1 << 10 },
		{ "K", 1 << 10 },    { "kB", 1 << 10 },    { "KiB", 1 << 10 },
		{ "M", 1 << 20 },    { "MB", 1 << 20 },    { "MiB", 1 << 20 },
		{ "G", 1 << 30 },    { "GB", 1 << 30 },    { "GiB", 1 << 30 },
		{ "T", 1ULL << 40 }, { "TB", 1ULL << 40 }, { "TiB", 1ULL << 40 },
		{ NULL, 0 },
	};

	return parse_scaled(text, units, ret_bytes);
}

int parse__number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
	static const struct unit none[] = { { "", 1 }, { NULL, 0 } };
	uint64_t number;
	int err;

	if (strchr(text, '.'))
		return -EINVAL;
	err = parse_scaled(text, none, &number);
	if (err)
		return err;
	if (number < least || number > most)
		return -ERANGE;
	*ret = number;
	return 0;
}

const char *parse__next_word(const char **list, size_t *ret_length)
{
	const char *word = *list;

	if (!word)
		return NULL;
	*ret_length = strcspn(word, ",");
	*list = word[*ret_length] ? word + *ret_length + 1 : NULL;
	return word;
}

/* Damerau–Levenshtein distance (adjacent letters swapped count once), on short words. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_MAX_WORD + 1];
	size_t length_a = strlen(a), length_b = strlen(b);

	if (length_a > NEAREST_MAX_WORD || length_b > NEAREST_MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= length_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= length_a; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= length_b; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[length_a % 3][length_b];
}

const char *parse__nearest(const char *typed, const char *const *known)
{
	size_t length = strlen(typed), best = length < 4 ? 2 : 3;
	const char *nearest = NULL;

	for (; *known; known++) {
		size_t d = distance(typed, *known);

		/* A prefix is a better guess than a misspelt word. */
		if (length && !strncmp(*known, typed, length))
			d = 0;
		if (d < best) {
			best = d;
			nearest = *known;
		}
	}
	return nearest;
}
