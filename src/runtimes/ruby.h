/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of CRuby share. See language.h for where they run. */
#pragma once

#include "runtimes/language.h"

/* What differs between versions: offsets in the body of an instruction sequence, and strings. */
struct ruby_layout {
	uint8_t minor; /* of version 3 */
	uint8_t frame_bytes;
	uint8_t first_line; /* in the body */
	bool is_tagged;     /* the first line is an object */
	uint8_t places;     /* in the body: which instruction is in which line */
	bool has_length;    /* in short strings; otherwise it is in the object's flags */
};

/*
 * Finds the code of the interpreter's loop and of the functions that call it, in this order, as
 * areas of `ret`. -EAGAIN: the file's pointers have not been relocated yet, -ENOTSUP: there is no
 * such loop.
 */
int ruby_code__find_loop(const struct subject *subject, struct runtime *ret);

/* Finds out where threads have the address of their execution context. -EAGAIN, -ENOTSUP. */
int ruby_code__find_context(const struct subject *subject, struct runtime_ruby *ret);
