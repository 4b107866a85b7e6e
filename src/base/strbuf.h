/* Text that is put together in a buffer of the caller's. What does not fit is cut off. */
#pragma once

#include <stddef.h>

struct strbuf {
	char *text;    /* always terminated, once something was added */
	size_t size;   /* of the buffer, in bytes */
	size_t length; /* so far, without the terminator */
};

__attribute__((format(printf, 2, 3))) void strbuf__add(struct strbuf *buf, const char *format, ...);
