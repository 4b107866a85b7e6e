/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON of signals, for print__json(). */
#pragma once

#include <jansson.h>

#include "model/model.h"

/* An item of the list "signals"; NULL if the signal counted nothing. */
json_t *json_signals__signal(const struct model *model, size_t i);
