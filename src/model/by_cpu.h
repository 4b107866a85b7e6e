/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of `report --by cpu`, from the signal that has slices of CPU time. */
#pragma once

#include "model/model.h"

/*
 * Fills model->rows: one for each CPU, with the time that the target's threads ran and were ready
 * there. If the recording has no such signal, one row says so. -ENOMEM.
 */
int by_cpu__rows(struct model *model);
