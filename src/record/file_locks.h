/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who waits for whose file lock, from /proc/locks. */
#pragma once

#include <sys/types.h>

/* A negative return value ends the reading, which then returns that value. */
typedef int (*file_locks_fn)(void *context, pid_t waiter, pid_t holder);

/*
 * Calls `take` for every process that waits for a lock (flock, fcntl) and the process that holds
 * it. Processes that are not visible in this pid namespace are left out.
 */
int file_locks__waiters(const char *path, file_locks_fn take, void *context);
