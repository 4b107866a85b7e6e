/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Gives up all capabilities of this thread, for good. 0 or -errno. */
int caps__drop(void);

/*
 * The same, but keeps those that reading files and /proc of all users takes, as far as the thread
 * has them.
 */
int caps__keep_reading(void);
