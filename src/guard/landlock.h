/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Landlock by raw system calls, because libc has no wrappers. Forbids access to files by path;
 * descriptors that are open already, or that arrive through a socket, stay usable. 0, also if the
 * kernel has no Landlock (before 5.13, or not enabled); or -errno. Needs no_new_privs.
 */
struct landlock_wish {
	bool read; /* allow reading all files */
	/* Otherwise, files and directories to read; ends with NULL. What is missing is skipped. */
	const char *const *readable; /* NULL: none */
	const char *writable;        /* allow changes below this directory; NULL: none */
	bool network;                /* do not forbid TCP (ABI 4, Linux 6.7) */
};
int landlock__restrict(const struct landlock_wish *wish);
