/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the files of a recording that is read are found and opened. A process without privileges
 * replaces these functions by ones that ask a process that may open them.
 */
#pragma once

#include <sys/stat.h>

/* Like the functions of the C library: -1 and errno. */
struct recording_files {
	char *(*resolve)(const char *path); /* realpath(); fails also if it is not readable */
	int (*open)(const char *path, int flags, int mode);
	int (*stat)(const char *path, struct stat *ret);
	int (*lstat)(const char *path, struct stat *ret);
	int (*access)(const char *path, int mode);
	int (*unlink)(const char *path);
};

/* Those that are in use. */
extern const struct recording_files *recording_files;

/*
 * For recording__open(), and for SQLite itself. `files` stays in use for good. Call it before other
 * threads start. -ENOTSUP: this SQLite does not allow that.
 */
int recording_files__use(const struct recording_files *files);
