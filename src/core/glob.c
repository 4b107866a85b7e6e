/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/glob.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* The end of the set at `at`; NULL if it is not a set. As in a shell, "[]a]" contains a bracket. */
static const char *end_of_set(const char *at)
{
	const char *from = at + 1;

	if (*from == '!' || *from == '^')
		from++;
	return *from ? strchr(from + 1, ']') : NULL;
}

static void take(struct glob *glob, unsigned int element, unsigned int first, unsigned int last)
{
	for (unsigned int byte = first; byte <= last; byte++)
		glob->takes[byte] |= (__u16)(1 << element);
}

static void take_set(struct glob *glob, unsigned int element, const char *from, const char *to)
{
	bool is_not = *from == '!' || *from == '^';

	for (from += is_not; from < to; from++) {
		unsigned int first = (unsigned char)*from, last = first;

		if (from + 2 < to && from[1] == '-') {
			last = (unsigned char)from[2];
			from += 2;
		}
		take(glob, element, first, last);
	}
	for (unsigned int byte = 1; is_not && byte < 256; byte++)
		glob->takes[byte] ^= (__u16)(1 << element);
}

/* Compiles one element and returns the rest of the pattern. */
static const char *take_element(struct glob *glob, unsigned int element, const char *at)
{
	const char *end = *at == '[' ? end_of_set(at) : NULL;

	if (end) {
		take_set(glob, element, at + 1, end);
		return end + 1;
	}
	if (*at == '?') {
		take(glob, element, 1, 255);
		return at + 1;
	}
	if (*at == '\\' && at[1])
		at++;
	take(glob, element, (unsigned char)*at, (unsigned char)*at);
	return at + 1;
}

int glob__compile(const char *pattern, struct glob *ret)
{
	struct glob glob = {};
	unsigned int element = 0;

	if (!*pattern)
		return -EINVAL;
	for (const char *at = pattern; *at;) {
		if (*at == '*') {
			glob.stars |= (__u16)(1 << element);
			at++;
			continue;
		}
		if (element == GLOB_MOST_ELEMENTS)
			return -ENAMETOOLONG;
		at = take_element(&glob, element++, at);
	}
	glob.end = (__u16)(1 << element);
	*ret = glob;
	return 0;
}

bool glob__matches(const struct glob *glob, const char *name)
{
	__u16 state = GLOB_START;

	for (; *name; name++)
		state = glob_step(glob, state, (__u8)*name);
	return state & glob->end;
}
