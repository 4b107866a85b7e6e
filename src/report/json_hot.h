/* What samples add to the JSON, as json.c puts it together. NULL: out of memory, or left out. */
#pragma once

#include "model/model.h"

json_t *json_hot__samples(const struct model *model);
/* A function, of as many as have time; stacks of a wait, of as many as there are blames. */
json_t *json_hot__function(const struct model *model, size_t i);
json_t *json_hot__wait(const struct model *model, size_t i);
