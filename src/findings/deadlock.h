/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "findings/say.h"

/* Says which threads wait for each other's locks. Returns false, and says nothing, if none do. */
bool deadlock__put(struct finding *finding, const struct analysis *analysis);
