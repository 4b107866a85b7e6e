/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/numbers.h"

#include <ctype.h>
#include <string.h>

#define LEAST_HEX 8 /* shorter ones may be words */

/* The length of a number at `text`: digits, or a long hexadecimal word that has one; else 0. */
static size_t number_length(const char *text)
{
	size_t hex = strspn(text, "0123456789abcdefABCDEF-"), digits = strspn(text, "0123456789");

	if (hex >= LEAST_HEX && strcspn(text, "0123456789") < hex)
		return hex;
	return digits;
}

size_t numbers__token(const char *at, bool *ret_is_number)
{
	size_t length = number_length(at);

	*ret_is_number = length;
	if (length)
		return length;
	length = 1;
	while (isalnum((unsigned char)*at) && isxdigit((unsigned char)at[length]) &&
	       !isdigit((unsigned char)at[length]))
		length++;
	return length;
}
