/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the names that a language finds, and aborts if one is not as it is promised. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "runtimes/language.h"

static bool is_utf8(const char *text)
{
	uint32_t point;
	size_t bytes;

	for (; *text; text += bytes) {
		bytes = utf8__decode(text, &point);
		if (!bytes)
			return false;
	}
	return true;
}

void runtime_names__add(struct runtime_names *names, const char *function, const char *file,
			int line, int first_line)
{
	size_t function_size = strnlen(function, RUNTIME_MOST_NAME);
	size_t file_size = strnlen(file, RUNTIME_MOST_NAME);

	if (function_size == RUNTIME_MOST_NAME || file_size == RUNTIME_MOST_NAME || line < 0 ||
	    first_line < 0)
		abort();
	if (!is_utf8(function) || !is_utf8(file))
		abort();
	if (++names->count > RUNTIME_MOST_INLINE)
		abort();
}
