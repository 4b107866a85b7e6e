/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the terminal back if this process cannot, after a crash or SIGKILL. A small child process
 * waits for its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Call it early, while there is little memory to copy. 0 or -errno; on failure there is no rescuer.
 */
int rescue__start(void);
/* Tells the rescuer whether we have taken the terminal. Allowed without a rescuer. */
void rescue__tell(bool ours);
/* Ends the rescuer without touching the terminal. */
void rescue__stop(void);
