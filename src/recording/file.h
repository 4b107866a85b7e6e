/* The making of a recording's file, on a path that somebody else may control. */
#pragma once

#include <stdbool.h>

/* `path` with a folder that has no links in it, and so with no meaning of its own for SQLite. */
int file__resolve(const char *path, char **ret);
/* A new, empty file of mode 0600. -EEXIST, -EINVAL as recording__create() has them. */
int file__make(const char *path, bool force, int *ret);
/* Whether the file that we made is still what has its name. */
bool file__is_at(const char *path, int fd);
