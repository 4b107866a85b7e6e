/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments as people write them, in UTC unless they have an offset. Pure. Any thread. */
#pragma once

#include <stdint.h>

#include "base/words.h"

/*
 * "now"; "90s", "20m", "3h", "2d": that long ago; "14:20", "14:20:05": the last time that it was
 * this time of day; "2026-11-17", "2026-11-17 03:00", "2026-11-17T03:00:00+01:00", with "Z" or an
 * offset or none; "@1763388000". In seconds since 1970. -EINVAL: none of these; -ERANGE: before
 * 1970.
 */
int moment__parse(const char *text, uint64_t now_s, uint64_t *ret_s);

/* "2026-11-17 03:00" */
struct words moment__words(uint64_t unix_s);
/* "2026-11-17 03:00 to 04:00 UTC", with the second date if it differs */
struct words moment__span(uint64_t from_s, uint64_t to_s);
