/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates a recording's file, on a path that another user may control. */
#pragma once

#include <stdbool.h>

/*
 * Resolves all links in the folder of `path`, so that SQLite gives no special meaning to the
 * result.
 */
int file__resolve(const char *path, char **ret);
/* Creates an empty file of mode 0600. -EEXIST and -EINVAL as for recording__create(). */
int file__make(const char *path, bool force, int *ret);
/* Whether `path` still refers to the file that was created. */
bool file__is_at(const char *path, int fd);
