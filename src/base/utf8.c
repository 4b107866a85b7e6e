/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

size_t utf8__decode(const char *text, uint32_t *ret_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)text;
	size_t length = *at < 0x80             ? 1
			: (*at & 0xe0) == 0xc0 ? 2
			: (*at & 0xf0) == 0xe0 ? 3
			: (*at & 0xf8) == 0xf0 ? 4
					       : 0;
	uint32_t point = length == 1 ? *at : *at & (0xffu >> (length + 1));

	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (!length || point < least[length] || point > 0x10ffff || point >> 11 == 0x1b)
		return 0;
	*ret_point = point;
	return length;
}

bool utf8__is_control(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e ||
	       point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069) || point == 0xfffe || point == 0xffff;
}

void utf8__sanitize(char *text)
{
	uint32_t point = 0;

	while (*text) {
		size_t length = utf8__decode(text, &point);
		bool is_good =
			length && (*text == '\n' || *text == '\t' || !utf8__is_control(point));

		if (is_good) {
			text += length;
			continue;
		}
		for (size_t i = 0; i < (length ? length : 1); i++)
			*text++ = '?';
	}
}
