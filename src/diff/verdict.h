/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison in sentences, and its numbers in words. */
#pragma once

#include "base/words.h"
#include "diff/diff.h"

/* First whether anything changed, then the most important changes. */
struct verdict {
	char lines[5][2048];
	size_t count;
};

void verdict__make(const struct diff *diff, struct verdict *ret);

/* "12.4 ms", "1,200", "0.31"; "-" for NaN. */
struct words verdict__value(double value, const char *unit);
/* NaN if no recording of that side has a value. */
double verdict__mean(const struct diff_change *change, enum diff_side side);
/* "+2.03 ms" */
struct words verdict__difference(const struct diff_change *change);
/* "+199 %", "× 13", "new", "gone" */
struct words verdict__ratio(const struct diff_change *change);
/* The name as shown below the heading of its class. */
const char *verdict__name(const struct metric *metric);
