/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The experiments behind features.h. Private to core. */
#pragma once

#include "core/features.h"

/* Runs one experiment, a few milliseconds long; always fills *ret. */
void probes__run(enum feature which, struct feature_state *ret);
