/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns paths that a kernel half has gathered (bpf/path.h) into text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/path.h"

/* Whether the names end where they should. Call this before paths__join(). */
bool paths__is_well_formed(const struct path_names *path);

/* "/var/lib/x"; "…/lib/x" if the beginning is missing. Truncates to `size`. */
void paths__join(const struct path_names *path, char *ret, size_t size);
