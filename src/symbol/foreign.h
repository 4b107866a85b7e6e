/* Opening and reading files that somebody else chose: never blocks, never follows out of a root. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Opens a regular file for reading. `root` is "" or a folder ("/proc/PID/root"), in which links
 * resolve as they do for a process that has it as its root. A descriptor or -errno.
 */
int foreign__open(const char *root, const char *path);

/* As foreign__open(), but the last part of the path may not be a link. */
int foreign__open_no_link(const char *root, const char *path);

/* All of it with a 0 behind. -EFBIG beyond `most`. The caller frees. */
int foreign__read(int fd, size_t most, char **ret, size_t *ret_size);
