/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/maps.h"

#include <errno.h>
#include <string.h>

/* Not strtoull(), which accepts blanks, signs and "0x". */
static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* Parses a number and skips it and the character `behind`. */
static bool take(const char **at, unsigned int base, char behind, uint64_t *ret)
{
	const char *digit = *at;
	uint64_t value = 0;

	for (; digit_of(*digit) < (int)base; digit++) {
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_of(*digit), &value))
			return false;
	}
	if (digit == *at || *digit != behind)
		return false;
	*at = digit + (behind != '\0');
	*ret = value;
	return true;
}

int maps__parse(const char *line, struct maps_line *ret)
{
	uint64_t major = 0, minor = 0;
	struct maps_line found = { 0 };

	if (!take(&line, 16, '-', &found.begin) || !take(&line, 16, ' ', &found.end) ||
	    found.begin >= found.end)
		return -EBADMSG;
	if (strnlen(line, 5) < 5 || line[4] != ' ')
		return -EBADMSG;
	found.executable = line[2] == 'x';
	line += 5;
	if (!take(&line, 16, ' ', &found.offset) || !take(&line, 16, ':', &major) ||
	    !take(&line, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	if (!take(&line, 10, ' ', &found.inode) && !take(&line, 10, '\0', &found.inode))
		return -EBADMSG;
	found.device = MAPS_DEVICE(major, minor);
	found.path = line + strspn(line, " ");
	*ret = found;
	return 0;
}

int maps__parse_stat(const char *text, struct maps_stat *ret)
{
	/* The name may contain blanks and brackets, so fields are counted from its end. */
	const char *at = strrchr(text, ')');
	struct maps_stat found = { 0 };

	if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
		return -EBADMSG;
	found.state = at[2];
	at += 3;
	/* `at` is at the blank before field 4. */
	for (int field = 4; field <= 22; field++) {
		if (!at)
			return -EBADMSG;
		at++;
		if ((field == 9 && !take(&(const char *) { at }, 10, ' ', &found.flags)) ||
		    (field == 20 && !take(&(const char *) { at }, 10, ' ', &found.threads)) ||
		    (field == 22 && !take(&(const char *) { at }, 10, ' ', &found.start_ticks)))
			return -EBADMSG;
		at = strchr(at, ' ');
	}
	*ret = found;
	return 0;
}
