/* Paths that a kernel half has gathered (bpf/path.h), as text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/path.h"

/* Whether the names end where they say. Ask this before anything else. */
bool paths__is_well_formed(const struct path_names *path);

/* "/var/lib/x"; "…/lib/x" if the beginning is missing. Cut where there is no more room. */
void paths__join(const struct path_names *path, char *ret, size_t size);
