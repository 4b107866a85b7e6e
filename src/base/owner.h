/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The owners of files that we write. */
#pragma once

#include <stdbool.h>

#define OWNER_TRAP_WORDS "it belongs to somebody else, in a folder that everybody may write to"

/*
 * Whether the file at `path` may have been put there by another user for us to write to: it is in a
 * sticky folder that others may write to, and belongs neither to us (under sudo, to the caller) nor
 * to the owner of the folder. The kernel's fs.protected_fifos and fs.protected_regular refuse the
 * same if they are on.
 */
bool owner__is_trap(const char *path);
/* The same for a file that was opened by that path. */
bool owner__is_trap_fd(const char *path, int fd);

/* Under sudo, gives a file that we created to the user who called sudo. Otherwise does nothing. */
void owner__give(int fd);
