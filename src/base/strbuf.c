/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>

void strbuf__add(struct strbuf *buf, const char *format, ...)
{
	size_t room = buf->size - buf->length;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(buf->text + buf->length, room, format, args);
	va_end(args);
	if (length > 0 && room)
		buf->length += (size_t)length < room ? (size_t)length : room - 1;
}
