/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds text in a buffer that the caller owns. What does not fit is cut off. */
#pragma once

#include <stddef.h>

struct strbuf {
	char *text;    /* terminated as soon as something was added */
	size_t size;   /* of the buffer, in bytes */
	size_t length; /* so far, without the terminator */
};

__attribute__((format(printf, 2, 3))) void strbuf__add(struct strbuf *buf, const char *format, ...);
