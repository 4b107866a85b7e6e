/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of windows share: counts and times in a recording, and what always holds in it. */
#pragma once

#include "ledger.h"

/* The sum of `n` (requests) or `count` (windows) over the classes `c` for which `where` holds. */
int64_t windows__count(const char *path, const char *column, const char *where);
/* The exact sum of a part over these classes; 'own': in the states `s` for which `state` holds. */
int64_t windows__part_ns(const char *path, const char *where, const char *part);
int64_t windows__state_ns(const char *path, const char *where, const char *state);
/* The exact sum of their lengths. */
int64_t windows__length_ns(const char *path, const char *where);

/*
 * Invariants: the parts of every window that was kept add up to its length, to the nanosecond; the
 * weights of those that were kept add up to the counts of their class; the exact sums of a class of
 * which all windows were kept are those of its windows; nothing was lost.
 */
void assert_windows_add_up(const char *path);
void assert_windows(const char *path, const char *column, const char *where, int64_t least,
		    int64_t most);
