/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/name_pattern.h"

#include <string.h>

/* Without backtracking over more than one `*`, so that no pattern takes long. */
bool name_pattern__is_like(const char *pattern, const char *text, size_t length)
{
	const char *end = text + length, *star = NULL, *mark = NULL;

	while (text < end) {
		if (*pattern == '*') {
			star = pattern++;
			mark = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++mark;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Where the parameters begin: the last '(' outside of <> and (); the end if there are none. */
static size_t bare_length(const char *shown)
{
	size_t length = strlen(shown), at = length;
	int depth = 0;

	while (at > 0) {
		char c = shown[at - 1];

		depth += c == ')' ? 1 : c == '(' ? -1 : 0;
		at--;
		if (c == '(' && !depth)
			return at;
		if (depth < 0)
			break;
	}
	return length;
}

/* The name without a return type: behind the last blank outside of brackets. */
static const char *skip_type(const char *shown, size_t length)
{
	const char *name = shown;
	int depth = 0;

	for (size_t i = 0; i < length; i++) {
		char c = shown[i];

		if (!strncmp(shown + i, "operator", 8))
			break;
		depth += c == '<' || c == '(' || c == '{' ? 1 : 0;
		depth -= (c == '>' || c == ')' || c == '}') && depth ? 1 : 0;
		if (c == ' ' && !depth)
			name = shown + i + 1;
	}
	return name;
}

bool name_pattern__matches(const char *pattern, const char *raw, const char *shown)
{
	size_t length;
	const char *name;

	if (name_pattern__is_like(pattern, raw, strlen(raw)))
		return true;
	if (!shown || !strcmp(shown, raw))
		return false;
	length = bare_length(shown);
	name = skip_type(shown, length);
	return name_pattern__is_like(pattern, shown, strlen(shown)) ||
	       name_pattern__is_like(pattern, shown, length) ||
	       name_pattern__is_like(pattern, name, (size_t)(shown + length - name));
}
