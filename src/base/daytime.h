/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of day, as people read and write them. `zone_s` is what to add to UTC, in seconds; the
 * time zone of a recording is that of the machine that made it.
 */
#pragma once

#include <stdint.h>

#include "base/words.h"

#define DAYTIME_DAY_NS (INT64_C(86400) * 1000000000)

/* "14:20:05" */
struct words daytime__words(int64_t unix_ns, int64_t zone_s);
/* "2026-11-16" */
struct words daytime__date(int64_t unix_ns, int64_t zone_s);
/* "UTC", "UTC+1", "UTC-3:30" */
struct words daytime__zone(int64_t zone_s);
/* The zone of this process at that time. */
int64_t daytime__own_zone_s(int64_t unix_ns);
/* Nanoseconds since midnight. */
int64_t daytime__of_day_ns(int64_t unix_ns, int64_t zone_s);

/* "14:20", "14:20:05", "14:20:05.250" in nanoseconds since midnight; -EINVAL for anything else. */
int daytime__parse(const char *text, uint64_t *ret_ns);
