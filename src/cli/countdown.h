/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The progress of a recording: one line on the terminal, rewritten every second. */
#pragma once

#include <stdint.h>

/*
 * Shows the seconds left, or the seconds passed if until_ns is 0, on standard error. Does nothing
 * if that is not a terminal. The times are of clock__now_ns().
 */
void countdown__show(uint64_t begun_ns, uint64_t until_ns);

/* Erases the line. */
void countdown__clear(void);
