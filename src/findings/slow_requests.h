/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings about requests and calls: why the slowest take longer than the others. */
#pragma once

#include "findings/findings.h"

/*
 * Puts findings about up to `most` services into `list`: the one whose slowest lost most time, then
 * those that kept it waiting, if the recording has them. `calls`: only about calls, which somebody
 * has asked for by name; otherwise only about requests. Returns how many.
 */
size_t slow_requests__put(const struct model *model, bool calls, struct finding *list, size_t most);
