/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <jansson.h>

#include "model/model.h"

/* The CPUs, who had them, and the pressure of cgroups, for `--by cpu`. NULL: no memory. */
json_t *json_cpus__all(const struct model *model);
