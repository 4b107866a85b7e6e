/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns for names of functions: `*` stands for any characters and `?` for one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool name_pattern__is_like(const char *pattern, const char *text, size_t length);

/*
 * A name is matched as it is in the symbol table (`raw`), as in the source (`shown`, with
 * parameters), and as in the source without parameters and return type.
 */
bool name_pattern__matches(const char *pattern, const char *raw, const char *shown);
