/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the terminal back if this process cannot, after a crash or SIGKILL. A small child process
 * waits for its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Call it early, while there is little memory to copy. 0 or -errno; on failure there is no guard.
 */
int guard__start(void);
/* Tells the guard whether we have taken the terminal. Allowed without a guard. */
void guard__tell(bool ours);
/* Ends the guard without touching the terminal. */
void guard__stop(void);
