/* Names (export/intern.h) that are made on the way: the table has copies. */
#pragma once

#include "export/intern.h"

/* All zeroes is an empty one. */
struct strings {
	struct intern names;
};

/* -ENOMEM. */
int strings__add(struct strings *strings, const char *text, uint32_t *ret);
void strings__release(struct strings *strings);
