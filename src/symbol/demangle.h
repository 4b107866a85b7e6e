/* Names as a person wrote them, from names as linkers have them. */
#pragma once

#include <stddef.h>

#include "base/map.h"

/*
 * What to show for a name of a symbol table or of DWARF: demangled (C++, Rust), without a version
 * ("@@GLIBC_2.14"); most often the same pointer. `cache` has what was made, by the pointer that it
 * was made from: names must stay. NULL when out of memory.
 */
const char *demangle__show(struct map *cache, const char *name);

void demangle__release(struct map *cache);
