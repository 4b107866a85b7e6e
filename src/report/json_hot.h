/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON of samples, for json.c. NULL: out of memory, or nothing to print. */
#pragma once

#include "model/model.h"

json_t *json_hot__samples(const struct model *model);
/* The i-th function of those that have time; the stacks of the i-th blame. */
json_t *json_hot__function(const struct model *model, size_t i);
json_t *json_hot__wait(const struct model *model, size_t i);
/* The names of the functions from the outermost to that of `node`. */
json_t *json_hot__functions(const struct hot *hot, uint32_t node);
