/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder in which libdebuginfod keeps downloads. */
#pragma once

#include <limits.h>

/*
 * Creates the folder, for a process that will have no capabilities, and sets DEBUGINFOD_CACHE_PATH
 * to it. If the folder belongs to another user (sudo with the caller's HOME), such a process could
 * not write there; then another one below /var/cache is taken. -errno: there is none.
 */
int cache__prepare(char ret[static PATH_MAX]);
