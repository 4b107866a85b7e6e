/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and calls as JSON, see gapless-json-requests(5). */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "model/model.h"

/* Of the service with this index, with its slowest windows. */
json_t *json_requests__service(const struct model *model, size_t i);
/* Of the window that --window asks for. */
json_t *json_requests__window(const struct model *model);
