/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Percentiles as keys of a JSON object: "p50", … "p999", each with a suffix, "" or "_ns". */
#pragma once

#include <jansson.h>

#include "vocabulary/percentiles.h"

/* Adds them to `object`; null for -1. */
void json_percentiles__put(json_t *object, const char *suffix, const int64_t values[PERCENTILES]);
