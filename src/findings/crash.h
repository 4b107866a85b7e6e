/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "findings/say.h"

/* Says which signal killed a process of the target, and where. Returns false if none did. */
bool crash__put(struct finding *finding, struct analysis *analysis);
