/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call paths of both sides in one tree, for a differential flame graph. Each node has the mean over
 * a side's recordings, per unit of work.
 */
#pragma once

#include "diff/diff.h"

/* Returns -ENOMEM or an error of model__load(). The caller owns *ret. */
int flame__make(const struct diff *diff, json_t **ret);
