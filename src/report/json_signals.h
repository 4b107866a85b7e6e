/* What signals counted, for print__json(). */
#pragma once

#include <jansson.h>

#include "model/model.h"

/* A member of the list "signals"; NULL for one that counted nothing. */
json_t *json_signals__signal(const struct model *model, size_t i);
