/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns paths that a kernel half has gathered (bpf/path.h) into text. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/path.h"
#include "core/signal.h"

/* Whether the names end where they should. Call this before paths__join(). */
bool paths__is_well_formed(const struct path_names *path);

/* "/var/lib/x"; "…/lib/x" if the beginning is missing. Truncates to `size`. */
void paths__join(const struct path_names *path, char *ret, size_t size);

/* Makes *ret the event that names this object: the path, with " (deleted)" if the file was. */
void paths__name(const struct path_names *path, const __u64 object[2], struct event *ret);
