/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that were taken at events instead of by the clock (--sample-on). */
#pragma once

#include "model/fold.h"
#include "model/load.h"

/* Reads them into model->sampled. */
int sampled_on__load(struct fold *fold, struct model *model, sqlite3 *db);
