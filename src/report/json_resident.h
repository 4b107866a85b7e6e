/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <jansson.h>

#include "model/model.h"

/* The i-th process of model.resident. */
json_t *json_resident__process(const struct model *model, size_t i);
/* The i-th thread of model.allocated. */
json_t *json_resident__allocated(const struct model *model, size_t i);
