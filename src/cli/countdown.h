/* How long a recording goes on, while it does: one line of a terminal, rewritten every second. */
#pragma once

#include <stdint.h>

/*
 * Shows the seconds that are left, or that have passed if until_ns is 0, on standard error. Where
 * that is no terminal it does nothing. The times are of clock__now_ns().
 */
void countdown__show(uint64_t begun_ns, uint64_t until_ns);

/* Takes the line away. */
void countdown__clear(void);
