/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goroutines in the JSON report. */
#pragma once

#include "model/model.h"

json_t *json_fibers__group(const struct model *model, size_t i);
