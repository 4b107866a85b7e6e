/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the names of symbols into names as in the source code. */
#pragma once

#include <stddef.h>

#include "base/map.h"

/*
 * The name to display for a name from a symbol table or from DWARF: demangled (C++, Rust), and
 * without a version ("@@GLIBC_2.14"). Most names need no change; then it returns the same pointer.
 * `cache` holds the new strings, by the pointer of the original name, so names must stay valid.
 * NULL when out of memory.
 */
const char *demangle__show(struct map *cache, const char *name);

void demangle__release(struct map *cache);
