/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens files at untrusted paths: never blocks, and never follows links out of a root. */
#pragma once

/*
 * Opens a regular file for reading. `root` is "" or a directory ("/proc/PID/root"), in which links
 * resolve as for a process with that root directory. Links of /proc such as /proc/PID/exe and
 * /proc/PID/root are not followed in `path`: -ELOOP or -EXDEV. A descriptor or -errno.
 */
int foreign__open(const char *root, const char *path);

/* Like foreign__open(), but the last component of the path must not be a link. */
int foreign__open_no_link(const char *root, const char *path);
