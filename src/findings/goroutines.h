/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "findings/say.h"

/*
 * Says where goroutines wait most for a lock of Go's package sync, and what ran there meanwhile.
 * Returns false, and says nothing, if they hardly do.
 */
bool goroutines__put(struct finding *finding, const struct analysis *analysis);
