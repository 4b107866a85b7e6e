/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <jansson.h>

#include "model/model.h"

/* What the heap signal estimated. */
json_t *json_heap__figures(const struct model *model, const struct heap *heap);
