/*
 * Gives the terminal back if this process cannot: after a crash, after SIGKILL. A small process of
 * its own waits for the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Early, while there is little to be copied. 0 or -errno: then nobody is on guard. */
int guard__start(void);
/* From now on the terminal is ours (or no longer). Can be called without a guard. */
void guard__tell(bool ours);
/* It is not needed any more. */
void guard__stop(void);
