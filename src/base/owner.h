/* Whose file it is that we write, and whose it is to be. */
#pragma once

#include <stdbool.h>

#define OWNER_TRAP_WORDS "it belongs to somebody else, in a folder that everybody may write to"

/*
 * Whether something is at `path` that somebody else may have put there for us to write to: in a
 * sticky folder that others may write to, and neither ours (under sudo, the caller's) nor the
 * folder owner's. The kernel's fs.protected_fifos and fs.protected_regular refuse the same, where
 * they are on.
 */
bool owner__is_trap(const char *path);
/* The same for what was opened by that path. */
bool owner__is_trap_fd(const char *path, int fd);

/* Under sudo, a file that we made belongs to whoever called it. Does nothing otherwise. */
void owner__give(int fd);
